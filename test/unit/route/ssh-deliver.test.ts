import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Channel } from 'ssh2';
import { expect, it } from 'vitest';
import { deliver } from '../../../src/route/ssh/deliver.ts';

const WINDOW = 2 * 1024 * 1024;
const PACKET = 32 * 1024;

/** A channel as ssh2 keeps it: what arrives uses up the window, and is pushed. */
function deliverTo(socket: Writable) {
  const credits: number[] = [];
  const incoming = { window: WINDOW };
  const outgoing = { id: 7, state: 'open' };
  const channel = Object.assign(new Readable({ read() {} }), {
    incoming,
    outgoing,
    _client: { _protocol: { channelWindowAdjust: (_id: number, bytes: number) => credits.push(bytes) } },
  });
  deliver(channel as unknown as Channel, socket as Socket);
  const arrive = (packets: number): void => {
    for (let count = 0; count < packets; count++) {
      incoming.window -= PACKET;
      expect(channel.push(Buffer.alloc(PACKET))).toBe(false);
    }
  };
  return { channel, incoming, outgoing, credits, arrive };
}

const quick = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

it('gives credit for what has been handed on, an eighth of the window at a time', () => {
  const { incoming, credits, arrive } = deliverTo(quick());
  arrive(7);
  expect(credits).toEqual([]);
  arrive(1);
  expect(credits).toEqual([WINDOW / 8]);
  expect(incoming.window).toBe(WINDOW);
});

it('gives no credit for what waits here, and all of it when that has gone', async () => {
  const held: (() => void)[] = [];
  const slow = new Writable({ write: (_chunk, _encoding, done) => void held.push(done) });
  const { incoming, credits, arrive } = deliverTo(slow);
  arrive(60);
  expect(slow.writableLength).toBe(60 * PACKET);
  expect(credits).toEqual([]);
  expect(incoming.window).toBe(4 * PACKET);
  for (let count = 0; count < 60; count++) {
    held.shift()!();
    await nextTurn();
  }
  expect(credits).toEqual([60 * PACKET]);
});

it('gives no credit on a channel that has been closed from here', () => {
  const { outgoing, credits, arrive } = deliverTo(quick());
  outgoing.state = 'closing';
  arrive(8);
  expect(credits).toEqual([]);
});

it('ends the socket after the last piece', async () => {
  const pieces: Buffer[] = [];
  const socket = new Writable({
    write(chunk: Buffer, _encoding, done) {
      pieces.push(chunk);
      setImmediate(done);
    },
  });
  const { channel } = deliverTo(socket);
  for (const piece of ['a', 'b', 'c']) channel.push(Buffer.from(piece));
  channel.push(null);
  await finished(socket);
  expect(String(Buffer.concat(pieces))).toBe('abc');
});
