import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startGateway } from '../../../src/gateway/gateway.ts';
import type { LateAnswer, ServedReview } from '../../../src/gateway/hooks.ts';
import { freePort } from '../../support/free-port.ts';
import { ask, Controller, NAME, pair, setUp, until } from './support.ts';

test('a review and its answer pass through unchanged', async () => {
  const controller = new Controller((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.writeHead(418, ['X-Answer', '1', 'X-Answer', '2']);
      response.end(`${request.method} ${request.url} ${request.headers['x-own']} ${Buffer.concat(chunks)}`);
    });
  });
  await using bench = await setUp(controller);
  const reply = await bench.ask('/validate?timeout=3s', { body: 'größer', headers: { 'X-Own': 'yes' } });
  expect(reply).toMatchObject({ status: 418, text: 'POST /validate?timeout=3s yes größer' });
  expect(reply.headers['x-answer']).toBe('1, 2');
  expect(reply.headers['content-length']).toBe(String(Buffer.byteLength(reply.text)));
});

test('chunked and empty bodies pass through', async () => {
  const controller = new Controller((request, response) => {
    request.resume();
    response.write(request.method);
    response.end(String(request.headers['content-length']));
  });
  await using bench = await setUp(controller);
  expect((await bench.ask('/', { headers: { 'Transfer-Encoding': 'chunked' } })).text).toBe('POST2');
  expect((await bench.ask('/', { body: '' })).text).toBe('POST0');
});

test('one connection to the controller serves many reviews, even if the client opens a new one each time', async () => {
  await using bench = await setUp();
  for (let index = 0; index < 20; index++) await bench.ask('/', { agent: false });
  expect(bench.controller.connections).toBe(1);
});

test('what devloop itself posts reaches the controller while reviews wait, which then find its connection open', async () => {
  await using bench = await setUp();
  const { gateway, controller } = bench;
  const signal = AbortSignal.timeout(10_000);
  const own = { url: '/own', body: Buffer.from('{}'), serverName: NAME, arriving() {} };
  gateway.hold();
  const reply = bench.ask('/validate');
  await until(() => gateway.held === 1);
  expect(await gateway.post(own, signal)).toMatchObject({ status: 200 });
  gateway.release();
  expect(await reply).toMatchObject({ status: 200 });
  expect(controller.seen).toEqual(['/own', '/validate']);
  expect(controller.connections).toBe(1);
});

test('a connection that ended with the controller before is no answer of the next one', async () => {
  let connections = 0;
  const controller = new Controller((request, response) => {
    if (request.url === '/own') connections += 1;
    if (request.url === '/own' && connections === 2) request.socket.destroy();
    else response.end();
  });
  await using bench = await setUp(controller);
  const own = { url: '/own', body: Buffer.from('{}'), serverName: NAME, arriving() {} };
  const post = () => bench.gateway.post(own, AbortSignal.timeout(10_000));
  await post();
  expect(await post()).toMatchObject({ status: 200 });
  await controller.stop();
  await expect(post()).rejects.toThrow('ECONNREFUSED');
});

test('a review waits for a controller that has not started yet', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  const reply = bench.ask('/validate?timeout=10s');
  await new Promise((resolve) => setTimeout(resolve, 200));
  await bench.controller.start();
  expect(await reply).toMatchObject({ status: 200, text: '{"answered":true}' });
  expect(bench.events).toEqual([]);
});

test('a review for a controller that never starts gets a Status within its budget, and one warning is printed', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  const replies = await Promise.all([1, 2, 3].map(() => bench.ask('/validate?timeout=1s')));
  for (const reply of replies) {
    expect(reply.status).toBe(503);
    expect(JSON.parse(reply.text)).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      reason: 'ServiceUnavailable',
      code: 503,
      message: expect.stringMatching(/^devloop: .*127\.0\.0\.1:\d+ within 0\.\d s .*\b1 s\b/),
    });
  }
  expect(bench.events).toMatchObject([{ code: 'gateway.request-failed', values: { path: '/validate' } }]);
});

