import type { DevloopEvent, Emit } from '../../../../src/report/events.ts';

export interface Recorder {
  emit: Emit;
  events: DevloopEvent[];
  all<T extends DevloopEvent['type']>(type: T): Extract<DevloopEvent, { type: T }>[];
  /** Resolves with the first event of the type, old or new, that fits; `from` leaves out the older ones. */
  waitFor<T extends DevloopEvent['type']>(
    type: T,
    fits?: (event: Extract<DevloopEvent, { type: T }>) => boolean,
    from?: number,
  ): Promise<Extract<DevloopEvent, { type: T }>>;
}

/** Compilers run in the meantime, on a machine that may have much else to do. */
const LIMIT_MS = 120_000;

/** Keeps every event, and lets a test wait for one with a limit. */
export function recordEvents(): Recorder {
  const events: DevloopEvent[] = [];
  const listeners = new Set<() => void>();
  return {
    events,
    emit(event) {
      events.push(event);
      for (const listener of listeners) listener();
    },
    all: (type) => events.filter((event) => event.type === type) as never,
    waitFor: (type, fits = () => true, from = 0) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = events.slice(from).find((event) => event.type === type && fits(event as never));
          if (!found) return;
          listeners.delete(look);
          clearTimeout(timer);
          resolve(found as never);
        };
        const timer = setTimeout(() => {
          listeners.delete(look);
          const seen = events.slice(from).map((event) => JSON.stringify(event));
          reject(new Error(`no ${type} within ${LIMIT_MS} ms; seen:\n${seen.join('\n')}`));
        }, LIMIT_MS);
        listeners.add(look);
        look();
      }),
  };
}
