import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { createAuthentication } from '../../../src/route/ssh/authentication.ts';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { string } from '../../../src/route/ssh/wire.ts';
import { LOCAL } from '../../support/sshd/local.ts';

const blob = Buffer.concat([string('ssh-ed25519'), string(Buffer.alloc(32, 1))]);

/** What ssh2 receives if it asks for a signature and the agent answers with `signature`. */
function signed(signature: Buffer): Promise<Buffer | Error> {
  const identities = [{ blob, source: 'a key', sign: async () => signature }];
  const host = readSettings('', { host: 'box' }, LOCAL);
  const { agent } = createAuthentication(ssh2, new ssh2.Client(), host, { identities, problems: [] });
  return new Promise((resolve) => {
    agent.getIdentities((_error, keys) => {
      const key = keys![0] as never;
      agent.sign(key, Buffer.from('data'), {}, (error, bytes) => resolve(error ?? bytes!));
    });
  });
}

it('passes a signature on, and skips a key whose signature is invalid', async () => {
  const bytes = Buffer.from('signature');
  expect(await signed(Buffer.concat([string('ssh-ed25519'), string(bytes)]))).toEqual(bytes);
  expect(await signed(Buffer.from([0, 0, 9]))).toBeInstanceOf(RangeError);
});
