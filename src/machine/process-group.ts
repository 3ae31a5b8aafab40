import { readdir, readFile } from 'node:fs/promises';
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

/** Kills what is left of a group and waits, up to a bound, until nobody in it runs any more. */
export async function killGroup(group: number, limitMs: number): Promise<void> {
  for (let waited = 0; signalGroup(group, 'SIGKILL') && waited < limitMs; waited += POLL_MS) {
    if (!(await hasLivingMember(group))) return;
    await delay(POLL_MS);
  }
}

/** Zombies of a dead parent stay in their group until somebody reaps them, which is not ours to do or to wait for. */
async function hasLivingMember(group: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return stats.some((stat) => {
    const [state, , memberOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(memberOf) === group && state !== 'Z' && state !== 'X';
  });
}
