import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Channel } from 'ssh2';
import { expect, it } from 'vitest';
import { carry } from '../../../src/route/ssh/carry.ts';
import { listenHere, type Target } from '../../support/sshd/open-route.ts';

/** A channel whose host takes nothing until it is told to. */
class SlowChannel extends Duplex {
  readonly incoming = { window: 2 * 1024 * 1024 };
  readonly outgoing = { id: 0, state: 'open' };
  readonly _client = {};
  readonly taken: Buffer[] = [];
  #done: (() => void) | undefined;
  #open = false;

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.taken.push(bytes);
    if (this.#open) done();
    else this.#done = done;
  }

  takeAll(): void {
    this.#open = true;
    this.#done?.();
  }

  close(): void {}
}

function carried(target: Target, open = new Set<Socket>()): SlowChannel {
  const channel = new SlowChannel({ highWaterMark: 100_000 });
  carry(channel as unknown as Channel, target.port, open);
  return channel;
}

const patient = { timeout: 10_000 };
const ended = (channel: SlowChannel) => expect.poll(() => channel.writableEnded, patient).toBe(true);

it('keeps what one connection has said while others speak', async () => {
  const said = [randomBytes(10_000), randomBytes(10_000), randomBytes(10_000)];
  let count = 0;
  await using target = await listenHere((socket) => socket.end(said[count++]!));
  const channels = said.map(() => carried(target));
  for (const channel of channels) await ended(channel);
  for (const channel of channels) channel.takeAll();
  const heard = channels.map(({ taken }) => Buffer.concat(taken).toString('hex'));
  expect(heard.sort()).toEqual(said.map((bytes) => bytes.toString('hex')).sort());
});

it('reads no more while the channel is full, and the rest when it has drained', async () => {
  const said = randomBytes(20_000_000);
  await using target = await listenHere((socket) => socket.end(said));
  const channel = carried(target);
  await expect.poll(() => channel.writableNeedDrain, patient).toBe(true);
  // A second connection is served meanwhile, so there was time to read on.
  const second = carried(target);
  await expect.poll(() => second.writableNeedDrain, patient).toBe(true);
  expect(channel.writableLength).toBeLessThan(200_000);
  channel.takeAll();
  await ended(channel);
  expect(Buffer.concat(channel.taken).equals(said)).toBe(true);
});

it('drops what is said to a channel that takes no more, and still gives the gateway the rest', async () => {
  const heard = Promise.withResolvers<Buffer>();
  await using target = await listenHere((socket) => {
    socket.write('too late');
    heard.resolve(buffer(socket));
  });
  const open = new Set<Socket>();
  const channel = carried(target, open);
  channel.takeAll();
  channel.end();
  await expect.poll(() => [...open][0]!.bytesRead, patient).toBe(8);
  channel.push(Buffer.from('the rest'));
  channel.push(null);
  expect(String(await heard.promise)).toBe('the rest');
  expect(channel.taken).toEqual([]);
});
