import type { DevloopEvent } from '../../report/events.ts';

export type RestoredEvent = Extract<DevloopEvent, { type: 'session.restored' }>;

/** Remembers how the session has ended, for those who wait for that. */
export class Restored {
  #event = Promise.withResolvers<RestoredEvent>();

  observe(event: DevloopEvent): void {
    if (event.type === 'session.restored') this.#event.resolve(event);
  }

  get event(): Promise<RestoredEvent> {
    return this.#event.promise;
  }
}
