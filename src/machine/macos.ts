import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';

export function startTimeOf(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout?.trim() || undefined;
}

/** Called only for a group that could be signalled, and macOS refuses to signal a group that has only zombies. */
export async function hasRunningMember(): Promise<boolean> {
  return true;
}

export async function portOwner(port: number): Promise<{ pid: number; command: string } | undefined> {
  return firstOfLsof(await outputOf('lsof', '-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'));
}

/** The first process of `lsof -F pc`, which prints `p<pid>` and `c<command>` on lines of their own. */
export function firstOfLsof(output: string): { pid: number; command: string } | undefined {
  const pid = /^p(\d+)$/m.exec(output)?.[1];
  return pid === undefined ? undefined : { pid: Number(pid), command: /^c(.*)$/m.exec(output)?.[1] ?? '' };
}

/** Empty when the program fails: `ps` and `lsof` do so when nothing matches. */
async function outputOf(program: string, ...args: string[]): Promise<string> {
  return promisify(execFile)(program, args).then(
    ({ stdout }) => stdout,
    () => '',
  );
}
