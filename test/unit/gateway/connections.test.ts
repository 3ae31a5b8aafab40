import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { Agent } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { expect, test, vi } from 'vitest';
import { DevloopError } from '../../../src/errors.ts';
import { startGateway } from '../../../src/gateway/gateway.ts';
import { createTlsServer, listen } from '../../../src/gateway/tls.ts';
import { Controller, NAME, otherPair, pair, setUp, until } from './support.ts';

const options = { sessionId: 's1', controller: { host: '127.0.0.1', port: 1 }, emit: () => {} };

async function servedTo(port: number, servername: string): Promise<string> {
  const socket = tlsConnect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return new X509Certificate(raw).toString();
}

function sameAs(pem: string): string {
  return new X509Certificate(pem).toString();
}

test('each server name gets its own certificate, and unknown names get the first', async () => {
  await using gateway = await startGateway({ host: '127.0.0.1', ...options });
  gateway.present(NAME, pair);
  gateway.present('Other.test.svc', otherPair);
  expect(await servedTo(gateway.port, NAME)).toBe(sameAs(pair.certificate));
  expect(await servedTo(gateway.port, 'other.test.svc')).toBe(sameAs(otherPair.certificate));
  expect(await servedTo(gateway.port, 'unknown.test.svc')).toBe(sameAs(pair.certificate));
  expect(await servedTo(gateway.port, '')).toBe(sameAs(pair.certificate));
  gateway.present(NAME, otherPair);
  expect(await servedTo(gateway.port, NAME)).toBe(sameAs(otherPair.certificate));
  expect(await servedTo(gateway.port, '')).toBe(sameAs(otherPair.certificate));
});

test('a key pair for one name only is presented to nobody else, and the first other one comes before it', async () => {
  await using gateway = await startGateway({ host: '127.0.0.1', ...options });
  const probe = gateway.presentOnly('probe.test.svc', otherPair);
  expect(await servedTo(gateway.port, 'Probe.test.svc')).toBe(sameAs(otherPair.certificate));
  await expect(servedTo(gateway.port, NAME)).rejects.toThrow();
  gateway.present(NAME, pair);
  expect(await servedTo(gateway.port, 'unknown.test.svc')).toBe(sameAs(pair.certificate));
  expect(await servedTo(gateway.port, '')).toBe(sameAs(pair.certificate));
  probe[Symbol.dispose]();
  expect(await servedTo(gateway.port, 'probe.test.svc')).toBe(sameAs(pair.certificate));
});

test('a handshake before the first key pair fails, and later ones succeed', async () => {
  await using gateway = await startGateway({ host: '127.0.0.1', ...options });
  await expect(servedTo(gateway.port, NAME)).rejects.toThrow();
  gateway.present(NAME, pair);
  expect(await servedTo(gateway.port, NAME)).toBe(sameAs(pair.certificate));
});

test('a replaced key pair leaves open connections alone', async () => {
  await using bench = await setUp();
  await bench.ask('/before');
  bench.gateway.present(NAME, otherPair);
  expect((await bench.ask('/after')).status).toBe(200);
});

test('a client that does not trust the certificate causes a warning', async () => {
  await using bench = await setUp();
  await distrustAt(bench.gateway.port);
  await until(() => bench.events.length > 0);
  const values = { serverName: NAME, alert: 'unknown ca' };
  expect(bench.events).toMatchObject([{ type: 'warning', code: 'gateway.certificate-refused', values }]);
});

/** Node verifies the certificate after the handshake, so it would send no alert. */
async function distrustAt(port: number): Promise<void> {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', NAME, '-verify_return_error'];
  await once(spawn('openssl', args, { stdio: 'ignore' }), 'close');
}

test.each<[string, (port: number) => Promise<unknown>, string]>([
  ['that does not trust the certificate is no stranger', distrustAt, 'warn'],
  [
    'without TLS is one',
    (port) => exchange(connect(port, '127.0.0.1'), 'GET / HTTP/1.1\r\n\r\n'),
    'stranger',
  ],
  [
    'that sends no HTTP is one',
    (port) => exchange(tlsConnect({ port, rejectUnauthorized: false }), 'hello\r\n\r\n'),
    'stranger',
  ],
])('a client %s, and counts once', async (_, talk, expected) => {
  const seen: string[] = [];
  const tls = createTlsServer({ warn: () => seen.push('warn'), stranger: () => seen.push('stranger') });
  tls.present(NAME, pair);
  const port = await listen(tls.server, '127.0.0.1', 0);
  try {
    await talk(port);
    await until(() => seen.length > 0);
    await pause(50);
    expect(seen).toEqual([expected]);
  } finally {
    tls.server.close();
  }
});

async function exchange(socket: Socket, text: string): Promise<void> {
  socket.on('error', () => {});
  socket.resume().write(text);
  await once(socket, 'close');
}

