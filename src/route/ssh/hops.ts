import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { ownAccount } from '../../machine/account.ts';
import { shellWord } from '../../phrases.ts';
import type { Destination } from './destination.ts';
import { type HostSettings, type LocalAccount, nameOf, readSettings } from './settings.ts';

/** The limit for `ssh -G`, which runs the programs that `Match exec` names in the user's configuration. */
const LIMIT_MS = 10_000;
const MAX_HOPS = 8;

type Env = Record<string, string | undefined>;

/** The hosts of a connection, the nearest first: the jump hosts of ProxyJump, then the destination. */
export async function readHops(to: Destination, env: Env, signal: AbortSignal): Promise<HostSettings[]> {
  const local = localAccount(env);
  const hops = [await settingsOf(to, local, signal)];
  // Only the ProxyJump of the first jump host is followed; the other hosts are reached through the one before them.
  while (hops[0]!.jumps.length > 0 && hops[0]!.proxyCommand === undefined) {
    const { jumps } = hops[0]!;
    if (hops.length + jumps.length > MAX_HOPS) {
      throw new DevloopError(
        'ssh.unreachable',
        `ProxyJump to ${nameOf(hops.at(-1)!)} uses more than ${MAX_HOPS} hosts, possibly in a loop.`,
        { hint: `Check with: ssh -G ${shellWord(to.host)}` },
      );
    }
    const found = await Promise.all(jumps.map((jump) => settingsOf(jump, local, signal)));
    hops.unshift(found[0]!, ...found.slice(1).map((hop) => ({ ...hop, jumps: [] })));
  }
  return hops;
}

async function settingsOf(to: Destination, local: LocalAccount, signal: AbortSignal): Promise<HostSettings> {
  const args = [
    '-G',
    ...(await configOf(local)),
    ...(to.port ? ['-p', String(to.port)] : []),
    ...(to.user ? ['-l', to.user] : []),
    '--',
    to.host,
  ];
  return readSettings(await runSsh(args, local.env, signal), to, local);
}

/** Resolves with the output of ssh; empty if ssh is not installed. */
function runSsh(args: string[], env: Env, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env: env as NodeJS.ProcessEnv, signal, timeout: LIMIT_MS };
    execFile('ssh', args, options, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      if (error.code === 'ENOENT') return resolve('');
      if (signal.aborted) return reject(signal.reason);
      const why = stderr.trim().split('\n').at(-1) || error.message;
      const message = `OpenSSH rejected its configuration: ${why}`;
      reject(
        new DevloopError('ssh.unreachable', message, {
          hint: `Check with: ssh ${args.map(shellWord).join(' ')}`,
        }),
      );
    });
  });
}

/** OpenSSH uses the account's home directory. A user who set HOME to another directory wants that directory to be used. */
async function configOf({ home, accountHome }: LocalAccount): Promise<string[]> {
  if (home === accountHome) return [];
  const own = join(home, '.ssh/config');
  const readable = await access(own).then(
    () => true,
    () => false,
  );
  return ['-F', readable ? own : '/dev/null'];
}

function localAccount(env: Env): LocalAccount {
  const { name: user, uid, home } = ownAccount(env);
  return { home: env.HOME || home, accountHome: home, user, uid, hostname: hostname(), env };
}
