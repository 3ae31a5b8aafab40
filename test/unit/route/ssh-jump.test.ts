import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openLink } from '../../../src/route/ssh/link.ts';
import { type HostSettings, readSettings } from '../../../src/route/ssh/settings.ts';
import { makeSshKey } from '../../support/ssh-key.ts';
import { LOCAL } from '../../support/sshd/local.ts';
import { nobodySigning } from '../../support/sshd/signing.ts';

let host: InstanceType<typeof ssh2.Server>;
let ended: Promise<unknown>;
let asked: Promise<void>;

/** A jump host whose way onward keeps silent, as behind a firewall that drops. */
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

it('does not wait for ever for what a jump host does not reach', async () => {
  const link = openLink(hops(), 300, nobodySigning(new AbortController().signal));
  await expect(link).rejects.toMatchObject({
    code: 'ssh.unreachable',
    message: expect.stringContaining('no answer within 0.3 s'),
  });
  await ended;
});

it('gives up at the signal while a jump host looks for the next one', async () => {
  const leaving = new AbortController();
  const link = openLink(hops(), 60_000, nobodySigning(leaving.signal));
  link.catch(() => {});
  await asked;
  leaving.abort(new Error('SIGINT'));
  await expect(link).rejects.toThrow('SIGINT');
  await ended;
});
