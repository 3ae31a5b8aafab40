import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Control } from '../../../src/route/relay/control.ts';
import { AnotherProgram, connect } from '../../../src/route/relay/dial.ts';
import { encode, type Frame, FrameReader, TOKEN_BYTES } from '../../../src/route/relay/frames.ts';
import { PACE, ResumableStream } from '../../../src/route/relay/resumable.ts';
import { type Faults, faultyPair } from '../../support/relay/faulty-pair.ts';

const NEVER = new AbortController().signal;
const whole: Faults = { pieces: [1_000_000], cutAfter: Number.POSITIVE_INFINITY };

it('carries every byte once and in order, whatever is cut wherever', async () => {
  const cut = fc.record({
    pieces: fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 5 }),
    cutAfter: fc.integer({ min: 1, max: 60_000 }),
  });
  const writes = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(writes, writes, fc.array(cut, { maxLength: 25 }), async (up, down, cuts) => {
      const far = Promise.withResolvers<ResumableStream>();
      const control = controlOf((stream) => far.resolve(stream));
      const near = newStream();
      const done = new AbortController();
      const running = keepGoing(near, control, cuts, done.signal);
      const sent = { up: up.map((size) => randomBytes(size)), down: down.map((size) => randomBytes(size)) };
      const [atFar, atNear] = await Promise.all([
        far.promise.then((stream) => exchange(stream, sent.down, sum(up))),
        exchange(near, sent.up, sum(down)),
      ]);
      expect(atFar.equals(Buffer.concat(sent.up))).toBe(true);
      expect(atNear.equals(Buffer.concat(sent.down))).toBe(true);
      done.abort();
      near.leave('ended');
      control.end();
      await running;
    }),
    { numRuns: 60 },
  );
});

it('lets who writes wait rather than hold more and more, and goes on when connected', async () => {
  const stream = newStream();
  const chunk = Buffer.alloc(256 * 1024, 7);
  let taken = 0;
  for (let count = 0; count < 40; count++) stream.write(chunk, () => (taken += chunk.length));
  await new Promise(setImmediate);
  expect(taken).toBeLessThanOrEqual(4 * 1024 * 1024);
  const far = Promise.withResolvers<ResumableStream>();
  const control = controlOf((begun) => far.resolve(begun));
  await connect(stream, dialTo(control, whole), true, NEVER);
  const received = await exchange(await far.promise, [], 40 * chunk.length);
  expect(received.length).toBe(40 * chunk.length);
  stream.leave('ended');
  control.end();
});

it('sends what is written in one turn in one frame, and before its last word', async () => {
  const stream = newStream();
  const frames: Frame[] = [];
  const [near, far] = faultyPair(whole);
  const reader = new FrameReader();
  far.on('data', (chunk: Buffer) =>
    reader.read(chunk, (frame) => {
      frames.push(frame);
      if (frame.type === 'hello') far.write(encode({ type: 'welcome', resumed: false, received: 0 }));
    }),
  );
  await connect(stream, async () => near, true, NEVER);
  for (const piece of ['one', 'packet', 'in pieces']) stream.write(piece);
  await expect.poll(() => frames.length).toBe(2);
  for (const piece of [', and ', 'another']) stream.write(piece);
  stream.leave('ended');
  await expect.poll(() => frames.map(({ type }) => type)).toEqual(['hello', 'data', 'data', 'bye']);
  const told = frames.flatMap((frame) => (frame.type === 'data' ? [String(frame.bytes)] : []));
  expect(told).toEqual(['onepacketin pieces', ', and another']);
  far.destroy();
});

it('drops a connection over which nothing is heard, and not the stream', async () => {
  const stream = new ResumableStream(randomBytes(TOKEN_BYTES), { beat: 20, silence: 60 });
  const answers = async (): Promise<Duplex> => {
    const [near, far] = faultyPair(whole);
    far.once('data', () => far.write(encode({ type: 'welcome', resumed: false, received: 0 })));
    return near;
  };
  const { cut } = await connect(stream, answers, true, NEVER);
  expect(await cut).toMatch(/nothing was heard/);
  expect(stream.destroyed).toBe(false);
  stream.leave('ended');
});

it('gives and hears signs of life while nothing is sent', async () => {
  const pace = { beat: 20, silence: 200 };
  const stream = new ResumableStream(randomBytes(TOKEN_BYTES), pace);
  const control = controlOf(() => {}, pace);
  const { cut } = await connect(stream, dialTo(control, whole), true, NEVER);
  expect(await Promise.race([cut, sleep(600, 'alive')])).toBe('alive');
  stream.leave('ended');
  control.end();
});

it('knows a program that has never heard of the stream', async () => {
  const first = controlOf(() => {});
  const stream = newStream();
  const { cut } = await connect(stream, dialTo(first, { pieces: [1], cutAfter: 100 }), true, NEVER);
  stream.write(Buffer.alloc(1000));
  await cut;
  const second = controlOf(() => {});
  await expect(connect(stream, dialTo(second, whole), false, NEVER)).rejects.toBeInstanceOf(AnotherProgram);
  stream.destroy();
  first.end();
  second.end();
});

it('keeps the stream when a late hello of a connection that was given up arrives', async () => {
  const control = controlOf((far) => far.resume());
  const stream = newStream();
  await connect(stream, dialTo(control, whole), true, NEVER);
  stream.write(Buffer.alloc(300_000));
  await expect.poll(() => stream.writableLength).toBe(0);
  const [near, far] = faultyPair(whole);
  control.accept(far);
  near.resume().write(encode({ type: 'hello', token: stream.token, fresh: true, received: 7 }));
  await expect.poll(() => near.destroyed).toBe(true);
  expect(stream.attached).toBe(true);
  stream.leave('ended');
  control.end();
});

function newStream(): ResumableStream {
  return new ResumableStream(randomBytes(TOKEN_BYTES));
}

/** The program's end, where every client is the right one. */
function controlOf(begun: (stream: ResumableStream) => void, pace = PACE): Control {
  const begin = (stream: ResumableStream, proven: () => void): void => {
    proven();
    begun(stream);
  };
  return new Control({ pace, begin, onReplaced() {}, onPresence() {} });
}

function dialTo(control: Control, faults: Faults): () => Promise<Duplex> {
  return async () => {
    const [near, far] = faultyPair(faults);
    control.accept(far);
    return near;
  };
}

/** Dials again after every cut; when no more are planned the connection is a whole one. */
async function keepGoing(stream: ResumableStream, control: Control, cuts: Faults[], signal: AbortSignal) {
  let fresh = true;
  for (const faults of [...cuts, whole]) {
    try {
      const { cut } = await connect(stream, dialTo(control, faults), fresh, NEVER);
      fresh = false;
      await cut;
    } catch {
      // Cut in the middle of the handshake.
    }
    if (signal.aborted) return;
  }
}

/** Writes all, and reads until so many bytes have come. */
async function exchange(stream: Duplex, writes: Buffer[], expected: number): Promise<Buffer> {
  const found: Buffer[] = [];
  let length = 0;
  const read = new Promise<void>((resolve) => {
    if (expected === 0) resolve();
    stream.on('data', (chunk: Buffer) => {
      found.push(chunk);
      length += chunk.length;
      if (length >= expected) resolve();
    });
  });
  for (const bytes of writes) stream.write(bytes);
  await read;
  return Buffer.concat(found);
}

function sum(sizes: number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}