test('a certificate with another key is refused, and the previous pair stays in use', async () => {
  await using gateway = await startGateway({ host: '127.0.0.1', ...options });
  gateway.present(NAME, pair);
  expect(() => gateway.present(NAME, { certificate: pair.certificate, key: otherPair.key })).toThrow(
    DevloopError,
  );
  expect(await servedTo(gateway.port, NAME)).toBe(sameAs(pair.certificate));
});

/** A gateway with an idle connection, and a busy one that gets its answer when `answer` is called. */
async function idleAndBusy() {
  let answer = () => {};
  const controller = new Controller((request, response) => {
    if (request.url === '/slow') answer = () => void response.end('late');
    else response.end('ok');
  });
  const bench = await setUp(controller);
  const idle = await keepAlive(bench.gateway.port);
  await idle.ask('/idle');
  const busy = await keepAlive(bench.gateway.port);
  const slow = busy.ask('/slow');
  await until(() => controller.seen.includes('/slow'));
  return { ...bench, idle, busy, slow, answer: () => answer() };
}

test('drain closes idle connections when no review comes any more, busy ones after their answer, and new ones after their first answer', async () => {
  await using bench = await idleAndBusy();
  const { idle, busy, slow, answer } = bench;
  let drained = false;
  const draining = bench.gateway.drain().then(() => {
    drained = true;
  });
  await once(idle.socket, 'close');
  const late = await keepAlive(bench.gateway.port);
  expect(await late.ask('/late')).toMatch(/^HTTP\/1\.1 200[\s\S]*Connection: close/);
  await once(late.socket, 'close');
  expect([drained, busy.socket.destroyed]).toEqual([false, false]);
  answer();
  expect(await slow).toMatch(/Connection: close[\s\S]*late$/);
  await draining;
  await bench.gateway.drain();
});

test('drain waits for the first review of a new connection', async () => {
  await using bench = await setUp();
  const { socket, ask } = await keepAlive(bench.gateway.port);
  const drained = bench.gateway.drain().then(() => bench.gateway[Symbol.asyncDispose]());
  await pause(100);
  expect(await ask('/late')).toMatch(/^HTTP\/1\.1 200[\s\S]*Connection: close/);
  await once(socket, 'close');
  await drained;
});

test('drain closes no idle connection while reviews come: each gets its answer first', async () => {
  await using bench = await setUp();
  const kept = await Promise.all(Array.from({ length: 4 }, () => keepAlive(bench.gateway.port)));
  for (const [index, { ask }] of kept.entries()) if (index % 2 === 0) await ask('/before');
  const drained = bench.gateway.drain().then(() => bench.gateway[Symbol.asyncDispose]());
  for (const { ask } of kept) {
    await pause(400);
    expect(await ask('/late')).toMatch(/^HTTP\/1\.1 200[\s\S]*Connection: close/);
  }
  await drained;
});

test('drain waits for a connection that is still on its way while reviews come', async () => {
  await using bench = await setUp();
  await using tunnel = await slowTunnel(bench.gateway.port, 300);
  bench.gateway.closeAfterNextAnswer();
  expect(await bench.ask('/before')).toMatchObject({ status: 200 });
  const late = keepAlive(tunnel.port).then(({ ask }) => ask('/late'));
  await bench.gateway.drain();
  await bench.gateway[Symbol.asyncDispose]();
  expect(await late).toMatch(/^HTTP\/1\.1 200[\s\S]*Connection: close/);
});

