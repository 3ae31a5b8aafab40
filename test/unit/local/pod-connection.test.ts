import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { type Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { Selected } from '../../../src/cluster/api/kubeconfig.ts';
import type { Login } from '../../../src/cluster/api/login.ts';
import { createForwarder, type Forwarded } from '../../../src/cluster/api/pass-on.ts';
import { openPodConnection } from '../../../src/local/pod-connection.ts';
import { listenOn } from '../../../src/machine/port.ts';

/** Forwards to a server that answers each request with its own method, path and body. */
async function connection() {
  const forwarded: Forwarded[] = [];
  const forward = async (one: Forwarded): Promise<IncomingMessage> => {
    forwarded.push(one);
    if (one.path === '/broken') throw new Error('no route to the cluster');
    const answer = Readable.from([`${one.method} ${one.path} ${one.body}`]) as IncomingMessage;
    return Object.assign(answer, { statusCode: 201, headers: { 'x-kind': 'answer', connection: 'close' } });
  };
  const forwardUpgrade = () => Promise.reject(new Error('no upgrade here'));
  const opened = await openPodConnection({ forward, forwardUpgrade });
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return { opened, forwarded };
}

type Opened = Awaited<ReturnType<typeof connection>>['opened'];

/** Connects as client-go's in-cluster configuration does. */
async function ask(opened: Opened, path: string, token = opened.files.token, body = '') {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = opened.variables;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const sent = request(
      { host, port, path, method: 'POST', headers, ca: opened.files['ca.crt'], agent: false },
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
  for (const token of ['', 'wrong', `${opened.files.token}x`])
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
  const login = {
    auth: { headers: { authorization: 'Bearer of the user' } },
    ownConnection: () => ({}),
    retriedWith: <T>(once: () => Promise<T>) => once(),
  } as unknown as Login;
  const forwarder = createForwarder({ server: `http://127.0.0.1:${port}` } as Selected, login);
  const opened = await openPodConnection(forwarder);
  onTestFinished(() => opened[Symbol.asyncDispose]());
  return { opened, authorized };
}

interface Upgraded {
  answer: IncomingMessage;
  socket?: Duplex;
}

function upgrade(opened: Opened, protocol: string, token = opened.files.token): Promise<Upgraded> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = opened.variables;
  const headers = { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: protocol };
  const sent = request({ host, port, path: '/exec', headers, ca: opened.files['ca.crt'], agent: false });
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
