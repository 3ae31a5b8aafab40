/** A deadline that does not count the time in which a person is asked something. */
export class Patience implements Disposable {
  readonly #expire: () => void;
  #leftMs: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, expire: () => void) {
    this.#leftMs = limitMs;
    this.#expire = expire;
    this.#run();
  }

  async pauseFor<T>(asking: () => Promise<T>): Promise<T> {
    const running = this.#timer !== undefined;
    this[Symbol.dispose]();
    this.#leftMs -= performance.now() - this.#since;
    try {
      return await asking();
    } finally {
      if (running) this.#run();
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#leftMs));
  }
}