/** Carries each connection, but only some time after it was opened. */
async function slowTunnel(port: number, ms: number): Promise<AsyncDisposable & { port: number }> {
  const server = createServer(async (near) => {
    await pause(ms);
    const far = connect({ port, host: '127.0.0.1' });
    far.on('error', () => near.destroy());
    near.on('error', () => far.destroy());
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test('drain does not wait for connections over which no review comes', async () => {
  await using bench = await setUp();
  const { socket } = await keepAlive(bench.gateway.port);
  await bench.gateway.drain();
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

test('drain destroys the connection of a client that has disappeared', async () => {
  await using bench = await setUp();
  const between = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  const cut = once(between, 'connection').then(([near]) => {
    const far = connect({ port: bench.gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    (near as Socket).pipe(far).pipe(near as Socket);
    return () => [near as Socket, far].forEach((one) => void one.unpipe().pause());
  });
  await once(between, 'listening');
  const client = await keepAlive((between.address() as AddressInfo).port);
  expect(await client.ask('/')).toMatch(/^HTTP\/1\.1 200/);
  (await cut)();
  await bench.gateway.drain();
  client.socket.destroy();
  between.close();
}, 20_000);

test('closeAfterNextAnswer leaves idle connections open, and closes each with its next answer', async () => {
  await using bench = await idleAndBusy();
  const { idle, slow, answer } = bench;
  bench.gateway.closeAfterNextAnswer();
  answer();
  expect(await slow).toMatch(/Connection: close[\s\S]*late$/);
  expect(await idle.ask('/again')).toMatch(/^HTTP\/1\.1 200[\s\S]*Connection: close/);
  await once(idle.socket, 'close');
});

async function keepAlive(port: number): Promise<{ socket: TLSSocket; ask(path: string): Promise<string> }> {
  const socket = tlsConnect({ host: '127.0.0.1', port, servername: NAME, ca: pair.certificate });
  await once(socket, 'secureConnect');
  return {
    socket,
    async ask(path) {
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
      const [chunk] = await once(socket, 'data');
      return String(chunk);
    },
  };
}

test('a client that has reset its connection gets an answer over the next one from the same port', async () => {
  await using bench = await setUp();
  const fromSamePort = async (): Promise<number> => {
    const first = connect(bench.gateway.port, '127.0.0.1');
    await once(first, 'connect');
    const { localPort } = first;
    await pause(50);
    first.resetAndDestroy();
    const agent = new Agent({ localPort, keepAlive: true });
    const asked = bench.ask('/validate', { agent, signal: AbortSignal.timeout(3_000) });
    return (await asked.finally(() => agent.destroy())).status;
  };
  let status = 0;
  // Another program of the machine can take the port in between.
  for (let tries = 0; tries < 5 && status === 0; tries++)
    status = await fromSamePort().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return 0;
    });
  expect(status).toBe(200);
});

test('the gateway closes in a limited time whatever is open, and answers the reviews that it holds', async () => {
  await using bench = await setUp(new Controller(() => {}));
  const stuck = bench.ask('/stuck', { agent: false });
  await until(() => bench.controller.seen.length === 1);
  bench.gateway.hold();
  const held = bench.ask('/held', { agent: false });
  await until(() => bench.gateway.held === 1);
  const raw = connect(bench.gateway.port, '127.0.0.1');
  await once(raw, 'connect');
  const ended = expect(stuck).rejects.toThrow();
  const again = bench.gateway[Symbol.asyncDispose]();
  expect(bench.gateway[Symbol.asyncDispose]()).toBe(again);
  expect((await held).status).toBe(503);
  await again;
  await ended;
  await until(() => bench.controller.connections === 0);
});

test('an idle gateway closes at once', async () => {
  await using bench = await setUp();
  await bench.ask('/');
  const unused = tlsConnect({
    host: '127.0.0.1',
    port: bench.gateway.port,
    servername: NAME,
    ca: pair.certificate,
  });
  unused.on('error', () => {});
  await once(unused, 'secureConnect');
  // No deadline passes here, so only an orderly close resolves this.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    await bench.gateway[Symbol.asyncDispose]();
  } finally {
    vi.useRealTimers();
  }
});

test('malformed bytes on the socket and inside TLS do no harm', async () => {
  await using bench = await setUp();
  const { port } = bench.gateway;
  const hello = await clientHello();
  const blobs: Buffer[] = [
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    Buffer.alloc(5000, 0x16),
    Buffer.from([0x16, 3, 1, 0xff, 0xff]),
    Buffer.alloc(0),
  ];
  for (let cut = 1; cut < hello.length; cut += 23) blobs.push(hello.subarray(0, cut));
  for (let index = 0; index < hello.length; index += 17) {
    const broken = Buffer.from(hello);
    broken[index] = (broken[index] ?? 0) ^ 0x55;
    blobs.push(broken);
  }
  await Promise.all(blobs.map((blob) => sendAndLeave(connect(port, '127.0.0.1'), blob)));
  const inside = [
    '\0\0\0',
    'POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n`,
    'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST /ä HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  ];
  await Promise.all(
    inside.map(async (text) => {
      const socket = tlsConnect({ host: '127.0.0.1', port, servername: NAME, ca: pair.certificate });
      await once(socket, 'secureConnect');
      await sendAndLeave(socket, Buffer.from(text, 'latin1'));
    }),
  );
  expect((await bench.ask('/')).status).toBe(200);
});

async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tlsConnect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  server.close();
  return chunk;
}

async function sendAndLeave(socket: Socket, bytes: Buffer): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {});
  socket.resume();
  socket.write(bytes);
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.destroy();
  await closed;
}

test('a port in use and a foreign address are errors with a code', async () => {
  await using gateway = await startGateway({ host: '127.0.0.1', ...options });
  await expect(startGateway({ host: '127.0.0.1', port: gateway.port, ...options })).rejects.toMatchObject({
    code: 'port.in-use',
    message: expect.stringContaining(`127.0.0.1:${gateway.port}`),
  });
  await expect(startGateway({ host: '192.0.2.1', ...options })).rejects.toMatchObject({
    code: 'route.address',
  });
});