test('whoever lists the reviews tells of such an answer once: it is no warning then', async () => {
  const listed: ServedReview[] = [];
  const served = (review: ServedReview): void => void listed.push(review);
  await using bench = await setUp(new Controller(), { start: false, hooks: { served } });
  await bench.ask('/validate?timeout=1s');
  expect(listed).toMatchObject([{ answer: { status: 503 } }]);
  expect(bench.events).toEqual([]);
});

test('a controller that does not answer gets another message than one that does not listen', async () => {
  await using bench = await setUp(new Controller(() => {}));
  const reply = await bench.ask('/convert?timeout=1s');
  expect(reply.status).toBe(503);
  expect(reply.text).toMatch(/devloop: [^:]*not answer .*0\.\d s/);
});

test('a review is sent again if its connection ends before the answer', async () => {
  let calls = 0;
  const controller = new Controller((request, response) => {
    calls += 1;
    if (calls <= 2) calls === 1 ? request.socket.destroy() : request.socket.end();
    else response.end('third');
  });
  await using bench = await setUp(controller);
  expect((await bench.ask('/')).text).toBe('third');
});

test('a handler that always drops the connection is called five times at most', async () => {
  const controller = new Controller((request) => void request.socket.destroy());
  await using bench = await setUp(controller);
  const reply = await bench.ask('/?timeout=10s');
  expect(reply.status).toBe(502);
  expect(reply.text).toContain('closed the connection 5 times');
  expect(controller.seen.length).toBe(5);
});

test('a review whose answer is incomplete is sent again, five times at most', async () => {
  const controller = new Controller((request, response) => {
    response.writeHead(200, { 'Content-Length': '100' });
    response.write('half', () => request.socket.destroy());
  });
  await using bench = await setUp(controller);
  const reply = await bench.ask('/');
  expect(reply.status).toBe(502);
  expect(JSON.parse(reply.text).message).toContain('closed the connection 5 times');
  expect(controller.seen.length).toBe(5);
});

