import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Access, AnotherProgram, connect } from '../../../src/route/relay/dial.ts';
import type { Control } from '../../../src/route/relay/pod/control.ts';
import {
  decode,
  encode,
  type Frame,
  limits,
  NONCE_BYTES,
  TOKEN_BYTES,
} from '../../../src/route/relay/wire/frames.ts';
import { FrameReader } from '../../../src/route/relay/wire/framing.ts';
import { isSigned, makeRelayKeys, signatureFor } from '../../../src/route/relay/wire/keys.ts';
import { ResumableStream } from '../../../src/route/relay/wire/resumable.ts';
import {
  accessTo,
  client,
  controlOf,
  NEVER,
  newStream,
  program,
  whole,
} from '../../support/relay/attached.ts';
import { type Faults, faultyPair } from '../../support/relay/faulty-pair.ts';
import { identities } from '../../support/relay/program.ts';

it('carries every byte once and in order, wherever it is cut', async () => {
  const cut = fc.record({
    pieces: fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 5 }),
    cutAfter: fc.integer({ min: 1, max: 60_000 }),
  });
  const writes = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(writes, writes, fc.array(cut, { maxLength: 25 }), async (up, down, cuts) => {
      const far = Promise.withResolvers<Promise<Buffer>>();
      const near = newStream();
      const done = new AbortController();
      const sent = { up: up.map((size) => randomBytes(size)), down: down.map((size) => randomBytes(size)) };
      const control = controlOf((stream) => far.resolve(exchange(stream, sent.down, sum(up))));
      const atBoth = Promise.all([far.promise, exchange(near, sent.up, sum(down))]);
      const running = keepGoing(near, control, cuts, done.signal);
      const [atFar, atNear] = await atBoth;
      expect(atFar.equals(Buffer.concat(sent.up))).toBe(true);
      expect(atNear.equals(Buffer.concat(sent.down))).toBe(true);
      done.abort();
      near.end('ended');
      control.end();
      await running;
    }),
    { numRuns: 60 },
  );
});

it('becomes full instead of holding more and more, and reports when there is room again', async () => {
  const stream = newStream();
  const chunk = Buffer.alloc(256 * 1024, 7);
  let written = 0;
  let rooms = 0;
  stream.onRoom = () => (rooms += 1);
  for (; !stream.full; written += chunk.length) stream.write(chunk);
  expect(written).toBeLessThanOrEqual(4 * 1024 * 1024);
  const far = Promise.withResolvers<Promise<Buffer>>();
  const control = controlOf((begun) => far.resolve(exchange(begun, [], written)));
  expect(rooms).toBe(0);
  await connect(stream, accessTo(control, whole), true, NEVER);
  expect((await await far.promise).length).toBe(written);
  await expect.poll(() => rooms).toBe(1);
  expect(stream.full).toBe(false);
  stream.end('ended');
  control.end();
});

it('sends what is written in one turn in one frame, and before the end', async () => {
  const stream = newStream();
  const { near, far, frames } = answering();
  await connect(stream, { dial: async () => near, identity: client }, true, NEVER);
  for (const piece of ['one', 'packet', 'in pieces']) stream.write(Buffer.from(piece));
  await expect.poll(() => frames.length).toBe(2);
  for (const piece of [', and ', 'another']) stream.write(Buffer.from(piece));
  stream.end('ended');
  await expect.poll(() => frames.map(({ type }) => type)).toEqual(['hello', 'data', 'data', 'bye']);
  const sent = frames.flatMap((frame) => (frame.type === 'data' ? [String(frame.bytes)] : []));
  expect(sent).toEqual(['onepacketin pieces', ', and another']);
  far.destroy();
});

it('drops a silent connection, but not the stream', async () => {
  const stream = new ResumableStream(randomBytes(TOKEN_BYTES), { beatMs: 20, silenceMs: 60 });
  const access: Access = { dial: async () => answering().near, identity: client };
  const { cut } = await connect(stream, access, true, NEVER);
  expect(await cut).toMatch(/silent/);
  expect(stream.over.aborted).toBe(false);
  stream.end('ended');
});

