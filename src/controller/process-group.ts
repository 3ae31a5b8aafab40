import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;

/** Sends a signal to a whole process group; false when nobody is left in it. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch {
    // ESRCH: it is empty. EPERM (macOS): only zombies are left.
    return false;
  }
}

/** Kills what is left of a group and waits, up to a bound, until it is empty. */
export async function killGroup(group: number, limitMs: number): Promise<void> {
  for (let waited = 0; signalGroup(group, 'SIGKILL') && waited < limitMs; waited += POLL_MS)
    await delay(POLL_MS);
}
