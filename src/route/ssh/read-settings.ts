import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { type Destination, formatDestination } from './destination.ts';
import type { Local } from './expand.ts';
import { type HostSettings, readSettings } from './settings.ts';

/** `Match exec` in the user's configuration may run programs. */
const LIMIT_MS = 10_000;
const MOST_HOPS = 8;

type Env = Record<string, string | undefined>;

/** The hosts of a connection, the nearest first: every ProxyJump, and the destination itself as the last. */
export async function readHops(to: Destination, env: Env, signal: AbortSignal): Promise<HostSettings[]> {
  const local = localOf(env);
  const hops = [await settingsOf(to, local, signal)];
  // Only the first of several jumps goes by its own ProxyJump: the others are reached through their neighbour.
  while (hops[0]!.jumps.length > 0 && hops[0]!.proxyCommand === undefined) {
    const jumps = hops[0]!.jumps;
    if (hops.length + jumps.length > MOST_HOPS) {
      const { user, host, port } = hops.at(-1)!;
      throw new DevloopError(
        'ssh.unreachable',
        `ProxyJump leads to ${formatDestination(user, host, port)} over more than ${MOST_HOPS} hosts, perhaps in a circle.`,
        {
          hint: `See: ssh -G ${to.host}`,
        },
      );
    }
    const found = await Promise.all(jumps.map((jump) => settingsOf(jump, local, signal)));
    hops.unshift(found[0]!, ...found.slice(1).map((hop) => ({ ...hop, jumps: [] })));
  }
  return hops;
}

async function settingsOf(to: Destination, local: Local, signal: AbortSignal): Promise<HostSettings> {
  const args = [
    '-G',
    ...(await configOf(local)),
    ...(to.port ? ['-p', String(to.port)] : []),
    ...(to.user ? ['-l', to.user] : []),
    '--',
    to.host,
  ];
  return readSettings(await askOpenSsh(args, local.env, signal), to, local);
}

/** What OpenSSH says; nothing where it is not installed. */
function askOpenSsh(args: string[], env: Env, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      'ssh',
      args,
      { env: env as NodeJS.ProcessEnv, signal, timeout: LIMIT_MS },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        if (error.code === 'ENOENT') return resolve('');
        if (signal.aborted) return reject(signal.reason);
        const why = stderr.trim().split('\n').at(-1) || error.message;
        reject(
          new DevloopError('ssh.unreachable', `OpenSSH cannot make sense of its configuration: ${why}`, {
            hint: `Try: ssh ${args.join(' ')}`,
          }),
        );
      },
    );
  });
}

/** OpenSSH goes by the account's home directory. Who has set HOME to another one means that one. */
async function configOf({ home, accountHome }: Local): Promise<string[]> {
  if (home === accountHome) return [];
  const own = join(home, '.ssh/config');
  const readable = await access(own).then(
    () => true,
    () => false,
  );
  return ['-F', readable ? own : '/dev/null'];
}

function localOf(env: Env): Local {
  const { username, uid, homedir } = userInfo();
  return { home: env.HOME || homedir, accountHome: homedir, user: username, uid, hostname: hostname(), env };
}
