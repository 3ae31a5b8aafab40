import { uptime } from 'node:os';

/**
 * Begins to measure time that goes on while this machine is asleep, which Node's own clock leaves out, and that does not depend on the date
 * either. The result returns the milliseconds since then, up to a second too many.
 */
export function startElapsed(): () => number {
  const [awakeAt, upAt] = [performance.now(), uptime()];
  return () => Math.max(performance.now() - awakeAt, (uptime() - upAt) * 1000);
}

/** Calls `onWake` after this process could not run for a while, as after this machine was asleep, until disposed. */
export function afterSleep(
  onWake: () => void,
  { everyMs, asleepMs }: { everyMs: number; asleepMs: number },
): Disposable {
  let elapsed = startElapsed();
  const timer = setInterval(() => {
    const passedMs = elapsed();
    elapsed = startElapsed();
    if (passedMs >= everyMs + asleepMs) onWake();
  }, everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** A smaller difference is only that the date has no fractions of milliseconds. */
const SAME_MS = 100;
let origin = performance.timeOrigin;

/**
 * The date, in milliseconds since 1970 with fractions, by which what happens within a millisecond can be put in order. `at`: the time on Node's own
 * clock, a moment ago. That clock stands still while this machine is asleep, and does not know when the date is set.
 */
export function dateOf(at = performance.now()): number {
  const now = performance.now();
  const date = Date.now();
  if (Math.abs(origin + now - date) > SAME_MS) origin = date - now;
  return origin + at;
}
