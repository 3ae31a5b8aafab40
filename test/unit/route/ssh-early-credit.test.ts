import { Readable, Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Channel } from 'ssh2';
import { expect, it } from 'vitest';
import { giveCreditEarly } from '../../../src/route/ssh/early-credit.ts';

const WINDOW = 2 * 1024 * 1024;
const PACKET = 32 * 1024;

/** A channel as ssh2 keeps it: what arrives uses up the window, and is pushed. */
function fakeChannel() {
  const credits: number[] = [];
  const incoming = { window: WINDOW };
  const channel = Object.assign(new Readable({ highWaterMark: WINDOW, read() {} }), {
    incoming,
    outgoing: { id: 7, state: 'open' },
    _client: { _protocol: { channelWindowAdjust: (_id: number, bytes: number) => credits.push(bytes) } },
  });
  const arrive = async (packets: number): Promise<void> => {
    for (let count = 0; count < packets; count++) {
      incoming.window -= PACKET;
      channel.push(Buffer.alloc(PACKET));
    }
    await nextTurn();
  };
  giveCreditEarly(channel as unknown as Channel);
  return { channel, incoming, credits, arrive };
}

it('gives credit for what has been handed on, an eighth of the window at a time', async () => {
  const { channel, incoming, credits, arrive } = fakeChannel();
  channel.pipe(new Writable({ write: (_chunk, _encoding, done) => done() }));
  await arrive(7);
  expect(credits).toEqual([]);
  await arrive(1);
  expect(credits).toEqual([WINDOW / 8]);
  expect(incoming.window).toBe(WINDOW);
});

it('gives no credit for what waits here', async () => {
  const { channel, incoming, credits, arrive } = fakeChannel();
  channel.pipe(new Writable({ highWaterMark: 1, write() {} }));
  await arrive(60);
  expect(channel.readableLength).toBe(59 * PACKET);
  expect(credits).toEqual([]);
  expect(incoming.window).toBe(4 * PACKET);
});
