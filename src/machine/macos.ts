import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/**
 * The start time to the second, in UTC and English, so that it is the same in every terminal. It needs no boot id, because it contains
 * the date.
 */
export function startTimeOf(pid: number): string | undefined {
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env,
  });
  return startOfPs(stdout ?? '');
}

/** The time in the output of `ps -o stat= -o lstart=`; undefined for a zombie, and without a process. */
export function startOfPs(output: string): string | undefined {
  const [, state, time] = /^\s*(\S+)\s+(.*\S)\s*$/.exec(output) ?? [];
  return state?.startsWith('Z') ? undefined : time?.replaceAll(/\s+/g, ' ');
}

export function isSuspended(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return (stdout ?? '').trim().startsWith('T');
}

export function isInForeground(): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'pgid=', '-o', 'tpgid=', '-p', String(process.pid)], {
    encoding: 'utf8',
  });
  const [group, foreground] = (stdout ?? '').trim().split(/\s+/);
  return group !== '' && group === foreground;
}

/**
 * Always true, because callers signal the group first: macOS refuses to signal a group that has only zombies. `runTool` does not signal it
 * first, so it waits until its time is up.
 */
export async function hasRunningMember(): Promise<boolean> {
  return true;
}

/**
 * `ps` shows no number for a session, so this follows the parents. When the debugger of macOS ends, it also ends the process that it
 * debugs.
 */
export async function groupsOf(leader: number): Promise<number[]> {
  return groupsOfPs(await outputOf('ps', '-A', '-o', 'pid=,ppid=,pgid='), leader);
}

/** The groups of a process and of its descendants, from the output of `ps -o pid=,ppid=,pgid=`. */
export function groupsOfPs(output: string, leader: number): number[] {
  const all = output
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter((fields) => fields.length === 3) as [number, number, number][];
  const found = new Set<number>();
  const add = (wanted: number): void => {
    for (const [pid, parent, group] of all) {
      if (pid === wanted) found.add(group);
      if (parent === wanted) add(pid);
    }
  };
  add(leader);
  return [...found];
}

export async function groupListensOn(group: number, port: number): Promise<boolean> {
  const found = await outputOf(
    'lsof',
    '-nP',
    '-a',
    '-g',
    String(group),
    `-iTCP:${port}`,
    '-sTCP:LISTEN',
    '-Fp',
  );
  return firstOfLsof(found) !== undefined;
}

export async function portOwner(port: number): Promise<{ pid: number; name: string } | undefined> {
  return firstOfLsof(await outputOf('lsof', '-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'));
}

/** Undefined, because running `lsof` for each connection would take too long. */
export async function peerUser(): Promise<undefined> {
  return undefined;
}

/** Undefined: `ps` shows variables without saying where each one ends. */
export async function variableOf(): Promise<undefined> {
  return undefined;
}

/** Those of its process group. macOS does not show the variables of processes. */
export async function startedBy(leader: number): Promise<number[]> {
  return membersOfPs(await outputOf('ps', '-A', '-o', 'pid=,pgid=,stat='), leader);
}

/** The running processes of a group, from the output of `ps -o pid=,pgid=,stat=`. */
export function membersOfPs(output: string, group: number): number[] {
  return output.split('\n').flatMap((line) => {
    const [pid, own, state = 'Z'] = line.trim().split(/\s+/);
    return Number(own) === group && !state.startsWith('Z') ? Number(pid) : [];
  });
}

/** The first process of `lsof -F pc`, which prints `p<pid>` and `c<command>` on lines of their own. */
export function firstOfLsof(output: string): { pid: number; name: string } | undefined {
  const pid = /^p(\d+)$/m.exec(output)?.[1];
  return pid === undefined ? undefined : { pid: Number(pid), name: /^c(.*)$/m.exec(output)?.[1] ?? '' };
}

/** Empty if the program fails: `ps` and `lsof` fail when nothing matches. */
async function outputOf(program: string, ...args: string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  return await Promise.all([text(child.stdout), once(child, 'exit')]).then(
    ([output, [code]]) => (code === 0 ? output : ''),
    () => '',
  );
}
