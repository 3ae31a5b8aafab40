import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process by number and birth: numbers are given again. */
export interface ProcessIdentity {
  pid: number;
  /** In clock ticks since the machine's start. */
  startedAt: string;
}

export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readStat(pid);
  return stat && { pid, startedAt: stat.startedAt };
}

/** A zombie has ended: only its parent has not looked yet. */
export async function isAlive({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  const stat = await readStat(pid);
  return stat !== undefined && stat.startedAt === startedAt && stat.state !== 'Z';
}

/** Kills a process unless its number means another one by now, and waits for its end. */
export async function killAndWait(target: ProcessIdentity, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  try {
    if (await isAlive(target)) process.kill(target.pid, 'SIGKILL');
  } catch (error) {
    // It ended on its own between the look and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  while (await isAlive(target)) {
    if (Date.now() > deadline) throw new Error(`process ${target.pid} survived SIGKILL for ${timeoutMs} ms`);
    await sleep(10);
  }
}

/** The process that `unshare --fork` made: process 1 of the box. */
export async function onlyChild(pid: number): Promise<ProcessIdentity | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const child = Number(children.trim().split(' ')[0]);
  return child > 0 ? identify(child) : undefined;
}

async function readStat(pid: number): Promise<{ state: string; startedAt: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0]!, startedAt: fields[19]! };
}
