import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { type Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { ApiProxyParts } from '../../../src/api-proxy/pass-on.ts';
import { openApiProxy } from '../../../src/api-proxy/proxy.ts';
import type { SelectedContext } from '../../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../../src/cluster/api/login.ts';
import {
  createForwarder,
  type ForwardedRequest,
  type UpgradeRequest,
} from '../../../src/cluster/api/pass-on.ts';
import { listenOn } from '../../../src/machine/port.ts';
import { loginOf, proxied } from '../../support/api-proxy.ts';
import { partly } from '../../support/partly.ts';

/** A proxy that admits the test. */
async function openFor(parts: ApiProxyParts) {
  const { variables, certificate, admit, ...opened } = await openApiProxy(parts);
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return { variables, certificate, token: admit().token };
}

/** Forwards to a server that answers each request with its own method, path and body. */
async function connection() {
  const forwarded: ForwardedRequest[] = [];
  const forward = async (one: ForwardedRequest): Promise<IncomingMessage> => {
    forwarded.push(one);
    if (one.path === '/broken') throw new Error('no route to the cluster');
    const answer = Readable.from([`${one.method} ${one.path} ${one.body}`]) as IncomingMessage;
    return Object.assign(answer, { statusCode: 201, headers: { 'x-kind': 'answer', connection: 'close' } });
  };
  const forwardUpgrade = () => Promise.reject(new Error('no upgrade here'));
  const opened = await openFor({ upstream: { forward, forwardUpgrade } });
  return { opened, forwarded };
}

type Opened = Awaited<ReturnType<typeof connection>>['opened'];

/** Connects as client-go's in-cluster configuration does. */
async function ask(opened: Opened, path: string, token = opened.token, body = '') {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = opened.variables;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const sent = request(
      { host, port, path, method: 'POST', headers, ca: opened.certificate, agent: false },
      resolve,
    );
    sent.on('error', reject).end(body);
  });
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
}

test('a request with the token is forwarded without it, and its answer comes back', async () => {
  const { opened, forwarded } = await connection();
  const answer = await ask(opened, '/api/v1/pods?watch=true', undefined, 'a body');
  expect(answer).toMatchObject({ status: 201, text: 'POST /api/v1/pods?watch=true a body' });
  expect(answer.headers['x-kind']).toBe('answer');
  expect(forwarded[0]!.headers.accept).toBe('application/json');
});

test('a path may be as long as for the API server', async () => {
  const { opened } = await connection();
  const path = `/api/v1/pods?labelSelector=${'a'.repeat(200_000)}`;
  expect(await ask(opened, path)).toMatchObject({ status: 201, text: `POST ${path} ` });
});

test('nobody else is answered, and nothing is forwarded', async () => {
  const { opened, forwarded } = await connection();
  for (const token of ['', 'wrong', `${opened.token}x`])
    expect(await ask(opened, '/api', token)).toMatchObject({ status: 401 });
  expect(forwarded).toEqual([]);
});

test('a cluster that cannot be reached is an error that clients show', async () => {
  const { opened } = await connection();
  const { status, text: answer } = await ask(opened, '/broken');
  expect(status).toBe(502);
  expect(JSON.parse(answer)).toMatchObject({ kind: 'Status', message: 'no route to the cluster' });
});

