import { setTimeout as sleep, setImmediate as yieldToOthers } from 'node:timers/promises';

/** Work is done for this long at a time, and then rests, because answering others comes first. */
const SLICE_MS = 4;
/**
 * Work starts this long after the first item and does several at once, so that it seldom delays a client that sends one request after the
 * other.
 */
const GATHER_MS = 50;
/** Work rests this many times as long as it took, unless nothing has arrived since it last began. */
const REST = 19;
/** The same for what must not come late. */
const SHORT_REST = 1;

export interface BacklogOptions<T> {
  /** The limit for the items that wait, in bytes. Above it, new items are dropped. */
  mostBytes: number;
  sizeOf(item: T): number;
  work(item: T): void;
  /** What has waited for so long is worked on for half of the time. If absent, nothing is. */
  mostWaitMs?: number;
  /** Called after each slice, with the number of items that were dropped since the last one. */
  onSlice(dropped: number): void;
}

/**
 * Does later, in short slices, what must not delay the present: while more items arrive, that takes at most a twentieth of the time, or half if
 * they would come too late.
 */
export class Backlog<T> implements AsyncDisposable {
  #options: BacklogOptions<T>;
  #items: T[] = [];
  /** When each of them arrived. */
  #since: number[] = [];
  #bytes = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #restsUntil = 0;
  #isBusy = false;
  #isOver = false;

  constructor(options: BacklogOptions<T>) {
    this.#options = options;
  }

  /** The items that wait, the oldest first. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** Returns false if the item was dropped. */
  push(item: T): boolean {
    if (this.#isOver) return false;
    const size = this.#options.sizeOf(item);
    this.busy();
    this.wake();
    if (this.#bytes + size > this.#options.mostBytes) {
      this.#dropped += 1;
      return false;
    }
    this.#bytes += size;
    this.#items.push(item);
    this.#since.push(performance.now());
    return true;
  }

  /** How long the oldest item has waited. */
  get waitedMs(): number {
    return this.#since.length === 0 ? 0 : performance.now() - this.#since[0]!;
  }

  /** Something else has arrived that must not be delayed. */
  busy(): void {
    this.#isBusy = true;
  }

  /** Another slice follows, even if no item waits. */
  wake(): void {
    if (!this.#isOver) this.#timer ??= this.#begin();
  }

  /** Resolves when the work on all items that wait by now is done. Does not wait for the next slice. */
  async caughtUp(): Promise<void> {
    const last = this.#items.at(-1);
    while (last !== undefined && this.#items.includes(last)) {
      this.#slice();
      await sleep(SLICE_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    // In slices, because the session's other work continues until it has ended.
    do {
      this.#slice();
      await yieldToOthers();
    } while (this.#items.length > 0);
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #begin(): NodeJS.Timeout {
    // What has waited through a rest need not gather again.
    const gatherMs = this.#isBusy && this.#items.length === 0 ? GATHER_MS : 0;
    return setTimeout(() => this.#next(), Math.max(gatherMs, this.#restsUntil - performance.now()));
  }

  #next(): void {
    const before = process.threadCpuUsage();
    this.#slice();
    // CPU time of this thread only: what other programs did meanwhile, such as a compiler, is not this work.
    const { user, system } = process.threadCpuUsage(before);
    const now = performance.now();
    const { mostWaitMs = Number.POSITIVE_INFINITY } = this.#options;
    const rest = now - (this.#since[0] ?? now) > mostWaitMs ? SHORT_REST : REST;
    this.#restsUntil = now + (this.#isBusy ? rest * ((user + system) / 1000) : 0);
    this.#isBusy = false;
    this.#timer = this.#items.length > 0 ? this.#begin() : undefined;
  }

  #slice(): void {
    const until = performance.now() + SLICE_MS;
    let done = 0;
    while (done < this.#items.length && performance.now() < until) {
      const item = this.#items[done]!;
      done += 1;
      this.#bytes -= this.#options.sizeOf(item);
      this.#options.work(item);
    }
    this.#items.splice(0, done);
    this.#since.splice(0, done);
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#options.onSlice(dropped);
  }
}
