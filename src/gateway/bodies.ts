import type { Readable } from 'node:stream';

/** The largest body of one review, in bytes. */
export const LARGEST_BODY = 16 * 2 ** 20;
/** The limit for all bodies of one gateway together, in bytes. All answers together have a limit of the same size. */
const MOST_HELD = 64 * 2 ** 20;
/**
 * After the first chunk of a body, chunks that are shorter than this share a buffer of this size: a separate buffer for each would take a
 * kilobyte, however short the chunk is.
 */
const SHORT = 16 * 1024;
/** What Node needs for each buffer, in bytes. */
const OVERHEAD = 256;

/** A complete body. Disposing it makes room for others. */
export interface Body extends Disposable {
  bytes: Buffer;
}

/** An answer, while it arrives from the controller and until its client has read it. Disposing it makes room for others. */
export interface HeldAnswer extends Disposable {
  add(bytes: number): void;
}

/** A body or an answer that is arriving, or held. */
interface Held {
  /** The chunks of a body, and room for more. */
  parts: { room: Buffer; used: number }[];
  /** How many bytes of memory it takes. */
  cost: number;
  isComplete: boolean;
  drop(): void;
}

export interface Reading {
  /** Aborts the reading. */
  signal: AbortSignal;
  /** Called when the body, arriving or complete, is dropped to make room for others. Its bytes are no longer counted. */
  onDropped(): void;
}

/**
 * Reads bodies, and limits how many bytes of them are held. If there is no room, the oldest incomplete body is dropped: kube-apiserver
 * sends a body at once, so one that stays incomplete comes from a stranger. If all others are complete, the largest body is dropped. So a
 * client that fills the room loses its own body, and a complete body smaller than the limit divided by the number of connections is never
 * dropped.
 */
export class Bodies {
  #most: number;
  #bytes = 0;
  #held = new Set<Held>();

  constructor(most = MOST_HELD) {
    this.#most = most;
  }

  /**
   * Resolves to undefined if the body is larger than LARGEST_BODY. Rejects if the connection or the signal ends before the body is
   * complete.
   */
  read(stream: Readable, { signal, onDropped }: Reading): Promise<Body | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Body | undefined>();
    const held: Held = { parts: [], cost: 0, isComplete: false, drop: onDropped };
    let size = 0;
    const stop = (): void => reject(signal.reason);
    this.#held.add(held);
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // The excess is read and dropped. If the client were disconnected while it sends, it would get a reset instead of the answer.
      if (size > LARGEST_BODY) this.#free(held);
      else this.#store(held, chunk);
    });
    stream.on('end', () => resolve(size > LARGEST_BODY ? undefined : this.#complete(held)));
    stream.on('error', reject);
    // Without this check, each review would cost an Error with its stack.
    stream.on('close', () => {
      if (!stream.readableEnded) reject(new Error('the connection closed before the body was complete'));
    });
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    return promise
      .catch((error) => {
        this.#free(held);
        throw error;
      })
      .finally(() => signal.removeEventListener('abort', stop));
  }

  /** Counts the bytes of an answer, which the caller holds. */
  hold(onDropped: () => void): HeldAnswer {
    const held: Held = { parts: [], cost: 0, isComplete: true, drop: onDropped };
    this.#held.add(held);
    return {
      add: (bytes) => this.#count(held, bytes),
      [Symbol.dispose]: () => this.#free(held),
    };
  }

  #store(held: Held, chunk: Buffer): void {
    if (!this.#held.has(held)) return;
    const last = held.parts.at(-1);
    if (last !== undefined && last.room.length - last.used >= chunk.length) {
      chunk.copy(last.room, last.used);
      last.used += chunk.length;
      return;
    }
    // A first chunk gets no shared buffer, since most bodies have only one chunk.
    const isShort = last !== undefined && chunk.length < SHORT;
    const room = isShort ? Buffer.allocUnsafe(SHORT) : chunk;
    if (isShort) chunk.copy(room);
    held.parts.push({ room, used: chunk.length });
    this.#count(held, room.length + OVERHEAD);
  }

  #count(held: Held, cost: number): void {
    if (!this.#held.has(held)) return;
    this.#bytes += cost;
    held.cost += cost;
    while (this.#bytes > this.#most) this.#dropOne(held);
  }

  #dropOne(arriving: Held): void {
    const all = [...this.#held];
    // If several are equally large, this is the newest of them.
    const largest = all.reduce((most, one) => (one.cost >= most.cost ? one : most));
    const dropped = all.find((one) => !one.isComplete && one !== arriving) ?? largest;
    this.#free(dropped);
    dropped.drop();
  }

  #free(held: Held): void {
    this.#held.delete(held);
    this.#bytes -= held.cost;
    held.cost = 0;
    held.parts = [];
  }

  #complete(held: Held): Body {
    const { parts } = held;
    const bytes = parts.length === 1 ? parts[0]!.room : Buffer.concat(parts.map(usedOf));
    held.isComplete = true;
    held.parts = [];
    this.#count(held, bytes.length + OVERHEAD - held.cost);
    return { bytes, [Symbol.dispose]: () => this.#free(held) };
  }
}

function usedOf({ room, used }: Held['parts'][number]): Buffer {
  return room.subarray(0, used);
}