/** A server that switches to `echo`, in which it repeats every byte. It refuses other protocols. */
async function echoing() {
  const authorized: (string | undefined)[] = [];
  const server = createServer();
  server.on('upgrade', ({ headers }, socket, head) => {
    authorized.push(headers.authorization);
    if (headers.upgrade !== 'echo')
      return socket.end('HTTP/1.1 403 Forbidden\r\nx-why: refused\r\n\r\nnot echo');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\n');
    socket.write(head);
    socket.pipe(socket).on('error', () => {});
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close());
  const login = loginOf({ auth: { headers: { authorization: 'Bearer of the user' } } });
  const forwarder = createForwarder({ server: `http://127.0.0.1:${port}` } as SelectedContext, login);
  const opened = await openFor({ upstream: forwarder });
  return { opened, authorized };
}

interface Upgraded {
  answer: IncomingMessage;
  socket?: Duplex;
}

function upgrade(opened: Opened, protocol: string, token = opened.token): Promise<Upgraded> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = opened.variables;
  const headers = { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: protocol };
  const sent = request({ host, port, path: '/exec', headers, ca: opened.certificate, agent: false });
  return new Promise((resolve, reject) => {
    sent.on('upgrade', (answer, socket) => resolve({ answer, socket }));
    sent.on('response', (answer) => resolve({ answer }));
    sent.on('error', reject).end();
  });
}

test('a program can switch to another protocol, as `exec` does', async () => {
  const { opened, authorized } = await echoing();
  const { answer, socket } = await upgrade(opened, 'echo');
  expect(answer.statusCode).toBe(101);
  socket!.write('hello');
  expect(String((await once(socket!, 'data'))[0])).toBe('hello');
  socket!.destroy();
  const refused = await upgrade(opened, 'other');
  expect(refused).toMatchObject({ answer: { statusCode: 403, headers: { 'x-why': 'refused' } } });
  expect(await text(refused.answer)).toBe('not echo');
  expect(authorized).toEqual(Array(2).fill('Bearer of the user'));
  expect((await upgrade(opened, 'echo', 'wrong')).answer.statusCode).toBe(401);
  expect(authorized).toHaveLength(2);
});

test.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'the connections of other users are closed at once',
  async () => {
    const { opened } = await connection();
    const port = opened.variables.KUBERNETES_SERVICE_PORT;
    const program = `require('net').connect(${port}, '127.0.0.1').on('error', () => {}).on('close', () => console.log('closed'))`;
    const child = spawn(process.execPath, ['-e', program], { uid: 65_534, cwd: '/', env: {} });
    onTestFinished(() => void child.kill('SIGKILL'));
    expect(await text(child.stdout)).toBe('closed\n');
  },
);

test('a large body passes while it is sent, with and without a length', async () => {
  const sizes: number[] = [];
  const { send } = await proxied(async (sent, response) => {
    const begun = Promise.withResolvers<void>();
    let size = 0;
    sent.on('data', (chunk: Buffer) => {
      size += chunk.length;
      begun.resolve();
    });
    await begun.promise;
    first.resolve();
    await once(sent, 'end');
    sizes.push(size);
    response.end(sent.headers['content-length'] ?? 'chunked');
  });
  let first = Promise.withResolvers<void>();
  const part = Buffer.alloc(3 * 2 ** 20, 'x');
  for (const [headers, said] of [
    [{}, 'chunked'],
    [{ 'content-length': String(2 * part.length) }, String(2 * part.length)],
  ] as const) {
    first = Promise.withResolvers<void>();
    const sent = send({ method: 'PUT', path: '/api/v1/x' });
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
    const answered = once(sent, 'response');
    sent.write(part);
    // The server has read of it before it is complete.
    await first.promise;
    sent.end(part);
    expect(await text((await answered)[0] as IncomingMessage)).toBe(said);
  }
  expect(sizes).toEqual([2 * part.length, 2 * part.length]);
});

test('a body that is cut off does not reach the API server as a whole one', async () => {
  const seen = Promise.withResolvers<string>();
  const { send } = await proxied((sent) => {
    sent.resume().on('end', () => seen.resolve('a whole body'));
    sent.on('error', () => seen.resolve('cut off'));
  });
  const sent = send({ method: 'POST', path: '/api/v1/x' });
  sent.on('error', () => {});
  sent.write(Buffer.alloc(4 * 2 ** 20), () => sent.destroy());
  expect(await seen.promise).toBe('cut off');
});

