import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { openStream } from '../../../src/route/ssh/stream.ts';
import { listenHere } from '../../support/sshd/open-route.ts';

const local = {
  home: '/home/me',
  accountHome: '/home/me',
  user: 'me',
  uid: 1000,
  hostname: 'laptop',
  env: {},
};
const { signal } = new AbortController();

async function openTo(port: number): Promise<Socket> {
  const host = readSettings('', { host: '127.0.0.1', port }, local);
  return (await openStream(host, 5_000, signal)) as Socket;
}

it('sends what is written in one turn in one piece, in order, also before the end', async () => {
  const arrived = Promise.withResolvers<Buffer>();
  await using target = await listenHere((socket) => arrived.resolve(buffer(socket)));
  const stream = await openTo(target.port);
  const large = randomBytes(100_000);
  stream.write('a');
  stream.write(Buffer.from('b'));
  expect(stream.bytesWritten).toBe(0);
  await nextTurn();
  expect(stream.bytesWritten).toBe(2);
  stream.write(large);
  stream.write('c');
  stream.end();
  expect(await arrived.promise).toEqual(Buffer.concat([Buffer.from('ab'), large, Buffer.from('c')]));
});

it('keeps what arrives before anybody listens, and hands on what arrives later without its stream', async () => {
  const said = Array.from({ length: 5 }, () => randomBytes(50_000));
  let speak = (): void => undefined;
  await using target = await listenHere((socket) => {
    let next = 0;
    speak = () => void (next < said.length ? socket.write(said[next++]!) : socket.end());
    speak();
  });
  const stream = await openTo(target.port);
  await expect.poll(() => stream.bytesRead).toBe(50_000);
  let pushed = 0;
  const { push } = stream;
  stream.push = (...args) => {
    pushed += args[0] === null ? 0 : 1;
    return push.apply(stream, args);
  };
  const heard: Buffer[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    heard.push(piece);
    size += piece.length;
    if (size % 50_000 === 0) speak();
  });
  await once(stream, 'end');
  expect(Buffer.concat(heard).equals(Buffer.concat(said))).toBe(true);
  expect(pushed).toBe(0);
});

it('lets a host wait that speaks before anybody listens', async () => {
  const said = randomBytes(20_000_000);
  await using target = await listenHere((socket) => socket.end(said));
  const stream = await openTo(target.port);
  await expect.poll(() => stream.readableLength >= stream.readableHighWaterMark).toBe(true);
  await sleep(100);
  expect(stream.bytesRead).toBeLessThan(1_000_000);
  expect((await buffer(stream)).equals(said)).toBe(true);
});
