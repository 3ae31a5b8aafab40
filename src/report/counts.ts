const WINDOW_MS = 1_000;
/** So many are printed in their order before the others are only counted. */
const PRINTED = 5;

/** `last`: the last event that was counted. `deployment`: as in `Emit`. */
type Print<Event> = (last: Event, count: number, deployment: string | undefined) => void;

interface Counted<Event> {
  last: Event;
  deployment: string | undefined;
  printed: number;
  count: number;
  timer: NodeJS.Timeout;
}

/**
 * Counts events that say the same as an earlier one within a second. A flood of them takes a few lines, and then one line a second as long
 * as it goes on.
 */
export interface Counts<Event> {
  /** Whether this one is among the first, which are printed; otherwise it is counted. */
  isFirst(event: Event, deployment?: string): boolean;
  /** Prints what was counted. */
  close(): void;
}

/** `says`: what is the same in events that are counted together. */
export function createCounts<Event>(says: (event: Event) => unknown[], print: Print<Event>): Counts<Event> {
  const counting = new Map<string, Counted<Event>>();
  const end = (key: string): void => {
    clearInterval(counting.get(key)!.timer);
    counting.delete(key);
  };
  const tell = (counted: Counted<Event>): void => {
    const { last, count, deployment } = counted;
    counted.count = 0;
    if (count > 0) print(last, count, deployment);
  };
  const onSecond = (key: string): void => {
    const counted = counting.get(key)!;
    if (counted.count === 0) end(key);
    else tell(counted);
  };
  return {
    isFirst(event, deployment) {
      const key = JSON.stringify([deployment, ...says(event)]);
      const counted = counting.get(key);
      if (counted === undefined) {
        const timer = setInterval(onSecond, WINDOW_MS, key);
        counting.set(key, { last: event, deployment, printed: 1, count: 0, timer });
        return true;
      }
      if (counted.printed < PRINTED) {
        counted.printed += 1;
        return true;
      }
      counted.count += 1;
      counted.last = event;
      return false;
    },
    close() {
      for (const [key, counted] of [...counting]) {
        end(key);
        tell(counted);
      }
    },
  };
}
