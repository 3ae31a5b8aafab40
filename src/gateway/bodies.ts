import type { Readable } from 'node:stream';

/** Largest body of one review, in bytes. */
export const LARGEST_BODY = 16 * 2 ** 20;
/** All bodies of one gateway together, in bytes. */
const MOST_HELD = 64 * 2 ** 20;
/** What Node needs for a chunk of a body, however short it is. */
const CHUNK_OVERHEAD = 256;

/** A complete body. Disposing it makes room for others. */
export interface Body extends Disposable {
  bytes: Buffer;
}

/** A body that is arriving, or held. */
interface Held {
  chunks: Buffer[];
  /** What the chunks take, in bytes. */
  cost: number;
  isComplete: boolean;
  drop(): void;
}

export interface Reading {
  /** Ends the reading. */
  signal: AbortSignal;
  /** Called when the body has to make room for others, arriving or complete. Its bytes are no longer counted. */
  onDropped(): void;
}

/**
 * Reads bodies, and holds a limited number of bytes of them. If there is no room, the oldest incomplete body is dropped: kube-apiserver
 * sends a body at once, so that one is somebody else's. If there is none, the largest one: whoever fills the room loses what they have
 * filled it with, and a complete body smaller than the limit divided by the number of connections is never dropped.
 */
export class Bodies {
  #most: number;
  #bytes = 0;
  #held = new Set<Held>();

  constructor(most = MOST_HELD) {
    this.#most = most;
  }

  /** Undefined for a body that is larger than LARGEST_BODY. Rejects if the connection or the signal ends before the body is complete. */
  read(stream: Readable, { signal, onDropped }: Reading): Promise<Body | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Body | undefined>();
    const held: Held = { chunks: [], cost: 0, isComplete: false, drop: onDropped };
    let size = 0;
    const stop = (): void => reject(signal.reason);
    this.#held.add(held);
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // The excess is read and dropped: a client that is disconnected while it sends sees a reset instead of the answer.
      if (size > LARGEST_BODY) this.#free(held);
      else this.#store(held, chunk);
    });
    stream.on('end', () => resolve(size > LARGEST_BODY ? undefined : this.#complete(held)));
    stream.on('error', reject);
    // Without the question, each review would cost an error with its stack.
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

  #store(held: Held, chunk: Buffer): void {
    if (!this.#held.has(held)) return;
    const cost = chunk.length + CHUNK_OVERHEAD;
    this.#bytes += cost;
    held.cost += cost;
    held.chunks.push(chunk);
    while (this.#bytes > this.#most) this.#dropOne(held);
  }

  #dropOne(arriving: Held): void {
    const all = [...this.#held];
    // Of several that are equally large, the newest one.
    const largest = all.reduce((most, one) => (one.cost >= most.cost ? one : most));
    const dropped = all.find((one) => !one.isComplete && one !== arriving) ?? largest;
    this.#free(dropped);
    dropped.drop();
  }

  #free(held: Held): void {
    this.#held.delete(held);
    this.#bytes -= held.cost;
    held.cost = 0;
    held.chunks = [];
  }

  #complete(held: Held): Body {
    const { chunks } = held;
    held.isComplete = true;
    held.chunks = [];
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    return { bytes, [Symbol.dispose]: () => this.#free(held) };
  }
}
