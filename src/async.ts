import { setTimeout as timeout } from 'node:timers/promises';
import type { DevloopEvent, Emit, Progress } from './report/events.ts';

/**
 * Like Promise.all, but rejects only after all promises have settled, because a restore that follows must find every write that was
 * running.
 */
export async function allDone<T>(promises: Iterable<Promise<T>>): Promise<T[]> {
  const results = await Promise.allSettled(promises);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return results.map((result) => (result as PromiseFulfilledResult<T>).value);
}

/**
 * Awaits steps that are useless without each other. The first failure aborts `ending`, which stops the other steps. Once all steps have
 * settled, rejects with that failure, not with the errors of the stopped steps.
 */
export async function allOrNone<T>(steps: Promise<T>[], ending: AbortController): Promise<T[]> {
  const endAll = (error: unknown): never => {
    ending.abort(error);
    throw ending.signal.reason;
  };
  return await allDone(steps.map((step) => step.catch(endAll)));
}

/** The time in ms to wait before the next attempt. It doubles from `firstMs` up to `longestMs`; `failures` counts from 0. */
export function backOff(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** failures, longestMs);
}

/** Resolves to false if the signal ended the wait early. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<boolean> {
  return await timeout(ms, true, signal ? { signal } : {}).catch(() => false);
}

/** Calls `holds` at once and then every `everyMs`. Resolves to false if it is still false after `limitMs`, or when the signal aborts. */
export async function pollUntil(
  holds: () => Promise<boolean>,
  { everyMs, limitMs, signal }: { everyMs: number; limitMs: number; signal?: AbortSignal },
): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() >= deadline || !(await sleep(everyMs, signal))) return false;
  }
  return true;
}

const REPORT_EVERY_MS = 1_000;

/** Reports each second what is being waited for, until the work settles or its limit has passed. */
export async function reportWhileWaiting<T>(
  work: Promise<T>,
  { progress, ...what }: { for: string; limitSeconds?: number; progress?: () => Progress | undefined },
  emit: Emit,
): Promise<T> {
  const started = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1000);
    const current = progress?.();
    const shown = current === undefined ? {} : { progress: current };
    if (seconds <= (what.limitSeconds ?? seconds)) emit({ type: 'waiting', ...what, seconds, ...shown });
  }, REPORT_EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

const QUIET_MS = 5_000;

/** In a message such as `within 0.8 s`, the same thing may happen after 0.9 s the next time. */
const SECONDS = /\d+(?:\.\d+)? s\b/g;

export type Warning = Extract<DevloopEvent, { type: 'warning' }>;

/**
 * Emits warnings, but each message at most once in five seconds, whatever times it names: a cluster that retries can send many reviews a
 * second.
 */
export function createWarner(emit: Emit): (warning: Warning) => void {
  const lastEmitted = new Map<string, number>();
  return (warning) => {
    const now = performance.now();
    for (const [old, time] of lastEmitted) if (now - time > QUIET_MS) lastEmitted.delete(old);
    const key = warning.message.replace(SECONDS, 's');
    if (lastEmitted.has(key)) return;
    lastEmitted.set(key, now);
    emit(warning);
  };
}

const TALLY_MS = 600_000;

/** Counts what can happen many times a second: `say` gets the count at once, and then all of them until then every ten minutes. */
export function createTally(
  say: (count: number) => void,
  now = () => performance.now(),
): (more: number) => void {
  let count = 0;
  let saidAt = Number.NEGATIVE_INFINITY;
  return (more) => {
    count += more;
    if (more === 0 || now() - saidAt < TALLY_MS) return;
    saidAt = now();
    say(count);
  };
}

/** Wraps `work`: calls that come while it runs share its next run, so each call gets the result of a run that began after the call. */
export function sharingNext<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<void> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    const run = work();
    const over = (): void => {
      running = undefined;
    };
    running = run.then(over, over);
    return run;
  };
  return () => {
    if (running === undefined) return begin();
    next ??= running.then(begin);
    return next;
  };
}
