import type { Emit } from '../../report/events.ts';

/** A shorter cut is not reported, because it breaks no connection. */
const GRACE_MS = 1_000;

/** Reports when the route is lost, and when it has reconnected. */
export class Outage {
  #via: () => string;
  #emit: Emit;
  #reconnected: () => void;
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #cause = '';
  #reported = false;

  constructor(via: () => string, emit: Emit, reconnected: () => void) {
    this.#via = via;
    this.#emit = emit;
    this.#reconnected = reconnected;
  }

  /**
   * Called when the connection broke or a dial failed. The loss is reported after a second, with the latest cause, unless the route is
   * connected by then.
   */
  cut(cause: string): void {
    this.#cause = cause;
    this.#since ??= performance.now();
    if (!this.#reported) this.#timer ??= setTimeout(() => this.#report(), GRACE_MS);
  }

  /** Called when open connections were reset. The loss is then reported at once, however soon the route is back. */
  lost(cause: string): void {
    this.cut(cause);
    if (!this.#reported) this.#report();
  }

  over(): void {
    const since = this.#since;
    const reported = this.#reported;
    this.dispose();
    this.#since = undefined;
    this.#reported = false;
    if (since === undefined || !reported) return;
    const ms = Math.round(performance.now() - since);
    this.#emit({ type: 'route.reconnected', route: 'relay', via: this.#via(), ms });
    this.#reconnected();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #report(): void {
    this.dispose();
    this.#reported = true;
    this.#emit({ type: 'route.lost', route: 'relay', cause: this.#cause });
  }
}
