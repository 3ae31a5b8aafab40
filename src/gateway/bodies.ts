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

/** Why there is no body: it is larger than LARGEST_BODY, or all bodies together would be larger than a gateway holds. */
export type NoBody = 'too-large' | 'no-room';

/** A body that is still arriving. */
interface Reading {
  chunks: Buffer[];
  /** What the chunks take, in bytes. */
  cost: number;
  giveWay(): void;
}

/**
 * Reads bodies, and holds a limited number of bytes of them. If there is no room, the oldest incomplete body gives way: kube-apiserver
 * sends a body at once, so that one is somebody else's. Complete ones are reviews in progress, and stay.
 */
export class Bodies {
  #most: number;
  #held = 0;
  #incomplete = new Set<Reading>();

  constructor(most = MOST_HELD) {
    this.#most = most;
  }

  /** Rejects if the connection or the signal ends before the body is complete. */
  read(stream: Readable, signal: AbortSignal): Promise<Body | NoBody> {
    const { promise, resolve, reject } = Promise.withResolvers<Body | NoBody>();
    const reading: Reading = { chunks: [], cost: 0, giveWay: () => resolve('no-room') };
    let size = 0;
    const stop = (): void => reject(signal.reason);
    this.#incomplete.add(reading);
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // The excess is read and dropped: a client that is disconnected while it sends sees a reset instead of the answer.
      if (size > LARGEST_BODY) this.#free(reading);
      else this.#store(reading, chunk);
    });
    stream.on('end', () => resolve(size > LARGEST_BODY ? 'too-large' : this.#complete(reading)));
    stream.on('error', reject);
    // No effect after 'end', which has already resolved the promise.
    stream.on('close', () => reject(new Error('the connection closed before the body was complete')));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    return promise.finally(() => {
      signal.removeEventListener('abort', stop);
      if (this.#incomplete.delete(reading)) this.#free(reading);
    });
  }

  #store(reading: Reading, chunk: Buffer): void {
    const cost = chunk.length + CHUNK_OVERHEAD;
    for (const oldest of this.#incomplete) {
      if (this.#held + cost <= this.#most) break;
      this.#drop(oldest);
    }
    if (!this.#incomplete.has(reading)) return;
    if (this.#held + cost > this.#most) {
      this.#drop(reading);
      return;
    }
    this.#held += cost;
    reading.cost += cost;
    reading.chunks.push(chunk);
  }

  #drop(reading: Reading): void {
    this.#incomplete.delete(reading);
    this.#free(reading);
    reading.giveWay();
  }

  #free(reading: Reading): void {
    this.#held -= reading.cost;
    reading.cost = 0;
    reading.chunks = [];
  }

  #complete(reading: Reading): Body | NoBody {
    // It may have given way before its last chunk arrived.
    if (!this.#incomplete.delete(reading)) return 'no-room';
    const { chunks } = reading;
    reading.chunks = [];
    const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    return { bytes, [Symbol.dispose]: () => this.#free(reading) };
  }
}
