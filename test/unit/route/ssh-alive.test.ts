import { expect, it } from 'vitest';
import { openLink } from '../../../src/route/ssh/link.ts';
import { handshakeContext } from '../../support/sshd/handshake-context.ts';
import { startSshHost } from '../../support/sshd/ssh-host.ts';

const impatient = ['serveraliveinterval 1', 'serveralivecountmax 1'];

it('notices a host that stops responding without closing the connection', async () => {
  await using host = await startSshHost(impatient);
  await using link = await openLink([host.settings], 10_000, handshakeContext());
  for (const client of host.clients) client.pause();
  expect(await link.lost).toContain('dev@127.0.0.1');
  expect(await link.lost).toContain('stopped responding');
});

it('keeps a connection on which only the host answers that nothing else is going on', async () => {
  await using host = await startSshHost(impatient);
  await using link = await openLink([host.settings], 10_000, handshakeContext());
  const quiet = new Promise((resolve) => setTimeout(resolve, 4_000, 'still connected'));
  expect(await Promise.race([link.lost, quiet])).toBe('still connected');
});
