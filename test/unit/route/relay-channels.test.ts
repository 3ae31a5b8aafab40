import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Channel, WINDOW } from '../../../src/route/relay/wire/channel.ts';
import { encodeChannel } from '../../../src/route/relay/wire/channel-frames.ts';
import { Channels } from '../../../src/route/relay/wire/channels.ts';
import { attached } from '../../support/relay/attached.ts';

/** What one end of a channel sent and received. */
class End {
  sent: Buffer[] = [];
  received: Buffer[] = [];
  ends = 0;
  resets = 0;
  readonly channel: Channel;

  constructor(channel: Channel) {
    this.channel = channel;
    channel.onBytes = (bytes) => {
      this.received.push(Buffer.from(bytes));
      channel.consumed(0);
    };
    channel.onEnd = () => (this.ends += 1);
    channel.onReset = () => (this.resets += 1);
  }

  send(size: number): void {
    const bytes = randomBytes(size);
    this.sent.push(bytes);
    this.channel.write(bytes);
  }

  get all(): Buffer {
    return Buffer.concat(this.received);
  }
}

const ENDS = ['in order', 'reset here', 'reset there'] as const;
type Ending = (typeof ENDS)[number];

/** Both ends of one channel, and what happens to it. */
interface Conversation {
  up: number[];
  down: number[];
  ending: Ending;
  here: End;
  there: End;
}

function converse({ up, down, ending, here, there }: Conversation): void {
  for (const size of up) there.send(size);
  for (const size of down) here.send(size);
  if (ending === 'reset here') here.channel.reset();
  else if (ending === 'reset there') there.channel.reset();
  else for (const one of [here, there]) one.channel.end();
}

/** What each end has seen in the end: `[ends, resets]`. The end that resets sees nothing. */
const SEEN: Record<Ending, { here: number[]; there: number[] }> = {
  'in order': { here: [1, 0], there: [1, 0] },
  'reset here': { here: [0, 0], there: [0, 1] },
  'reset there': { here: [0, 1], there: [0, 0] },
};

function seen({ here, there }: Conversation): { here: number[]; there: number[] } {
  return { here: [here.ends, here.resets], there: [there.ends, there.resets] };
}

function isWhole({ here, there }: Conversation): boolean {
  return here.all.equals(Buffer.concat(there.sent)) && there.all.equals(Buffer.concat(here.sent));
}

async function opened(count: number) {
  const { near, far } = await attached();
  const here: End[] = [];
  const ports: number[] = [];
  new Channels(near, {
    onOpen(channel, port) {
      here.push(new End(channel));
      ports.push(port);
    },
  });
  const program = new Channels(far);
  const there = Array.from({ length: count }, (_, index) => new End(program.open(9443 + index)));
  await expect.poll(() => here.length).toBe(count);
  return { near, far, here, there, ports, program };
}

it('carries the bytes of many channels, and how each of them ended', async () => {
  const words = fc.array(fc.integer({ min: 1, max: 3000 }), { maxLength: 6 });
  const script = fc.record({ up: words, down: words, ending: fc.constantFrom(...ENDS) });
  await fc.assert(
    fc.asyncProperty(fc.array(script, { minLength: 1, maxLength: 8 }), async (scripts) => {
      const { near, here, there, ports } = await opened(scripts.length);
      expect(ports).toEqual(scripts.map((_, index) => 9443 + index));
      const all = scripts.map((one, index) => ({ ...one, here: here[index]!, there: there[index]! }));
      for (const one of all) converse(one);
      await expect.poll(() => all.map(seen)).toEqual(all.map(({ ending }) => SEEN[ending]));
      for (const one of all) expect(one.ending !== 'in order' || isWhole(one)).toBe(true);
      near.end('ended');
      expect(all.map(seen)).toEqual(all.map(({ ending }) => SEEN[ending]));
    }),
    { numRuns: 40 },
  );
});

it('sends and receives nothing more on a channel that was reset', async () => {
  const { near, here, there } = await opened(1);
  here[0]!.channel.reset();
  there[0]!.send(10);
  await expect.poll(() => there[0]!.resets).toBe(1);
  for (const one of [here[0]!.channel, there[0]!.channel]) {
    expect(one.write(Buffer.from('late'))).toBe(true);
    one.end();
    one.reset();
    one.consumed(0);
  }
  await new Promise(setImmediate);
  expect(here[0]).toMatchObject({ received: [], ends: 0, resets: 0 });
  expect(there[0]).toMatchObject({ received: [], ends: 0, resets: 1 });
  near.end('ended');
});

it('lets one end send a window of bytes, and more once they are consumed; other channels do not wait', async () => {
  const { near, here, there } = await opened(2);
  const [slow, quick] = there as [End, End];
  const reader = here[0]!.channel;
  let arrived = 0;
  reader.onBytes = (bytes) => {
    arrived += bytes.length;
    reader.consumed(arrived);
  };
  let rooms = 0;
  slow.channel.onRoom = () => (rooms += 1);
  const chunk = Buffer.alloc(WINDOW / 8);
  let room = true;
  let sent = 0;
  for (; room; sent += chunk.length) room = slow.channel.write(chunk);
  expect(sent).toBe(WINDOW);
  await expect.poll(() => arrived).toBe(WINDOW);
  quick.send(100);
  await expect.poll(() => here[1]!.all.length).toBe(100);
  expect(rooms).toBe(0);
  reader.consumed(0);
  await expect.poll(() => rooms).toBe(1);
  expect(slow.channel.write(Buffer.from('more'))).toBe(true);
  near.end('ended');
});

it('makes all channels wait while the stream is full', async () => {
  const { near, far } = await attached({ pieces: [1_000_000], cutAfter: 1_000_000 });
  const there = new Channels(far);
  const many = Array.from({ length: 20 }, () => there.open(9443));
  const rooms = new Set<number>();
  for (const [index, channel] of many.entries()) channel.onRoom = () => rooms.add(index);
  let written = 0;
  while (!far.full) {
    many[written % many.length]!.write(Buffer.alloc(64 * 1024));
    written += 1;
  }
  // A part of each channel's window is left.
  expect(written).toBeLessThan((many.length * WINDOW) / (64 * 1024));
  expect(many.map((channel) => channel.write(Buffer.from('x')))).toEqual(many.map(() => false));
  near.end('ended');
  far.end('ended');
});

it('resets the open channels when the stream ends, at both ends, once', async () => {
  const { near, here, there } = await opened(3);
  for (const side of [here, there]) side[0]!.channel.end();
  await expect.poll(() => here[0]!.ends + there[0]!.ends).toBe(2);
  near.end('ended');
  await expect.poll(() => there.map(({ resets }) => resets)).toEqual([0, 1, 1]);
  expect(here.map(({ resets }) => resets)).toEqual([0, 1, 1]);
});

it('ends a stream with a malformed frame, which would be repeated after every cut', async () => {
  const { near, far } = await opened(1);
  far.write(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  await expect.poll(() => near.over.aborted).toBe(true);
  await expect.poll(() => far.peerReason).toBe('ended');
});

it('ignores frames of unknown channels', async () => {
  const { near, far, here, there } = await opened(1);
  for (const type of ['end', 'reset'] as const) {
    for (const piece of encodeChannel({ type, channel: 77 })) far.write(piece);
  }
  for (const piece of encodeChannel({ type: 'data', channel: 78, bytes: Buffer.from('?') })) far.write(piece);
  there[0]!.send(5);
  await expect.poll(() => here[0]!.all.length).toBe(5);
  expect(near.over.aborted).toBe(false);
  near.end('ended');
});
