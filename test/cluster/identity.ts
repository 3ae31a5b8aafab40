import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process, identified by its pid and its start time, since pids are used again. */
export interface ProcessIdentity {
  pid: number;
  /** In clock ticks since the machine started. */
  startedAt: string;
}

export async function identify(pid: number): Promise<ProcessIdentity | undefined> {
  const stat = await readStat(pid);
  return stat && { pid, startedAt: stat.startedAt };
}

/** A zombie has ended; its parent has just not waited for it yet. */
export async function isAlive({ pid, startedAt }: ProcessIdentity): Promise<boolean> {
  const stat = await readStat(pid);
  return stat !== undefined && stat.startedAt === startedAt && stat.state !== 'Z';
}

/** Kills a process, unless its pid now belongs to another one, and waits until it has ended. */
export async function killAndWait(target: ProcessIdentity, timeoutMs = 10_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  try {
    if (await isAlive(target)) process.kill(target.pid, 'SIGKILL');
  } catch (error) {
    // It ended by itself between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  while (await isAlive(target)) {
    if (Date.now() > deadline) throw new Error(`process ${target.pid} survived SIGKILL for ${timeoutMs} ms`);
    await sleep(10);
  }
}

/** The process that `unshare --fork` started: process 1 of the box. */
export async function onlyChild(pid: number): Promise<ProcessIdentity | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const child = Number(children.trim().split(' ')[0]);
  return child > 0 ? identify(child) : undefined;
}

async function readStat(pid: number): Promise<{ state: string; startedAt: string } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The second field is the program's name in parentheses, and the name itself may contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0]!, startedAt: fields[19]! };
}