test.each([
  ['speaks plain HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['speaks something else', 'SSH-2.0-x\r\n'],
])('a controller that %s gets a 502 at once', async (_, bytes) => {
  const server = createServer((socket) => void socket.on('error', () => {}).end(bytes)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  const controller = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  await using gateway = await startGateway({ host: '127.0.0.1', sessionId: 's', controller, emit: () => {} });
  gateway.accept(['/']);
  gateway.present(NAME, pair);
  const reply = await ask(gateway.port, '/', { agent: false });
  expect(reply.status).toBe(502);
  expect(JSON.parse(reply.text)).toMatchObject({
    code: 502,
    message: expect.stringContaining(`:${controller.port} `),
  });
  server.close();
});

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'no review is sent to a program of another user that listens on the port',
  async () => {
    const port = await freePort();
    const server = spawn(process.execPath, ['-e', STRANGER, String(port)], {
      uid: 65_534,
      env: { CERTIFICATE: pair.certificate, KEY: pair.key },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(server.stdout, 'data');
    const said: string[] = [];
    server.stdout.on('data', (text) => said.push(String(text)));
    const controller = { host: '127.0.0.1', port };
    await using gateway = await startGateway({
      host: '127.0.0.1',
      sessionId: 's',
      controller,
      emit: () => {},
    });
    gateway.accept(['/']);
    gateway.present(NAME, pair);
    const reply = await ask(gateway.port, '/', { agent: false });
    expect(reply.status).toBe(502);
    expect(reply.text).toContain('another user');
    expect(said).toEqual([]);
    server.kill();
    await once(server, 'close');
  },
);

/** Prints when it listens, and everything that it gets after the handshake. */
const STRANGER = `const { CERTIFICATE: cert, KEY: key } = process.env;
require('node:tls').createServer({ cert, key }, (socket) => socket.on('data', (data) => console.log(String(data))).on('error', () => {}))
  .listen(Number(process.argv[1]), '127.0.0.1', () => console.log('listening'));`;

test('when the client disconnects, the request to the controller ends too', async () => {
  let ended = 0;
  const controller = new Controller((request) => void request.socket.once('close', () => (ended += 1)));
  await using bench = await setUp(controller);
  const abort = new AbortController();
  const replies = [1, 2, 3].map(() => bench.ask('/', { signal: abort.signal, agent: false }));
  await until(() => controller.seen.length === 3);
  abort.abort();
  expect((await Promise.allSettled(replies)).every(({ status }) => status === 'rejected')).toBe(true);
  await until(() => ended === 3 && controller.connections === 0);
  expect(bench.events).toEqual([]);
});

test('a client that disconnects in the middle of its body, or while no controller listens, leaves nothing behind', async () => {
  await using bench = await setUp(new Controller(), { start: false });
  const abort = new AbortController();
  const waiting = bench.ask('/', { signal: abort.signal, agent: false });
  const half = bench.ask('/', { signal: abort.signal, agent: false, headers: { 'Content-Length': '100' } });
  await new Promise((resolve) => setTimeout(resolve, 100));
  abort.abort();
  await Promise.allSettled([waiting, half]);
  await bench.controller.start();
  expect((await bench.ask('/after')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(bench.controller.seen).toEqual(['/after']);
  expect(bench.events).toEqual([]);
});

test('a body over the limit gets a 413, and its connection stays open', async () => {
  await using bench = await setUp();
  const reply = await bench.ask('/', { body: Buffer.alloc(17 * 2 ** 20) });
  expect(reply.status).toBe(413);
  expect(JSON.parse(reply.text)).toMatchObject({
    kind: 'Status',
    code: 413,
    reason: 'RequestEntityTooLarge',
  });
  expect((await bench.ask('/', { body: Buffer.alloc(16 * 2 ** 20) })).status).toBe(200);
  expect(bench.controller.seen.length).toBe(1);
});

test('an incomplete body gets an answer within the budget', async () => {
  await using bench = await setUp();
  const reply = await bench.ask('/?timeout=1s', { headers: { 'Content-Length': '100' } });
  expect(reply.status).toBe(503);
  expect(reply.headers.connection).toBe('close');
  expect(reply.text).toContain('incomplete');
});

test('the controller may answer a review that devloop has answered, if somebody waits for that', async () => {
  const late: LateAnswer[] = [];
  const served: ServedReview[] = [];
  const { promise: go, resolve: release } = Promise.withResolvers<void>();
  const closed: string[] = [];
  const controller = new Controller((request, response) => {
    response.on('close', () => void closed.push(response.writableFinished ? 'answered' : 'aborted'));
    void go.then(() => response.end('{"late":true}'));
    request.resume();
  });
  await using bench = await setUp(controller, {
    hooks: { late: (one) => void late.push(one), served: (one) => void served.push(one) },
  });
  expect((await bench.ask('/validate?timeout=3s')).status).toBe(503);
  await until(() => served.length === 1);
  expect([late, closed]).toEqual([[], []]);
  release();
  await until(() => late.length === 1);
  expect(late[0]!.review).toBe(served[0]);
  expect(String(late[0]!.answer.body)).toBe('{"late":true}');
  expect(closed).toEqual(['answered']);
});

test('nobody waits for it: the review is taken back from the controller', async () => {
  const closed: string[] = [];
  const controller = new Controller((request, response) => {
    response.on('close', () => void closed.push(response.writableFinished ? 'answered' : 'aborted'));
    request.resume();
  });
  await using bench = await setUp(controller);
  expect((await bench.ask('/validate?timeout=3s')).status).toBe(503);
  await until(() => closed.length === 1);
  expect(closed).toEqual(['aborted']);
});

test('more reviews at once than connections to the controller: those that wait get the connections of others', async () => {
  const waiting: (() => void)[] = [];
  const controller = new Controller((_, response) => {
    waiting.push(() => response.end('done'));
    // This many connections are open then.
    if (controller.seen.length >= 256) for (const answer of waiting.splice(0)) answer();
  });
  await using bench = await setUp(controller);
  const ask = () => bench.ask('/validate?timeout=20s', { agent: false });
  const replies = await Promise.all(Array.from({ length: 300 }, ask));
  expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['done']));
  // Nothing waited until the controller closed an idle connection.
  expect(controller.connections).toBe(256);
});
