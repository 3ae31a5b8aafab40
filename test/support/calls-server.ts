import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { directoryWith } from '../unit/controller/support/places.ts';

export interface Call {
  method: string;
  path: string;
  isWatch: boolean;
  /** Its headers whose names begin with devloop-. */
  tags: Record<string, string>;
}

export interface CallsServer {
  calls: Call[];
  /** What the program wrote to the socket. */
  lines: Record<string, unknown>[];
  /** The variables for the program. */
  env: { API: string; DEVLOOP_CALLS: string };
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];

/** An API server with these Pods, which accepts every write and forgets it, and the socket of DEVLOOP_CALLS. Both end with the test. */
export async function callsServer(pods: string[]): Promise<CallsServer> {
  const [calls, lines]: [Call[], Record<string, unknown>[]] = [[], []];
  const api = createServer((request, response) => void answer(request, response, pods, calls));
  await once(api.listen(0, '127.0.0.1'), 'listening');
  const open = new Set<Socket>();
  const socket = createSocket((connection) => {
    open.add(connection);
    void readLines(connection, lines);
  });
  const path = join(await directoryWith(), 'calls');
  await once(socket.listen(path), 'listening');
  onTestFinished(() => {
    api.closeAllConnections();
    for (const connection of open) connection.destroy();
    api.close();
    socket.close();
  });
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  return { calls, lines, env: { API: url, DEVLOOP_CALLS: path } };
}

async function readLines(connection: Socket, lines: Record<string, unknown>[]): Promise<void> {
  let rest = '';
  for await (const chunk of connection.setEncoding('utf8')) {
    const whole = (rest + chunk).split('\n');
    rest = whole.pop()!;
    for (const line of whole) lines.push(JSON.parse(line));
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  pods: string[],
  calls: Call[],
): Promise<void> {
  const { pathname: path, searchParams } = new URL(request.url!, 'http://api');
  await request.resume().toArray();
  const method = request.method!;
  const isWatch = searchParams.has('watch');
  const tags = Object.entries(request.headers).filter(([name]) => name.startsWith('devloop-'));
  calls.push({ method, path, isWatch, tags: Object.fromEntries(tags) as Record<string, string> });
  if (isWatch && !searchParams.has('sendInitialEvents')) {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    return;
  }
  const [status, body] = reply(method, path, isWatch, pods);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function reply(method: string, path: string, isWatch: boolean, pods: string[]): [number, object] {
  // client-go then lists and watches instead.
  if (isWatch) return [422, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Invalid' }];
  if (path === '/api') return [200, { kind: 'APIVersions', versions: ['v1'] }];
  if (path === '/apis') return [200, { kind: 'APIGroupList', apiVersion: 'v1', groups: [] }];
  if (path === '/api/v1') {
    const kinds = { pods: 'Pod', 'pods/status': 'Pod', secrets: 'Secret' };
    const resources = Object.entries(kinds).map(([name, kind]) => ({
      ...{ name, kind, singularName: '', namespaced: true, verbs: VERBS },
    }));
    return [200, { kind: 'APIResourceList', groupVersion: 'v1', resources }];
  }
  if (method === 'POST')
    return [201, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'new', namespace: 'shop' } }];
  if (method === 'PATCH') return [200, pod(path.split('/')[6]!)];
  const list = { apiVersion: 'v1', kind: 'PodList', metadata: { resourceVersion: '5' } };
  return [200, { ...list, items: pods.map(pod) }];
}

function pod(name: string): object {
  const metadata = { name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: '5' };
  return { apiVersion: 'v1', kind: 'Pod', metadata };
}
