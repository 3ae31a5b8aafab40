import type { DevloopEvent, ReviewSummary } from './events.ts';

const WINDOW_MS = 1_000;

/** Reviews that say the same as one just before are counted, so that a flood of them is two lines. */
export interface ReviewCounts {
  /** Whether this one is printed; otherwise it is counted. */
  isFirst(event: Extract<DevloopEvent, { type: 'review' }>): boolean;
  /** Prints what was counted. */
  close(): void;
}

export function createReviewCounts(print: (review: ReviewSummary, count: number) => void): ReviewCounts {
  const counting = new Map<string, { review: ReviewSummary; count: number; timer: NodeJS.Timeout }>();
  const end = (key: string): void => {
    const { review, count, timer } = counting.get(key)!;
    clearTimeout(timer);
    counting.delete(key);
    if (count > 0) print(review, count);
  };
  return {
    isFirst(event) {
      const { verdict, webhook, operation, resource, message, build, isOldBuild } = event;
      const key = JSON.stringify([verdict, webhook, operation, resource, message, build, isOldBuild]);
      const counted = counting.get(key);
      if (counted) {
        counted.count += 1;
        return false;
      }
      counting.set(key, { review: event, count: 0, timer: setTimeout(end, WINDOW_MS, key) });
      return true;
    },
    close() {
      for (const key of [...counting.keys()]) end(key);
    },
  };
}
