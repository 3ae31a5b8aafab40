import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { callPort, listenAsGateway, startRelayed } from '../../support/relay/relayed.ts';

it('carries a half-close in both directions', async () => {
  await using gateway = await listenAsGateway((socket) => {
    socket.on('end', () => socket.end('all of the answer'));
    socket.resume();
  });
  await using relayed = await startRelayed(gateway);
  const caller = await relayed.call();
  caller.end('a question');
  expect(await text(caller)).toBe('all of the answer');
  await closed(caller);

  await using second = await listenAsGateway((socket) => {
    socket.end('said first');
    socket.on('data', (chunk) => heard.push(String(chunk)));
    socket.on('end', () => heard.push('end'));
  });
  const heard: string[] = [];
  await using other = await startRelayed(second);
  const slow = await other.call();
  slow.write('a');
  expect(await text(slow)).toBe('said first');
  slow.end('b');
  await expect.poll(() => heard.join('')).toBe('abend');
});

it('carries a reset of the caller to the gateway', async () => {
  const arrived = Promise.withResolvers<Socket>();
  await using gateway = await listenAsGateway((socket) => arrived.resolve(socket));
  await using relayed = await startRelayed(gateway);
  const caller = await relayed.call();
  caller.write('half a quest');
  const socket = (await arrived.promise).resume();
  const failed = once(socket, 'error');
  await once(socket, 'data').then(() => caller.resetAndDestroy());
  expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
});

it('carries a reset of the gateway to the caller, in the middle of an answer too', async () => {
  await using gateway = await listenAsGateway((socket) => {
    socket.once('data', () =>
      socket.write('half an ans', () => setImmediate(() => socket.resetAndDestroy())),
    );
  });
  await using relayed = await startRelayed(gateway);
  const caller = await relayed.call();
  caller.write('a question');
  caller.resume();
  expect((await once(caller, 'error'))[0]).toMatchObject({ code: 'ECONNRESET' });
});

it('carries a reset of the gateway to a caller that is half closed', async () => {
  await using gateway = await listenAsGateway((socket) => {
    socket.end('the answer');
    socket.once('data', () => socket.once('data', () => socket.resetAndDestroy()));
  });
  await using relayed = await startRelayed(gateway);
  const caller = await relayed.call();
  caller.write('a');
  expect(await text(caller)).toBe('the answer');
  const failed = once(caller, 'error');
  // As always with TCP, only a side that writes notices a reset after an end.
  await expect.poll(() => caller.destroyed || caller.write('more') === undefined).toBe(true);
  expect((await failed)[0]).toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
});

it('resets the caller when no gateway listens', async () => {
  const gateway = await listenAsGateway(() => {});
  await using relayed = await startRelayed(gateway);
  await gateway[Symbol.asyncDispose]();
  const caller = await relayed.call();
  caller.resume().write('hello?');
  expect((await once(caller, 'error'))[0]).toMatchObject({ code: 'ECONNRESET' });
});

it('does not carry readiness probes', async () => {
  let arrived = 0;
  await using gateway = await listenAsGateway((socket) => {
    arrived += 1;
    socket.pipe(socket);
  });
  await using relayed = await startRelayed(gateway);
  for (let probe = 0; probe < 3; probe++) {
    const prober = await relayed.call();
    prober.resume().end();
    await closed(prober);
  }
  // Later callers are not affected.
  for (const times of [1, 2]) {
    const caller = await relayed.call();
    caller.end('echo');
    expect(await text(caller)).toBe('echo');
    expect(arrived).toBe(times);
  }
});

it('stops a sender whose bytes are not read', async () => {
  const arrived = Promise.withResolvers<Socket>();
  await using gateway = await listenAsGateway((socket) => arrived.resolve(socket.pause()));
  await using relayed = await startRelayed(gateway);
  const caller = await relayed.call();
  const chunk = Buffer.alloc(64 * 1024, 1);
  const total = 1000 * chunk.length;
  let taken = 0;
  for (let at = 0; at < total; at += chunk.length) caller.write(chunk, () => (taken += chunk.length));
  caller.end();
  const reader = await arrived.promise;
  // Windows and kernel buffers fill up; then nothing more is accepted, since nobody reads.
  await expect.poll(() => stands(() => taken), { timeout: 10_000 }).toBe(true);
  expect(taken).toBeLessThan(total / 2);
  let read = 0;
  for await (const chunk of reader) read += chunk.length;
  expect(read).toBe(total);
  reader.end();
});

it('makes callers wait while the connection is cut, and serves them after it is back', async () => {
  await using gateway = await listenAsGateway((socket) => socket.pipe(socket));
  await using relayed = await startRelayed(gateway);
  relayed.cutter.refuse(true);
  relayed.cutter.cut('reset');
  const callers = await Promise.all(Array.from({ length: 20 }, () => callPort(relayed.program.port)));
  for (const caller of callers) caller.end('patience');
  relayed.cutter.refuse(false);
  expect(await Promise.all(callers.map(text))).toEqual(callers.map(() => 'patience'));
});

/** Everything that was received until the end. */
async function text(socket: Socket): Promise<string> {
  let all = '';
  socket.on('data', (chunk) => (all += chunk));
  await once(socket, 'end');
  return all;
}

async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

/** Whether the value has stayed the same for a while. */
async function stands(value: () => number): Promise<boolean> {
  const before = value();
  await new Promise((resolve) => setTimeout(resolve, 200));
  return value() === before && before > 0;
}
