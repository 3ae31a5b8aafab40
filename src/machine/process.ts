import { pollUntil, sleep } from '../async.ts';
import { groupListensOn, groupsOf, hasRunningMember } from './system.ts';

const POLL_MS = 10;

/** Sends a signal to a whole process group; false when no process is left in it. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    // ESRCH: the group is empty. EPERM (macOS): only zombies are left.
    return false;
  }
}

/** Sends a signal to a process group, and kills the group if `ended` has not aborted within the grace period. */
export async function endGroup(
  group: number,
  request: 'SIGTERM' | 'SIGINT',
  graceMs: number,
  ended: AbortSignal,
): Promise<void> {
  signalGroup(group, request);
  if (await sleep(graceMs, ended)) signalGroup(group, 'SIGKILL');
}

/** Kills what is left of a group, and waits up to `limitMs` until none of its processes runs. */
export async function killGroup(group: number, limitMs: number): Promise<boolean> {
  const isGone = async () => !signalGroup(group, 'SIGKILL') || !(await hasRunningMember(group));
  return await pollUntil(isGone, { everyMs: POLL_MS, limitMs });
}

/** Like `killGroup`, for a whole session, which a debugger and the process that it debugs share. */
export async function killSession(leader: number, limitMs: number): Promise<boolean> {
  const isGone = async (): Promise<boolean> => {
    const groups = await groupsOf(leader);
    for (const group of [leader, ...groups]) signalGroup(group, 'SIGKILL');
    return groups.length === 0;
  };
  return await pollUntil(isGone, { everyMs: POLL_MS, limitMs });
}

/** Whether a process of a session listens on a TCP port. */
export async function sessionListensOn(leader: number, port: number): Promise<boolean> {
  for (const group of await groupsOf(leader)) if (await groupListensOn(group, port)) return true;
  return false;
}

/**
 * Sends SIGTERM to all process groups of a session except its leader's: this ends the process that a debugger debugs, but not the debugger.
 */
export async function endFollowers(leader: number): Promise<void> {
  for (const group of await groupsOf(leader)) if (group !== leader) signalGroup(group, 'SIGTERM');
}
