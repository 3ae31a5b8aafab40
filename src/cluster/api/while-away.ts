import { backOff, sleep } from '../../async.ts';
import type { Emit } from '../../report/events.ts';
import { isTransient, refusalOf } from './errors.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
/** A shorter wait is not worth a line of output. */
const NOTICED_SECONDS = 1;

export interface Patience {
  /**
   * How long to keep trying, counted from the first failure. The count restarts after an attempt that took longer than the limit, since the
   * API server was available for most of that time. It does not restart if the next attempt takes as long, since then something fails each
   * time.
   */
  limitMs: number;
  /** Stops the repetition, but never a running attempt. */
  signal?: AbortSignal;
  /** Gets an event while devloop waits for the API server. */
  emit?: Emit;
  /** Whether a failure may be temporary; by default, `isTransient` decides. */
  mayPass?: ((error: unknown) => boolean) | undefined;
  /** Called with the first temporary failure. */
  onAway?: ((error: unknown) => void) | undefined;
}

/**
 * Repeats an attempt while the API server does not answer or reports a temporary failure. The attempt must be repeatable: a read, a
 * deletion, or a round of reading, deciding and writing. Rejects with the last failure.
 */
export async function whileAway<T>(attempt: () => Promise<T>, patience: Patience): Promise<T> {
  const { mayPass = isTransient, onAway, limitMs } = patience;
  const awaySince = beginningOf(limitMs);
  for (let failures = 0; ; failures++) {
    const startedAt = performance.now();
    try {
      return await attempt();
    } catch (error) {
      if (!mayPass(error)) throw error;
      if (failures === 0) onAway?.(error);
      const pauseMs = Math.max(backOff(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), askedPauseMs(error));
      if (!(await waited(pauseMs, awaySince(startedAt), patience))) throw error;
    }
  }
}

/**
 * Returns a function to call after each failure with the start time of its attempt. That function returns the time from which the limit
 * counts.
 */
function beginningOf(limitMs: number): (startedAt: number) => number {
  let since: number | undefined;
  let wasLong = false;
  return (startedAt) => {
    const now = performance.now();
    const isLong = now - startedAt > limitMs;
    if (isLong && !wasLong) since = now;
    wasLong = isLong;
    since ??= now;
    return since;
  };
}

/** Pauses. Resolves to false if the signal ended the pause, or at once if the limit would pass before the pause ends. */
async function waited(
  pauseMs: number,
  awaySince: number,
  { limitMs, signal, emit }: Patience,
): Promise<boolean> {
  const awayMs = performance.now() - awaySince;
  if (awayMs + pauseMs > limitMs) return false;
  const seconds = Math.round(awayMs / 1000);
  if (seconds >= NOTICED_SECONDS)
    emit?.({ type: 'waiting', for: 'the API server', seconds, limitSeconds: limitMs / 1000 });
  return await sleep(pauseMs, signal);
}

/** How long an overloaded server asks the client to wait, in its Retry-After header. */
export function askedPauseMs(error: unknown): number {
  return (refusalOf(error)?.retryAfterSeconds ?? 0) * 1000;
}

/** Wraps a condition for polling: while the API server does not answer, the condition counts as not met. */
export function answered(holds: () => Promise<boolean>): () => Promise<boolean> {
  return async () => {
    try {
      return await holds();
    } catch (error) {
      if (!isTransient(error)) throw error;
      return false;
    }
  };
}