it('keeps an idle connection alive', async () => {
  const pace = { beatMs: 20, silenceMs: 200 };
  const stream = new ResumableStream(randomBytes(TOKEN_BYTES), pace);
  const control = controlOf(() => {}, pace);
  const { cut } = await connect(stream, accessTo(control, whole), true, NEVER);
  expect(await Promise.race([cut, sleep(600, 'alive')])).toBe('alive');
  stream.end('ended');
  control.end();
});

it('recognizes a program that does not know the stream', async () => {
  const first = controlOf(() => {});
  const stream = newStream();
  const { cut } = await connect(stream, accessTo(first, { pieces: [1], cutAfter: 500 }), true, NEVER);
  stream.write(Buffer.alloc(1000));
  await cut;
  const second = controlOf(() => {});
  await expect(connect(stream, accessTo(second, whole), false, NEVER)).rejects.toBeInstanceOf(AnotherProgram);
  stream.end('ended');
  first.end();
  second.end();
});

it('keeps the stream when a late hello of an abandoned connection arrives', async () => {
  const arrived = Promise.withResolvers<Promise<Buffer>>();
  const control = controlOf((far) => arrived.resolve(exchange(far, [Buffer.alloc(70_000)], 300_000)));
  const stream = newStream();
  const answered = exchange(stream, [], 70_000);
  await connect(stream, accessTo(control, whole), true, NEVER);
  stream.write(Buffer.alloc(300_000));
  await Promise.all([answered, await arrived.promise]);
  // The program's bytes are acknowledged, so it cannot send them again.
  stream.write(Buffer.from('x'));
  await sleep(50);
  const late = newStream(stream.token);
  const again = connect(late, accessTo(control, whole), true, NEVER);
  await expect(again).rejects.toThrow('closed');
  expect(stream.attached).toBe(true);
  stream.end('ended');
  control.end();
});

it('refuses a program that does not have its key', async () => {
  const stream = newStream();
  const strange = identities(makeRelayKeys()).client;
  const access: Access = {
    dial: async () => answering().near,
    identity: { ...client, other: strange.other },
  };
  await expect(connect(stream, access, true, NEVER)).rejects.toThrow('key of this session');
  expect(stream.attached).toBe(false);
  expect(stream.over.aborted).toBe(false);
});

/** A program that authenticates and then sends nothing; `frames` is what it receives. */
function answering() {
  const frames: Frame[] = [];
  const [near, far] = faultyPair(whole);
  const nonce = randomBytes(NONCE_BYTES);
  const reader = new FrameReader(limits);
  far.on('data', (chunk: Buffer) =>
    reader.read(chunk, (kind, body) => {
      const frame = decode(kind, body);
      frames.push(frame);
      if (frame.type !== 'hello') return;
      expect(isSigned(frame, nonce, program)).toBe(true);
      const unsigned = { type: 'welcome', resumed: false, received: 0 } as const;
      far.write(encode({ ...unsigned, signature: signatureFor(unsigned, frame.nonce, program) }));
    }),
  );
  far.write(encode({ type: 'challenge', nonce }));
  return { near, far, frames };
}

/** Dials again after every cut; the last connection is not cut. */
async function keepGoing(stream: ResumableStream, control: Control, cuts: Faults[], signal: AbortSignal) {
  let fresh = true;
  for (const faults of [...cuts, whole]) {
    try {
      const { cut } = await connect(stream, accessTo(control, faults), fresh, NEVER);
      fresh = false;
      await cut;
    } catch {
      // The handshake was cut.
    }
    if (signal.aborted) return;
  }
}

/** Writes everything, and reads until `expected` bytes have arrived. */
async function exchange(stream: ResumableStream, writes: Buffer[], expected: number): Promise<Buffer> {
  const found: Buffer[] = [];
  let length = 0;
  const read = new Promise<void>((resolve) => {
    if (expected === 0) resolve();
    stream.onBytes = (chunk) => {
      found.push(Buffer.from(chunk));
      length += chunk.length;
      if (length >= expected) resolve();
    };
  });
  for (const bytes of writes) stream.write(bytes);
  await read;
  return Buffer.concat(found);
}

function sum(sizes: number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}
