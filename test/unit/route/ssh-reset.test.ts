import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { openLink } from '../../../src/route/ssh/link.ts';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { LOCAL } from '../../support/sshd/local.ts';
import { nobodySigning } from '../../support/sshd/signing.ts';

/** As sshd does with too many connections (MaxStartups), and firewalls with strangers. */
it.each([0, 50])('a host that resets the connection after %i ms is an expected failure', async (ms) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    setTimeout(() => socket.resetAndDestroy(), ms);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const settings = ['hostname 127.0.0.1', `port ${port}`, 'userknownhostsfile none', 'identityagent none'];
  const host = readSettings(settings.join('\n'), { host: 'box' }, LOCAL);
  const { signal } = new AbortController();
  await expect(openLink([host], 10_000, nobodySigning(signal))).rejects.toMatchObject({
    code: 'ssh.unreachable',
    message: expect.stringContaining('no SSH connection came about: read ECONNRESET'),
  });
  server.close();
});
