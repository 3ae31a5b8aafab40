import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { sshRoute } from '../../../src/route/ssh/route.ts';
import { makeSshKey } from '../../support/ssh-key.ts';

it('stops at the signal while a host does not answer a request to listen', async () => {
  const home = await mkdtemp(join(tmpdir(), 'devloop-ssh-'));
  await mkdir(join(home, '.ssh'));
  await writeFile(
    join(home, '.ssh/config'),
    'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nIdentityAgent none\n',
  );
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const hostKeys = [makeSshKey()];
  const host = new ssh2.Server({ hostKeys }, (client) => {
    client.on('error', () => {});
    client.on('authentication', (attempt) => attempt.accept());
    client.on('request', () => asked.resolve());
    client.once('close', left.resolve);
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
  const leaving = new AbortController();
  const route = sshRoute({
    to: `dev@127.0.0.1:${(host.address() as AddressInfo).port}`,
    address: '10.0.0.5',
    gatewayPorts: [1000],
    env: { HOME: home, PATH: process.env.PATH },
    emit: () => {},
    signal: leaving.signal,
  });
  route.catch(() => {});
  await asked.promise;
  leaving.abort(new Error('SIGINT'));
  await expect(route).rejects.toThrow('SIGINT');
  await left.promise;
  host.close();
  await rm(home, { recursive: true });
});
