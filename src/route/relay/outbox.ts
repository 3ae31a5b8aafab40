/** What was sent and may have to be sent again, because the other end has not yet said that it has it. Pure. */
export class Outbox {
  #chunks: Buffer[] = [];
  #from = 0;
  #to = 0;

  /** Bytes that are held. */
  get size(): number {
    return this.#to - this.#from;
  }

  /** Offset behind the last byte that was added. */
  get end(): number {
    return this.#to;
  }

  add(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#to += bytes.length;
  }

  /** Can the stream go on where the other end stands? Not where it claims what was never sent, or lacks what is gone. */
  reaches(received: number): boolean {
    return received >= this.#from && received <= this.#to;
  }

  /** The other end has everything up to here. An old word (less than it said before) changes nothing. */
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

  /** All that is held: what has to be sent again once the other end's position is acknowledged. */
  held(): { offset: number; chunks: readonly Buffer[] } {
    return { offset: this.#from, chunks: this.#chunks };
  }
}

/** The part of some bytes that is new to one who has `received` so many; undefined where bytes in between are missing. */
export function unseen(received: number, offset: number, bytes: Buffer): Buffer | undefined {
  if (offset > received) return undefined;
  return bytes.subarray(Math.min(received - offset, bytes.length));
}
