/** A deadline that does not count the time in which a person is asked something. */
export class Patience implements Disposable {
  readonly #expire: () => void;
  #leftMs: number;
  #since = 0;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: () => void) {
    this.#leftMs = limitMs;
    this.#expire = expire;
    this.#run();
  }

  /** One question may lead to another: it goes on when the last one is answered. */
  async pauseFor<T>(asking: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) {
      clearTimeout(this.#timer);
      this.#leftMs -= performance.now() - this.#since;
    }
    try {
      return await asking();
    } finally {
      if (--this.#pauses === 0) this.#run();
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    // Whoever is still asked has nobody waiting any more.
    this.#pauses++;
  }

  #run(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#leftMs));
  }
}
