import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { fingerprint } from './known-hosts.ts';
import { typeOf } from './wire.ts';

/** The first bytes of a binary key revocation list. */
const KRL = 'SSHKRL\n';
/** The exit code of ssh-keygen for a revoked key. */
const REVOKED = 1;
const LIMIT_MS = 10_000;

type Env = Record<string, string | undefined>;

/**
 * Throws `ssh.host-key` if the file of RevokedHostKeys contains this key of the host, or cannot be read: then any key could be revoked, so
 * OpenSSH trusts none either.
 */
export async function refuseRevoked(file: string, key: Buffer, host: string, env: Env): Promise<void> {
  const revoked = await isRevoked(file, key, env).catch((error) => {
    throw new DevloopError(
      'ssh.host-key',
      `RevokedHostKeys names ${file}, which could not be read (${messageOf(error)}), so no key of SSH host ${host} can be trusted.`,
      { hint: `Check with: ssh-keygen -Q -f ${shellWord(file)} <key>.pub` },
    );
  });
  if (!revoked) return;
  throw new DevloopError(
    'ssh.host-key',
    `The key of SSH host ${host} (${typeOf(key)} ${fingerprint(key)}) is revoked by ${file}.`,
    { hint: 'Ask the administrator of the host for a new host key.' },
  );
}

async function isRevoked(file: string, key: Buffer, env: Env): Promise<boolean> {
  const content = await readFile(file);
  if (content.subarray(0, KRL.length).toString('latin1') === KRL) return await isInKrl(file, key, env);
  return listed(content.toString('utf8')).some((one) => one.equals(key));
}

/** The keys in a file that has one public key per line. */
function listed(text: string): Buffer[] {
  return text.split('\n').flatMap((line, index): Buffer[] => {
    const [type, base64 = ''] = line.trim().split(/\s+/);
    if (!type || type.startsWith('#')) return [];
    const key = Buffer.from(base64, 'base64');
    if (key.length <= type.length || !key.subarray(4).toString('latin1').startsWith(type))
      throw new Error(`line ${index + 1} is not a public key`);
    return [key];
  });
}

/**
 * Only OpenSSH can read a KRL, which also names keys by hash and by range. The file comes from OpenSSH's configuration, so OpenSSH is
 * installed.
 */
async function isInKrl(file: string, key: Buffer, env: Env): Promise<boolean> {
  const directory = await mkdtemp(join(tmpdir(), 'devloop-key-'));
  try {
    const shown = join(directory, 'shown.pub');
    await writeFile(shown, `${typeOf(key)} ${key.toString('base64')}\n`);
    return await askKeygen(['-Q', '-f', file, shown], env);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function askKeygen(args: string[], env: Env): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = { env: env as NodeJS.ProcessEnv, timeout: LIMIT_MS };
    execFile('ssh-keygen', args, options, (error, _, stderr) => {
      if (error === null) resolve(false);
      else if (error.code === REVOKED) resolve(true);
      else reject(new Error(stderr.trim() || `ssh-keygen: ${messageOf(error)}`));
    });
  });
}
