/**
 * What goes over one connection between this machine and the relay program. Pure.
 *
 * A frame is one byte of kind, three bytes of length (big-endian), and its body. Offsets count the bytes of the carried
 * stream from its beginning and have six bytes: enough for 281 TB.
 */

/** Bytes of the carried stream in one frame, at most. */
export const MAX_DATA = 64 * 1024;
export const TOKEN_BYTES = 32;

export type Frame =
  /** First word of this machine. `fresh`: the stream has never been attached, so an unknown token begins one. */
  | { type: 'hello'; token: Buffer; fresh: boolean; received: number }
  /** The program's answer; not `resumed`: it has not known the token. */
  | { type: 'welcome'; resumed: boolean; received: number }
  | { type: 'data'; offset: number; bytes: Buffer }
  /** So much has arrived. Sent also when nothing has: it is the sign of life. */
  | { type: 'ack'; received: number }
  /** The stream is over for good. */
  | { type: 'bye'; reason: ByeReason };

export type ByeReason = 'ended' | 'replaced';

/** The other end does not speak this protocol: drop the connection. */
export class BadFrame extends Error {}

const MAGIC = Buffer.from('DLR1');
const HEADER = 4;
const OFFSET = 6;
const KIND = { hello: 1, welcome: 2, data: 3, ack: 4, bye: 5 } as const;
const REASONS: ByeReason[] = ['ended', 'replaced'];

export function encode(frame: Frame): Buffer {
  switch (frame.type) {
    case 'hello':
      return pack(KIND.hello, [MAGIC, flag(frame.fresh), offset(frame.received), frame.token]);
    case 'welcome':
      return pack(KIND.welcome, [flag(frame.resumed), offset(frame.received)]);
    case 'data':
      return pack(KIND.data, [offset(frame.offset), frame.bytes]);
    case 'ack':
      return pack(KIND.ack, [offset(frame.received)]);
    case 'bye':
      return pack(KIND.bye, [Buffer.of(REASONS.indexOf(frame.reason))]);
    default:
      throw new Error(`no such frame: ${frame satisfies never}`);
  }
}

/** Makes frames of chunks, however they were cut. Holds at most one frame; a length that cannot be is refused at once. */
export class FrameReader {
  #parts: Buffer[] = [];
  #have = 0;
  #need = HEADER;

  /** Calls `take` with each frame that is complete. Throws BadFrame. */
  read(chunk: Buffer, take: (frame: Frame) => void): void {
    let rest = chunk;
    while (this.#have + rest.length >= this.#need) {
      const missing = rest.subarray(0, this.#need - this.#have);
      if (this.#need === HEADER) {
        // Only looked at: a frame that came in one piece is not copied.
        this.#need += bodyLength(this.#have === 0 ? missing : Buffer.concat([...this.#parts, missing]));
        continue;
      }
      const whole = this.#have === 0 ? missing : Buffer.concat([...this.#parts, missing]);
      rest = rest.subarray(missing.length);
      this.#parts = [];
      this.#have = 0;
      this.#need = HEADER;
      take(decode(whole[0]!, whole.subarray(HEADER)));
    }
    if (rest.length === 0) return;
    this.#parts.push(rest);
    this.#have += rest.length;
  }
}

/** The length of the body behind a header; never 0, so that what is needed tells the two apart. */
function bodyLength(header: Buffer): number {
  const length = header.readUIntBE(1, 3);
  const [least, most] = limits(header[0]!);
  if (length < least || length > most) throw new BadFrame(`frame ${header[0]} of ${length} bytes`);
  return length;
}

function limits(kind: number): [least: number, most: number] {
  const exactly = (length: number): [number, number] => [length, length];
  switch (kind) {
    case KIND.hello:
      return exactly(MAGIC.length + 1 + OFFSET + TOKEN_BYTES);
    case KIND.welcome:
      return exactly(1 + OFFSET);
    case KIND.data:
      return [OFFSET + 1, OFFSET + MAX_DATA];
    case KIND.ack:
      return exactly(OFFSET);
    case KIND.bye:
      return exactly(1);
    default:
      throw new BadFrame(`unknown frame ${kind}`);
  }
}

function decode(kind: number, body: Buffer): Frame {
  switch (kind) {
    case KIND.hello: {
      if (!body.subarray(0, MAGIC.length).equals(MAGIC)) throw new BadFrame('another version');
      const received = body.readUIntBE(MAGIC.length + 1, OFFSET);
      const token = body.subarray(MAGIC.length + 1 + OFFSET);
      return { type: 'hello', token, fresh: body[MAGIC.length] === 1, received };
    }
    case KIND.welcome:
      return { type: 'welcome', resumed: body[0] === 1, received: body.readUIntBE(1, OFFSET) };
    case KIND.data:
      return { type: 'data', offset: body.readUIntBE(0, OFFSET), bytes: body.subarray(OFFSET) };
    case KIND.ack:
      return { type: 'ack', received: body.readUIntBE(0, OFFSET) };
    default:
      return { type: 'bye', reason: REASONS[body[0]!] ?? 'ended' };
  }
}

function pack(kind: number, body: Buffer[]): Buffer {
  const length = body.reduce((sum, part) => sum + part.length, 0);
  const header = Buffer.allocUnsafe(HEADER);
  header.writeUInt8(kind, 0);
  header.writeUIntBE(length, 1, 3);
  return Buffer.concat([header, ...body], HEADER + length);
}

function flag(value: boolean): Buffer {
  return Buffer.of(value ? 1 : 0);
}

function offset(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(OFFSET);
  bytes.writeUIntBE(value, 0, OFFSET);
  return bytes;
}