test('what the controller cancels is canceled at the API server, and an event of a watch passes at once', async () => {
  const closed = Promise.withResolvers<void>();
  const { send } = await proxied((_, response) => {
    response.writeHead(200).write('{"type":"ADDED"}\n');
    response.once('close', closed.resolve);
  });
  const sent = send({ path: '/api/v1/pods?watch=true' }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  expect(String((await once(answer, 'data'))[0])).toBe('{"type":"ADDED"}\n');
  answer.destroy();
  await closed.promise;
});

test('while nothing listens at the API server, clients may repeat calls; if an answer is lost, only reads', async () => {
  const { send, server } = await proxied((sent) => sent.socket.destroy());
  const ask = async (method: string) => {
    const [answer] = (await once(send({ method, path: '/api/v1/pods' }).end(), 'response')) as [
      IncomingMessage,
    ];
    answer.resume();
    return [answer.statusCode, answer.headers['retry-after']];
  };
  expect(await ask('GET')).toEqual([503, '1']);
  expect(await ask('POST')).toEqual([502, undefined]);
  await new Promise((resolve) => server.close(resolve));
  expect(await ask('POST')).toEqual([503, '1']);
});

test('without consent nothing is written, and reads pass', async () => {
  const forwarded: string[] = [];
  const forward = async ({ method, mayStart }: ForwardedRequest): Promise<IncomingMessage> => {
    await mayStart?.();
    forwarded.push(method);
    return Object.assign(Readable.from(['']) as IncomingMessage, { statusCode: 200, headers: {} });
  };
  const forwardUpgrade = async ({ mayStart }: UpgradeRequest): Promise<never> => {
    await mayStart?.();
    throw new Error('forwarded');
  };
  const refusal = { code: 503, reason: 'ServiceUnavailable', message: 'not ours', retryAfterSeconds: 1 };
  const opened = await openFor({
    ...{ upstream: { forward, forwardUpgrade }, mayWrite: async () => refusal },
  });
  expect(await ask(opened, '/api/v1/pods')).toMatchObject({
    status: 503,
    text: expect.stringContaining('not ours'),
  });
  expect((await upgrade(opened, 'SPDY/3.1')).answer.statusCode).toBe(503);
  expect(forwarded).toEqual([]);
});

test('each attempt of a write needs consent of its own, since a login in between can take minutes', async () => {
  let rejections = 1;
  const seen: string[] = [];
  const server = createServer((sent, response) => {
    seen.push(sent.method!);
    response.writeHead(rejections-- > 0 ? 401 : 200).end();
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => void server.close().closeAllConnections());
  const login = partly<Login>({
    auth: { headers: {} },
    async retriedWith(attempt, isRejected) {
      const first = await attempt();
      return isRejected(first) ? await attempt() : first;
    },
  });
  const upstream = createForwarder({ server: `http://127.0.0.1:${port}` } as SelectedContext, login);
  const refusal = { code: 503, reason: 'ServiceUnavailable', message: 'the Lease is lost' };
  const opened = await openFor({
    upstream,
    mayWrite: async () => (seen.length > 0 ? refusal : undefined),
  });
  expect(await ask(opened, '/api/v1/pods')).toMatchObject({
    status: 503,
    text: expect.stringContaining('lost'),
  });
  expect(seen).toEqual(['POST']);
});

test('repeated headers arrive as they were sent, and a path with dots arrives nowhere', async () => {
  const seen: (string | undefined)[][] = [];
  const { send } = await proxied((sent, response) => {
    seen.push(sent.headersDistinct['impersonate-group'] ?? []);
    response.end();
  });
  const get = async (path: string): Promise<number> => {
    const sent = send({ path });
    sent.setHeader('Impersonate-Group', ['a', 'b']);
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode!;
  };
  expect(await get('/api/v1/pods')).toBe(200);
  for (const path of ['/../c-b/api', '/api/%2e%2e/x', '/api/..', '/./api']) expect(await get(path)).toBe(400);
  expect(seen).toEqual([['a', 'b']]);
});
