import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type ChannelFrame,
  channelLimits,
  decodeChannel,
  encodeChannel,
} from '../../../src/route/relay/wire/channel-frames.ts';
import {
  decode,
  encode,
  type Frame,
  limits,
  MAX_DATA,
  NONCE_BYTES,
  SIGNATURE_BYTES,
  TOKEN_BYTES,
} from '../../../src/route/relay/wire/frames.ts';
import { BadFrame, FrameReader } from '../../../src/route/relay/wire/framing.ts';
import { Outbox, unseen } from '../../../src/route/relay/wire/outbox.ts';

const offset = fc.nat({ max: 2 ** 48 - 1 });
const bytes = (options: { minLength: number; maxLength: number }) =>
  fc.uint8Array(options).map((array) => Buffer.from(array));
const exactly = (length: number) => bytes({ minLength: length, maxLength: length });
const frame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({ type: fc.constant('challenge' as const), nonce: exactly(NONCE_BYTES) }),
  fc.record({
    type: fc.constant('hello' as const),
    token: exactly(TOKEN_BYTES),
    fresh: fc.boolean(),
    received: offset,
    nonce: exactly(NONCE_BYTES),
    signature: exactly(SIGNATURE_BYTES),
  }),
  fc.record({
    type: fc.constant('welcome' as const),
    resumed: fc.boolean(),
    received: offset,
    signature: exactly(SIGNATURE_BYTES),
  }),
  fc.record({ type: fc.constant('data' as const), offset, bytes: bytes({ minLength: 1, maxLength: 300 }) }),
  fc.record({ type: fc.constant('ack' as const), received: offset }),
  fc.record({
    type: fc.constant('bye' as const),
    reason: fc.constantFrom('ended' as const, 'replaced' as const),
  }),
);

const channel = fc.nat({ max: 2 ** 32 - 1 });
const port = fc.integer({ min: 1, max: 65_535 });
const channelFrame: fc.Arbitrary<ChannelFrame> = fc.oneof(
  fc.record({ type: fc.constant('open' as const), channel, port }),
  fc.record({
    type: fc.constant('data' as const),
    channel,
    bytes: bytes({ minLength: 1, maxLength: 300 }),
  }),
  fc.record({ type: fc.constant('credit' as const), channel, bytes: channel }),
  fc.record({ type: fc.constantFrom('end' as const, 'reset' as const), channel }),
  fc.record({
    type: fc.constant('port' as const),
    port,
    failure: fc.constantFrom(undefined, 'listen EADDRINUSE', 'ä'),
  }),
);
const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 });

it('reads the frames that were written, however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 12 }), sizes, (frames, torn) => {
      expect(readTorn(Buffer.concat(frames.map(encode)), torn)).toEqual(frames);
    }),
  );
});

it('reads the channel frames that were written, however the bytes are split', () => {
  fc.assert(
    fc.property(fc.array(channelFrame, { maxLength: 12 }), sizes, (frames, torn) => {
      const all = Buffer.concat(frames.flatMap(encodeChannel));
      const found: ChannelFrame[] = [];
      readPieces(new FrameReader(channelLimits), all, torn, (kind, body) =>
        found.push(decodeChannel(kind, body)),
      );
      expect(found).toEqual(frames);
    }),
  );
});

it('refuses an impossible length before the body arrives', () => {
  const reader = new FrameReader(limits);
  const header = Buffer.from([4, 0xff, 0xff, 0xff]);
  expect(() => reader.read(header, () => {})).toThrow(BadFrame);
  expect(() => new FrameReader(limits).read(Buffer.from('GET / HTTP/1.1\r\n'), () => {})).toThrow(BadFrame);
  const largest: Frame = { type: 'data', offset: 0, bytes: Buffer.alloc(MAX_DATA, 1) };
  expect(readTorn(encode(largest), [70_000])).toEqual([largest]);
});

it('throws nothing but BadFrame for malformed bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (malformed) => {
      for (const [known, read] of [
        [limits, decode],
        [channelLimits, decodeChannel],
      ] as const) {
        try {
          new FrameReader(known).read(Buffer.from(malformed), (kind, body) => void read(kind, body));
        } catch (error) {
          expect(error).toBeInstanceOf(BadFrame);
        }
      }
    }),
    { numRuns: 500 },
  );
});

it('the outbox holds exactly what is not acknowledged', () => {
  const step = fc.oneof(
    bytes({ minLength: 1, maxLength: 40 }).map((add) => ({ add })),
    fc.nat({ max: 60 }).map((acknowledge) => ({ acknowledge })),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const outbox = new Outbox();
      let all = Buffer.alloc(0);
      let acknowledged = 0;
      for (const one of steps) {
        if ('add' in one) {
          outbox.add(one.add);
          all = Buffer.concat([all, one.add]);
        } else {
          acknowledged = Math.min(acknowledged + one.acknowledge, all.length);
          outbox.acknowledge(acknowledged);
        }
        const held = outbox.held();
        expect(held.offset).toBe(acknowledged);
        expect(Buffer.concat(held.chunks)).toEqual(all.subarray(acknowledged));
        expect(outbox.size).toBe(all.length - acknowledged);
        expect(
          [acknowledged - 1, acknowledged, all.length, all.length + 1].map((at) => outbox.reaches(at)),
        ).toEqual([false, true, true, false]);
      }
    }),
  );
});

it('takes only the new part of repeated bytes, and detects missing ones', () => {
  const sent = Buffer.from('abcdef');
  expect(unseen(10, 10, sent)?.toString()).toBe('abcdef');
  expect(unseen(12, 10, sent)?.toString()).toBe('cdef');
  expect(unseen(16, 10, sent)?.toString()).toBe('');
  expect(unseen(99, 10, sent)?.toString()).toBe('');
  expect(unseen(9, 10, sent)).toBeUndefined();
});

function readTorn(all: Buffer, sizes: number[]): Frame[] {
  const found: Frame[] = [];
  readPieces(new FrameReader(limits), all, sizes, (kind, body) => found.push(decode(kind, body)));
  return found;
}

function readPieces(
  reader: FrameReader,
  all: Buffer,
  sizes: number[],
  take: (kind: number, body: Buffer) => void,
): void {
  for (let at = 0, turn = 0; at < all.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    reader.read(all.subarray(at, at + size), take);
    at += size;
  }
}
