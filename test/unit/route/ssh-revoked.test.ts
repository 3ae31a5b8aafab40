import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadHostKeys } from '../../../src/route/ssh/host-key.ts';
import { readPublicKey } from '../../../src/route/ssh/private-key.ts';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { LOCAL } from '../../support/sshd/local.ts';

let directory: string;
const at = (name: string): string => join(directory, name);
const keygen = (...args: string[]): unknown => execFileSync('ssh-keygen', ['-q', ...args]);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devloop revoked '));
  for (const name of ['good', 'stolen']) keygen('-t', 'ed25519', '-N', '', '-C', name, '-f', at(name));
  keygen('-k', '-f', at('krl'), at('stolen.pub'));
  execFileSync('sh', ['-c', '{ echo "# gone"; echo; cat stolen.pub; } > list'], { cwd: directory });
  await writeFile(at('broken.krl'), 'SSHKRL\n\0but no more');
  await writeFile(at('broken.list'), 'ssh-ed25519 AAAA\n');
});
afterAll(() => rm(directory, { recursive: true }));

/** Verifies a host key with StrictHostKeyChecking off and RevokedHostKeys set to that file. */
async function verify(name: string, file: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const settings = ['userknownhostsfile none', 'stricthostkeychecking no', `revokedhostkeys ${at(file)}`];
  const host = readSettings(settings.join('\n'), { host: 'box' }, LOCAL);
  const keys = { ask: undefined, accepted: new Set<string>(), emit: () => {}, env };
  await (await loadHostKeys(host, keys)).verify((await readPublicKey(at(`${name}.pub`)))!);
}

const refused = (message: RegExp): object => ({
  code: 'ssh.host-key',
  message: expect.stringMatching(message),
});

it.each(['list', 'krl'])('refuses a key that RevokedHostKeys contains, and no other: %s', async (file) => {
  await verify('good', file);
  await expect(verify('stolen', file)).rejects.toMatchObject(refused(new RegExp(`revoked.*${file}`)));
});

it.each(['none-there', 'broken.krl', 'broken.list'])(
  'trusts no key if RevokedHostKeys cannot be read: %s',
  async (file) => {
    await expect(verify('good', file)).rejects.toMatchObject(
      refused(new RegExp(`RevokedHostKeys.*${file}.*no key`)),
    );
  },
);

it('trusts no key if there is a KRL, but no ssh-keygen', async () => {
  await expect(verify('good', 'krl', { PATH: directory })).rejects.toMatchObject(refused(/ssh-keygen/));
});
