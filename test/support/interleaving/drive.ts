import { setImmediate as immediately } from 'node:timers/promises';
import type fc from 'fast-check';
import { vi } from 'vitest';
import type { World } from './world.ts';

const MOST_STEPS = 40_000;
/** So many timers are due at the same moment only if a loop runs without a pause, such as one that an earlier test file left behind. */
const MOST_AT_ONCE = 50;
const PUSH_MS = 50;
/** No call takes so long that a Lease could not be renewed in time. */
const LONGEST_TURN_MS = 500;

/**
 * Runs a story to its end. The next step is picked at random from what is waiting for its turn; one of the choices is that time passes
 * until the next timer. Rejects if nothing can happen any more, or if the story does not end.
 */
export async function drive(
  scheduler: fc.Scheduler,
  { waitingSince, isSlow }: World,
  begin: () => Promise<void>,
): Promise<void> {
  // The sleep in async.ts uses node:timers/promises.
  vi.useFakeTimers({ toFake: [...FAKED], fakeNodeBuiltins: true });
  // Otherwise a call could take until the next timer.
  if (!isSlow) setInterval(() => {}, LONGEST_TURN_MS);
  try {
    let outcome: PromiseSettledResult<void> | undefined;
    void Promise.allSettled([begin()]).then(([settled]) => {
      outcome = settled;
    });
    let isTimeNext = false;
    let standsStill = 0;
    for (let step = 0; ; step++) {
      // Lets everything happen that follows from the last step and needs no turn.
      await immediately();
      if (outcome !== undefined) break;
      if (step === MOST_STEPS) throw new Error(`not over after ${step} steps`);
      const isOverdue = performance.now() - (waitingSince() ?? performance.now()) > LONGEST_TURN_MS;
      if (!isTimeNext && !isOverdue && vi.getTimerCount() > 0) {
        isTimeNext = true;
        void scheduler.schedule(Promise.resolve(), 'time passes').then(() => {
          isTimeNext = false;
          const before = performance.now();
          vi.advanceTimersToNextTimer();
          standsStill = performance.now() > before ? 0 : standsStill + 1;
          // Otherwise that loop would stop the clock for everything else.
          if (standsStill > MOST_AT_ONCE) vi.advanceTimersByTime(PUSH_MS);
        });
      }
      if (scheduler.count() > 0) await scheduler.waitOne();
      else throw new Error(`nothing is left that could happen, after ${step} steps`);
    }
    if (outcome.status === 'rejected') throw outcome.reason;
  } finally {
    vi.useRealTimers();
  }
}

/** The same without a choice: time passes when nothing else can happen. */
export async function withoutWaiting<T>(work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: [...FAKED], fakeNodeBuiltins: true });
  try {
    let isOver = false;
    const result = work().finally(() => {
      isOver = true;
    });
    result.catch(() => {});
    for (await immediately(); !isOver; await immediately()) {
      if (vi.getTimerCount() === 0) throw new Error('nothing is left that could happen');
      vi.advanceTimersToNextTimer();
    }
    return await result;
  } finally {
    vi.useRealTimers();
  }
}

const FAKED = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'] as const;
