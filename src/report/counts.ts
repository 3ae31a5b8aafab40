/** How an event is counted. */
export interface Counting {
  /** What is the same in events that are counted together. */
  says: unknown[];
  /** So many are printed in their order before the others are only counted. */
  printed: number;
  /** How often those that were counted are printed. */
  everyMs: number;
}

/** `last`: the last event that was counted. `deployment`: as in `Emit`. */
type Print<Event> = (last: Event, count: number, how: Counting, deployment: string | undefined) => void;

interface Counted<Event> {
  last: Event;
  how: Counting;
  deployment: string | undefined;
  printed: number;
  count: number;
  timer: NodeJS.Timeout;
}

/** Counts events that say the same as an earlier one: a flood of them takes a few lines, and then one line each time as long as it goes on. */
export interface Counts<Event> {
  /** Whether this one is among the first, which are printed; otherwise it is counted. */
  isFirst(event: Event, deployment?: string): boolean;
  /** Prints what was counted. */
  close(): void;
}

export function createCounts<Event>(
  countingOf: (event: Event, deployment: string | undefined) => Counting,
  print: Print<Event>,
): Counts<Event> {
  const counting = new Map<string, Counted<Event>>();
  const end = (key: string): void => {
    clearInterval(counting.get(key)!.timer);
    counting.delete(key);
  };
  const tell = (counted: Counted<Event>): void => {
    const { last, count, how, deployment } = counted;
    counted.count = 0;
    if (count > 0) print(last, count, how, deployment);
  };
  const onTime = (key: string): void => {
    const counted = counting.get(key)!;
    if (counted.count === 0) end(key);
    else tell(counted);
  };
  return {
    isFirst(event, deployment) {
      const how = countingOf(event, deployment);
      const key = JSON.stringify([deployment, ...how.says]);
      const counted = counting.get(key) ?? {
        ...{ last: event, how, deployment, printed: 0, count: 0 },
        timer: setInterval(onTime, how.everyMs, key),
      };
      counting.set(key, counted);
      if (counted.printed < how.printed) {
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
