import type { DevloopEvent } from './events.ts';

const WINDOW_MS = 1_000;

type ReviewEvent = Extract<DevloopEvent, { type: 'review' }>;

/** `last`: the last review that was counted. `deployment`: as in `Emit`. */
type Print = (last: ReviewEvent, count: number, deployment: string | undefined) => void;

interface Counted {
  last: ReviewEvent;
  deployment: string | undefined;
  count: number;
  timer: NodeJS.Timeout;
}

/** Counts reviews that are the same as an earlier one within a second, so that a flood of them takes two lines. */
export interface ReviewCounts {
  /** Whether this one is printed; otherwise it is counted. */
  isFirst(event: ReviewEvent, deployment?: string): boolean;
  /** Prints what was counted. */
  close(): void;
}

export function createReviewCounts(print: Print): ReviewCounts {
  const counting = new Map<string, Counted>();
  const end = (key: string): void => {
    const { last, deployment, count, timer } = counting.get(key)!;
    clearTimeout(timer);
    counting.delete(key);
    if (count > 0) print(last, count, deployment);
  };
  return {
    isFirst(event, deployment) {
      const { verdict, webhook, operation, resource, message, patch, build, isOldBuild } = event;
      const said = [deployment, verdict, webhook, operation, resource, message, patch, build, isOldBuild];
      const key = JSON.stringify(said);
      const counted = counting.get(key);
      if (counted) {
        counted.count += 1;
        counted.last = event;
        return false;
      }
      counting.set(key, { last: event, deployment, count: 0, timer: setTimeout(end, WINDOW_MS, key) });
      return true;
    },
    close() {
      for (const key of [...counting.keys()]) end(key);
    },
  };
}
