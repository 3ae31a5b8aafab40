/**
 * A program that writes into its own checkout changes a watched file, is restarted because of that, and writes again. The sign of this: the
 * same file changes at about the same time after each start.
 */
export interface Echo {
  /** The files that changed first after these starts: a program that writes several does not always begin with the same file. */
  files: string[];
  /** The time from the start of the controller to the change. */
  delayMs: number;
  /** How many starts in a row were followed by the change. */
  count: number;
  /** The number of the last of these starts. */
  run: number;
}

/** Nobody saves the same file this often, each time at the same moment after a restart. */
const CERTAIN = 3;
const TOLERANCE_MS = 500;
const LONGEST_DELAY_MS = 60_000;

/** The echo as it is known after a change; only the first change after each start counts. */
export function echoAfter(before: Echo | undefined, change: Omit<Echo, 'count'>): Echo | undefined {
  if (before?.run === change.run) return before;
  const isSame = before?.files.some((file) => change.files.includes(file)) ?? false;
  if (before && isSame && isAsLate(before.delayMs, change.delayMs)) {
    const files = [...new Set([...before.files, ...change.files])];
    return { ...change, files, count: before.count + 1 };
  }
  // Something else was saved in between.
  if (before && isCertain(before)) return before;
  return change.delayMs > LONGEST_DELAY_MS ? undefined : { ...change, count: 1 };
}

/**
 * Whether the second delay is about as long as the first. The delays of slow programs vary more, and those of a person who saves every half
 * minute vary even more.
 */
function isAsLate(a: number, b: number): boolean {
  return Math.abs(a - b) <= Math.max(TOLERANCE_MS, a / 10);
}

export function isCertain({ count }: Echo): boolean {
  return count >= CERTAIN;
}

/** How many times the change came back after it was certain to be an echo. */
export function timesTooOften({ count }: Echo): number {
  return count - CERTAIN;
}
