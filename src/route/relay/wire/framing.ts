/** A frame consists of one byte for its kind, three bytes for its length (big-endian), and a body that is never empty. */

/** Thrown when the other end violates the protocol. */
export class BadFrame extends Error {}

/** The smallest and largest body of a kind, in bytes; undefined for a kind that does not exist. */
export type Limits = (kind: number) => readonly [least: number, most: number] | undefined;

export const HEADER_BYTES = 4;

/** Reassembles frames from chunks of any size. Buffers at most one frame, and refuses an impossible length at once. */
export class FrameReader {
  #limits: Limits;
  #parts: Buffer[] = [];
  #have = 0;
  #need = HEADER_BYTES;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Calls `take` with each complete frame. The body is a view of the chunk where possible. Throws BadFrame. */
  read(chunk: Buffer, take: (kind: number, body: Buffer) => void): void {
    let rest = chunk;
    while (this.#have + rest.length >= this.#need) {
      const missing = rest.subarray(0, this.#need - this.#have);
      const whole = this.#have === 0 ? missing : Buffer.concat([...this.#parts, missing]);
      if (this.#need === HEADER_BYTES) {
        // The header stays in `rest`, so that a frame in one piece is not copied.
        this.#need += this.#bodyLength(whole);
        continue;
      }
      rest = rest.subarray(missing.length);
      this.#parts = [];
      this.#have = 0;
      this.#need = HEADER_BYTES;
      take(whole[0]!, whole.subarray(HEADER_BYTES));
    }
    if (rest.length === 0) return;
    this.#parts.push(rest);
    this.#have += rest.length;
  }

  /** The length is never 0, so that `#need` distinguishes between header and body. */
  #bodyLength(header: Buffer): number {
    const length = header.readUIntBE(1, 3);
    const limits = this.#limits(header[0]!);
    if (limits === undefined) throw new BadFrame(`unknown frame ${header[0]}`);
    if (length < limits[0] || length > limits[1]) {
      throw new BadFrame(`frame ${header[0]} of ${length} bytes`);
    }
    return length;
  }
}

/** The header of a frame, followed by `room` bytes for the beginning of the body. */
export function header(kind: number, bodyLength: number, room = 0): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + room);
  bytes.writeUInt32BE(kind * 2 ** 24 + bodyLength, 0);
  return bytes;
}
