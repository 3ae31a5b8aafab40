import { expect, it } from 'vitest';
import { type Ask, loadHostKeys } from '../../../src/route/ssh/host-key.ts';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { string } from '../../../src/route/ssh/wire.ts';
import { LOCAL } from '../../support/sshd/local.ts';

const key = (fill: number): Buffer => Buffer.concat([string('ssh-ed25519'), string(Buffer.alloc(32, fill))]);
const yes: Ask = async () => 'yes';
const no: Ask = async () => '';

/** The context of a host whose known_hosts cannot be written. */
function hostKeys(accepted: Set<string>, ask: Ask | undefined) {
  const settings = ['userknownhostsfile /dev/null', 'globalknownhostsfile none'];
  const host = readSettings(settings.join('\n'), { host: 'box' }, LOCAL);
  return loadHostKeys(host, { ask, accepted, env: {}, emit: () => {} });
}

it('trusts an accepted key again after a drop, even if known_hosts could not be written, and no other key', async () => {
  const accepted = new Set<string>();
  await (await hostKeys(accepted, yes)).verify(key(1));
  const { verify } = await hostKeys(accepted, undefined);
  await verify(key(1));
  await expect(verify(key(2))).rejects.toMatchObject({ code: 'ssh.host-key' });
});

it('does not trust a key that was not accepted', async () => {
  const accepted = new Set<string>();
  const { verify } = await hostKeys(accepted, no);
  await expect(verify(key(1))).rejects.toMatchObject({ code: 'ssh.host-key' });
  expect(accepted).toEqual(new Set());
});
