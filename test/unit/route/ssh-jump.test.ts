import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLink } from '../../../src/route/ssh/link.ts';
import { type HostSettings, readSettings } from '../../../src/route/ssh/settings.ts';
import { makeSshKey } from '../../support/ssh-key.ts';
import { handshakeContext } from '../../support/sshd/handshake-context.ts';
import { LOCAL } from '../../support/sshd/local.ts';

let host: InstanceType<typeof ssh2.Server>;
let ended: Promise<unknown>;
let asked: Promise<void>;

/** A jump host that never answers whether it can connect to the next host, as behind a firewall that drops packets. */
beforeEach(async () => {
  const closed = Promise.withResolvers<void>();
  const onward = Promise.withResolvers<void>();
  ended = closed.promise;
  asked = onward.promise;
  const hostKeys = [makeSshKey()];
  host = new ssh2.Server({ hostKeys }, (client) => {
    client.on('error', () => {});
    client.on('authentication', (attempt) => attempt.accept());
    client.on('tcpip', () => onward.resolve());
    client.once('close', closed.resolve);
  });
  host.listen(0, '127.0.0.1');
  await once(host, 'listening');
});

afterEach(() => void host.close());

function hops(): HostSettings[] {
  const { port } = host.address() as AddressInfo;
  const settings = ['stricthostkeychecking no', 'userknownhostsfile none', 'identityagent none'];
  const read = (more: string[]) => readSettings([...settings, ...more].join('\n'), { host: 'box' }, LOCAL);
  return [read(['hostname 127.0.0.1', `port ${port}`]), read(['hostname 10.9.9.9'])];
}

it('gives up when a jump host does not connect to the next host in time', async () => {
  const link = openLink(hops(), 300, handshakeContext());
  await expect(link).rejects.toMatchObject({
    code: 'ssh.unreachable',
    message: expect.stringMatching(/dev@127\.0\.0\.1.*dev@10\.9\.9\.9/),
  });
  await ended;
});

it('stops at the signal while a jump host connects to the next host', async () => {
  const leaving = new AbortController();
  const link = openLink(hops(), 60_000, handshakeContext(leaving.signal));
  link.catch(() => {});
  await asked;
  leaving.abort(new Error('SIGINT'));
  await expect(link).rejects.toThrow('SIGINT');
  await ended;
});
