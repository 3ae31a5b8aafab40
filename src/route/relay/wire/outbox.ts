/** Holds the bytes that were sent but not acknowledged yet, since they may have to be sent again. */
export class Outbox {
  #chunks: Buffer[] = [];
  #from = 0;
  #to = 0;

  /** The number of bytes held. */
  get size(): number {
    return this.#to - this.#from;
  }

  /** The offset just past the last byte added. */
  get end(): number {
    return this.#to;
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#to += bytes.length;
  }

  /** Whether the stream can continue from this offset; false if it was never reached, or if bytes after it are already dropped. */
  reaches(received: number): boolean {
    return received >= this.#from && received <= this.#to;
  }

  /** Drops the bytes up to this offset, because the other end has them. An offset smaller than an earlier one has no effect. */
  acknowledge(received: number): void {
    let done = 0;
    while (done < this.#chunks.length && this.#from + this.#chunks[done]!.length <= received) {
      this.#from += this.#chunks[done]!.length;
      done += 1;
    }
    this.#chunks.splice(0, done);
    const partly = received - this.#from;
    if (partly <= 0 || this.#chunks.length === 0) return;
    this.#chunks[0] = this.#chunks[0]!.subarray(partly);
    this.#from = received;
  }

  /** All bytes held, which have to be sent again after a cut. */
  held(): { offset: number; chunks: readonly Buffer[] } {
    return { offset: this.#from, chunks: this.#chunks };
  }
}

/** The part of `bytes` after the first `received` bytes of the stream; undefined if bytes in between are missing. */
export function unseen(received: number, offset: number, bytes: Buffer): Buffer | undefined {
  if (offset > received) return undefined;
  return bytes.subarray(Math.min(received - offset, bytes.length));
}
