/**
 * The frames inside the stream: the bytes of many connections, each with a channel number, and a report about each port.
 *
 * The program opens and numbers the channels, and never uses a number twice. Data may follow at once, without a reply.
 */
import { HEADER_BYTES, header } from './framing.ts';

export type ChannelFrame =
  /** A connection has arrived at this port of the Pod. */
  | { type: 'open'; channel: number; port: number }
  | { type: 'data'; channel: number; bytes: Buffer }
  /** This many bytes were passed on, so the same number of further bytes may be sent. */
  | { type: 'credit'; channel: number; bytes: number }
  /** Nothing more is sent in this direction. */
  | { type: 'end'; channel: number }
  /** The connection was reset: both directions are over. */
  | { type: 'reset'; channel: number }
  /** The program listens on this port, or cannot: `failure` is the cause. */
  | { type: 'port'; port: number; failure: string | undefined };

const NUMBER = 4;
const PORT = 2;
/** A single read from a socket never returns this many bytes. */
const MOST_BYTES = 1024 * 1024;
const MOST_TEXT = 1024;
const KIND = { open: 1, data: 2, credit: 3, end: 4, reset: 5, port: 6 } as const;

/** Returns pieces, so that the carried bytes are not copied. */
export function encodeChannel(frame: ChannelFrame): Buffer[] {
  switch (frame.type) {
    case 'open': {
      const bytes = numbered(KIND.open, frame.channel, PORT, PORT);
      bytes.writeUInt16BE(frame.port, HEADER_BYTES + NUMBER);
      return [bytes];
    }
    case 'data':
      return [numbered(KIND.data, frame.channel, frame.bytes.length), frame.bytes];
    case 'credit': {
      const bytes = numbered(KIND.credit, frame.channel, NUMBER, NUMBER);
      bytes.writeUInt32BE(frame.bytes, HEADER_BYTES + NUMBER);
      return [bytes];
    }
    case 'end':
      return [numbered(KIND.end, frame.channel, 0)];
    case 'reset':
      return [numbered(KIND.reset, frame.channel, 0)];
    case 'port': {
      const failure = Buffer.from(frame.failure ?? '').subarray(0, MOST_TEXT);
      const bytes = header(KIND.port, PORT + failure.length, PORT);
      bytes.writeUInt16BE(frame.port, HEADER_BYTES);
      return [bytes, failure];
    }
    default:
      throw new Error(`unknown frame: ${frame satisfies never}`);
  }
}

function numbered(kind: number, channel: number, length: number, room = 0): Buffer {
  const bytes = header(kind, NUMBER + length, NUMBER + room);
  bytes.writeUInt32BE(channel, HEADER_BYTES);
  return bytes;
}

export function channelLimits(kind: number): readonly [least: number, most: number] | undefined {
  switch (kind) {
    case KIND.open:
      return [NUMBER + PORT, NUMBER + PORT];
    case KIND.data:
      return [NUMBER + 1, NUMBER + MOST_BYTES];
    case KIND.credit:
      return [NUMBER + NUMBER, NUMBER + NUMBER];
    case KIND.end:
    case KIND.reset:
      return [NUMBER, NUMBER];
    case KIND.port:
      return [PORT, PORT + MOST_TEXT];
    default:
      return undefined;
  }
}

/** The caller has checked kind and length with `channelLimits`. */
export function decodeChannel(kind: number, body: Buffer): ChannelFrame {
  if (kind === KIND.port) {
    const failure = body.length > PORT ? body.toString('utf8', PORT) : undefined;
    return { type: 'port', port: body.readUInt16BE(0), failure };
  }
  const channel = body.readUInt32BE(0);
  switch (kind) {
    case KIND.open:
      return { type: 'open', channel, port: body.readUInt16BE(NUMBER) };
    case KIND.data:
      return { type: 'data', channel, bytes: body.subarray(NUMBER) };
    case KIND.credit:
      return { type: 'credit', channel, bytes: body.readUInt32BE(NUMBER) };
    case KIND.end:
      return { type: 'end', channel };
    default:
      return { type: 'reset', channel };
  }
}
