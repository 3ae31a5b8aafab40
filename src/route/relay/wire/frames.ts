/**
 * The frames on one connection between this machine and the relay program.
 *
 * An offset counts the bytes of the stream from its beginning. It has six bytes, which is enough for 281 TB.
 */
import { BadFrame, header } from './framing.ts';

/** The largest number of stream bytes in one frame. */
export const MAX_DATA = 64 * 1024;
export const TOKEN_BYTES = 32;
export const NONCE_BYTES = 32;
/** The length of an Ed25519 signature. */
export const SIGNATURE_BYTES = 64;

export type Frame =
  /** The first frame, from the program. The client has to sign the nonce. */
  | { type: 'challenge'; nonce: Buffer }
  | Hello
  | Welcome
  | { type: 'data'; offset: number; bytes: Buffer }
  /** This many bytes have arrived. This frame is also sent at intervals as a sign of life. */
  | { type: 'ack'; received: number }
  /** The stream has ended and cannot be resumed. */
  | { type: 'bye'; reason: ByeReason };

/** The client's answer. `fresh`: the stream has never been attached, so an unknown token starts a new one. */
export interface Hello {
  type: 'hello';
  token: Buffer;
  fresh: boolean;
  received: number;
  /** The program has to sign this. */
  nonce: Buffer;
  signature: Buffer;
}

/** The program's answer to the hello. If it is not `resumed`, the program did not know the token. */
export interface Welcome {
  type: 'welcome';
  resumed: boolean;
  received: number;
  signature: Buffer;
}

export type ByeReason = 'ended' | 'replaced';

const MAGIC = Buffer.from('DLR2');
const OFFSET = 6;
const KIND = { challenge: 1, hello: 2, welcome: 3, data: 4, ack: 5, bye: 6 } as const;
const REASONS: ByeReason[] = ['ended', 'replaced'];

export function encode(frame: Frame): Buffer {
  switch (frame.type) {
    case 'challenge':
      return pack(KIND.challenge, [MAGIC, frame.nonce]);
    case 'hello':
      return pack(KIND.hello, [statement(frame), frame.signature]);
    case 'welcome':
      return pack(KIND.welcome, [statement(frame), frame.signature]);
    case 'data':
      return pack(KIND.data, [offset(frame.offset), frame.bytes]);
    case 'ack':
      return pack(KIND.ack, [offset(frame.received)]);
    case 'bye':
      return pack(KIND.bye, [Buffer.of(REASONS.indexOf(frame.reason))]);
    default:
      throw new Error(`unknown frame: ${frame satisfies never}`);
  }
}

/** The content of the frame that its signature covers. */
export function statement(frame: Omit<Hello, 'signature'> | Omit<Welcome, 'signature'>): Buffer {
  return frame.type === 'hello'
    ? Buffer.concat([flag(frame.fresh), offset(frame.received), frame.token, frame.nonce])
    : Buffer.concat([flag(frame.resumed), offset(frame.received)]);
}

export function limits(kind: number): readonly [least: number, most: number] | undefined {
  switch (kind) {
    case KIND.challenge:
      return exactly(MAGIC.length + NONCE_BYTES);
    case KIND.hello:
      return exactly(1 + OFFSET + TOKEN_BYTES + NONCE_BYTES + SIGNATURE_BYTES);
    case KIND.welcome:
      return exactly(1 + OFFSET + SIGNATURE_BYTES);
    case KIND.data:
      return [OFFSET + 1, OFFSET + MAX_DATA];
    case KIND.ack:
      return exactly(OFFSET);
    case KIND.bye:
      return exactly(1);
    default:
      return undefined;
  }
}

function exactly(length: number): readonly [number, number] {
  return [length, length];
}

/** The caller has checked kind and length with `limits`. Throws BadFrame if the other end uses another version of the protocol. */
export function decode(kind: number, body: Buffer): Frame {
  switch (kind) {
    case KIND.challenge: {
      if (!body.subarray(0, MAGIC.length).equals(MAGIC))
        throw new BadFrame('another version of the protocol');
      return { type: 'challenge', nonce: body.subarray(MAGIC.length) };
    }
    case KIND.hello: {
      const token = body.subarray(1 + OFFSET, 1 + OFFSET + TOKEN_BYTES);
      const nonce = body.subarray(1 + OFFSET + TOKEN_BYTES, -SIGNATURE_BYTES);
      const signature = body.subarray(-SIGNATURE_BYTES);
      const received = body.readUIntBE(1, OFFSET);
      return { type: 'hello', fresh: body[0] === 1, received, token, nonce, signature };
    }
    case KIND.welcome: {
      const signature = body.subarray(-SIGNATURE_BYTES);
      return { type: 'welcome', resumed: body[0] === 1, received: body.readUIntBE(1, OFFSET), signature };
    }
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
  return Buffer.concat([header(kind, length), ...body]);
}

function flag(value: boolean): Buffer {
  return Buffer.of(value ? 1 : 0);
}

function offset(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(OFFSET);
  bytes.writeUIntBE(value, 0, OFFSET);
  return bytes;
}
