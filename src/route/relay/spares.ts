import type { Channel } from 'ssh2';

/** So many connections that come at once find a channel open. */
const SPARES = 4;

/** Channels that are opened ahead of need: a connection that has to wait for its own waits a round trip. The first one does. */
export class Spares {
  #open: () => Promise<Channel>;
  /** Open, or soon to be; in the order in which they were asked for. */
  #next: Promise<Channel>[] = [];

  constructor(open: () => Promise<Channel>) {
    this.#open = open;
  }

  /** The channel that is open soonest. Others are opened for who comes later. Rejects where none opens any more. */
  take(): Promise<Channel> {
    while (this.#next.length <= SPARES) {
      const channel = this.#open();
      // Who takes it hears of it.
      channel.catch(() => {});
      this.#next.push(channel);
    }
    return this.#next.shift()!;
  }
}
