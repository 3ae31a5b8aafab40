import type { Emit } from '../../report/events.ts';

/** A cut that is mended within so long, in ms, is not worth a word: nothing was lost by it. */
const GRACE = 1000;

/** Says when the route is lost and when it stands again; short cuts pass in silence. */
export class Health {
  #via: () => string;
  #mended: () => void;
  #emit: Emit;
  #since: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #cause = '';
  #told = false;

  constructor(via: () => string, emit: Emit, mended: () => void) {
    this.#mended = mended;
    this.#via = via;
    this.#emit = emit;
  }

  /** The connection broke, or a dial failed; the latest cause is the one that is told. */
  broken(cause: string): void {
    this.#cause = cause;
    this.#since ??= performance.now();
    if (!this.#told) this.#timer ??= setTimeout(() => this.#tell(), GRACE);
  }

  /** Connections in flight were broken, so this has to be told however soon it is mended. */
  lost(cause: string): void {
    this.broken(cause);
    if (!this.#told) this.#tell();
  }

  standing(): void {
    const since = this.#since;
    const told = this.#told;
    this.dispose();
    this.#since = undefined;
    this.#told = false;
    if (since === undefined || !told) return;
    const ms = Math.round(performance.now() - since);
    this.#emit({ type: 'route.reconnected', route: 'relay', via: this.#via(), ms });
    this.#mended();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tell(): void {
    this.dispose();
    this.#told = true;
    this.#emit({ type: 'route.lost', route: 'relay', cause: this.#cause });
  }
}
