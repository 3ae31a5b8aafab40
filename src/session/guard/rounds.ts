import { backOff } from '../../async.ts';
import { isConflict } from '../../cluster/api/errors.ts';

/** When an object was written again, and when each try to do so began, on the clock of performance.now(). */
export interface Rounds {
  writes: number[];
  tries: number[];
}

/** After this many writes within a minute, devloop concludes that somebody else will keep overwriting the object. */
const MOST_WRITES = 5;
/**
 * After this many tries within a minute, devloop concludes the same. A try fails when somebody writes in between, often a controller that
 * writes the status.
 */
const MOST_TRIES = 25;
const ROUNDS_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

export function noRounds(): Rounds {
  return { writes: [], tries: [] };
}

/** Forgets what is older than a minute. */
export function forgetOld(rounds: Rounds): void {
  const recent = (at: number): boolean => performance.now() - at < ROUNDS_MS;
  rounds.writes = rounds.writes.filter(recent);
  rounds.tries = rounds.tries.filter(recent);
}

/** Whether somebody else keeps overwriting the object. */
export function isFight(rounds: Rounds): boolean {
  forgetOld(rounds);
  return rounds.writes.length >= MOST_WRITES || rounds.tries.length >= MOST_TRIES;
}

/** How long the next write still has to wait. */
export function pauseMs({ writes }: Rounds): number {
  const last = writes.at(-1);
  return last === undefined ? 0 : Math.max(0, retryMs(writes.length - 1) - (performance.now() - last));
}

/** The pause after this many writes that failed or were overwritten. */
export function retryMs(failures: number): number {
  return backOff(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
}

/** Makes a write. False if somebody else wrote in between: the next round sees their version. */
export async function wroteFirst(rounds: Rounds, write: () => Promise<unknown>): Promise<boolean> {
  rounds.tries.push(performance.now());
  try {
    await write();
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
  rounds.writes.push(performance.now());
  return true;
}
