import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerChannel } from 'ssh2';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Link, openLink } from '../../../src/route/ssh/link.ts';
import { handshakeContext } from '../../support/sshd/handshake-context.ts';
import { echo, listenHere, type Target } from '../../support/sshd/open-route.ts';
import { type SshHost, startSshHost } from '../../support/sshd/ssh-host.ts';

/** How much a channel lets one side send ahead, plus generous room for the buffers of sockets and streams. */
const WINDOW = 2 * 1024 * 1024;
const BOUND = 6 * WINDOW;
const LARGE = 20 * WINDOW;
const STEP = 64 * 1024;
const patient = { timeout: 20_000 };

let host: SshHost;
let link: Link;

beforeEach(async () => {
  host = await startSshHost();
  link = await openLink([host.settings], 10_000, handshakeContext());
});

afterEach(async () => {
  await link[Symbol.asyncDispose]();
  await host[Symbol.asyncDispose]();
});

/** A connection to the host, carried to the target. */
async function call({ port }: Pick<Target, 'port'>): Promise<ServerChannel> {
  const channel = await host.call(await link.listen(0, port));
  channel.on('error', () => undefined);
  return channel;
}

/** Waits until a number stays the same for a while. */
async function settled(read: () => number): Promise<number> {
  for (;;) {
    const before = read();
    await sleep(300);
    if (before > 0 && read() === before) return before;
  }
}

it('carries many connections at once, each intact', async () => {
  await using target = await listenHere(echo);
  const port = await link.listen(0, target.port);
  const bodies = Array.from({ length: 16 }, () => randomBytes(500_000));
  const answers = await Promise.all(
    bodies.map(async (body) => {
      const channel = await host.call(port);
      channel.write(body);
      channel.eof();
      return buffer(channel);
    }),
  );
  expect(answers.map((answer, index) => answer.equals(bodies[index]!))).toEqual(Array(16).fill(true));
  await expect.poll(() => target.sockets.size, patient).toBe(0);
});

it('carries the answer to a caller that has ended its half first', async () => {
  await using target = await listenHere(async (socket) =>
    socket.end(`after the end: ${await buffer(socket)}`),
  );
  const channel = await call(target);
  channel.write('hello');
  channel.eof();
  expect(String(await buffer(channel))).toBe('after the end: hello');
});

it('carries what a caller sends after the local side has ended its half', async () => {
  const heard = Promise.withResolvers<Buffer>();
  await using target = await listenHere((socket) => {
    socket.end('first');
    heard.resolve(buffer(socket));
  });
  const channel = await call(target);
  expect(String(await buffer(channel))).toBe('first');
  channel.end('still here');
  expect(String(await heard.promise)).toBe('still here');
});

it('delivers everything that a caller sent before it closed', async () => {
  const heard = Promise.withResolvers<Buffer>();
  await using target = await listenHere((socket) => heard.resolve(buffer(socket)));
  const channel = await call(target);
  const said = randomBytes(WINDOW);
  channel.end(said);
  expect((await heard.promise).equals(said)).toBe(true);
});

it('stops reading from the local side while the caller does not read', async () => {
  const said = randomBytes(LARGE);
  let sent = 0;
  await using target = await listenHere(async (socket) => {
    for (; sent < LARGE; sent += STEP) {
      if (!socket.write(said.subarray(sent, sent + STEP))) await once(socket, 'drain');
    }
    socket.end();
  });
  const channel = await call(target);
  expect(await settled(() => sent)).toBeLessThan(BOUND);
  expect((await buffer(channel)).equals(said)).toBe(true);
});

it('stops reading from the caller while the local side does not read', async () => {
  const said = randomBytes(LARGE);
  const local = Promise.withResolvers<Socket>();
  await using target = await listenHere((socket) => local.resolve(socket));
  const channel = await call(target);
  for (let at = 0; at < LARGE; at += STEP) channel.write(said.subarray(at, at + STEP));
  channel.end();
  expect(LARGE - (await settled(() => channel.writableLength))).toBeLessThan(BOUND);
  expect((await buffer(await local.promise)).equals(said)).toBe(true);
});

it('serves other connections while one is not read', async () => {
  await using target = await listenHere((socket) => void socket.once('data', (said) => socket.end(said)));
  await using silent = await listenHere(() => undefined);
  const blocked = await call(silent);
  blocked.write(randomBytes(LARGE));
  await settled(() => blocked.writableLength);
  const channel = await call(target);
  channel.write('hello');
  expect(String(await buffer(channel))).toBe('hello');
});

it('closes the local connection when the caller is gone, also while the local side sends', async () => {
  await using target = await listenHere((socket) => {
    const timer = setInterval(() => socket.write('more'), 10);
    socket.once('close', () => clearInterval(timer));
  });
  const channel = await call(target);
  await once(channel, 'data');
  channel.close();
  await expect.poll(() => target.sockets.size, patient).toBe(0);
});

it('closes the connection of the caller when the local side resets, and keeps nothing of it', async () => {
  await using target = await listenHere((socket) => void socket.once('data', () => socket.resetAndDestroy()));
  const port = await link.listen(0, target.port);
  const before = countSockets();
  for (let count = 0; count < 20; count++) {
    const channel = await host.call(port);
    channel.on('error', () => undefined).resume();
    channel.write('x');
    await once(channel, 'close');
  }
  await expect.poll(countSockets, patient).toBe(before);
});

it('closes the connection of the caller when nothing listens here', async () => {
  const { port } = await listenHere(echo).then(async (one) => {
    await one[Symbol.asyncDispose]();
    return one;
  });
  const channel = await call({ port });
  channel.resume();
  await once(channel, 'close');
});

it('resets what is in flight when the connection to the host breaks', async () => {
  await using target = await listenHere(() => undefined);
  await call(target);
  await expect.poll(() => target.sockets.size, patient).toBe(1);
  const broken = [...target.sockets].map((socket) => once(socket, 'error').then(([error]) => error.code));
  for (const client of host.clients) client.resetAndDestroy();
  expect(await Promise.all(broken)).toEqual(['ECONNRESET']);
  expect(await link.lost).toContain('dev@127.0.0.1');
});

/** All connections of this process. */
function countSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}
