import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { type ClusterApi, connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { relayDialer } from '../../../src/cluster/relay/dial.ts';

const NEVER = new AbortController().signal;
const TARGET = {
  namespace: 'shop',
  pod: 'relay',
  controlPort: 7000,
  proxyPort: 7001,
  protocol: 'devloop-relay',
};
const PROXY = '/api/v1/namespaces/shop/pods/relay:7001/proxy/';
const FORWARD = '/api/v1/namespaces/shop/pods/relay/portforward?ports=7000';

let server: Server;
let directory: string;
let api: ClusterApi;
let asked: string[];
/** What the API server does with a request to the Pod's proxy. */
let proxy: (request: IncomingMessage, socket: Duplex) => void;
let forwards: boolean;

beforeEach(async () => {
  asked = [];
  forwards = true;
  proxy = (_request, socket) => switchTo('devloop-relay', socket, 'by proxy');
  const kubelet = new WebSocketServer({ noServer: true, handleProtocols: ([first]) => first! });
  server = createServer((_request, response) => response.writeHead(400).end());
  server.on('upgrade', (request, socket, head) => {
    asked.push(request.url!);
    if (request.url === PROXY) return proxy(request, socket);
    if (!forwards) return refuse(socket, '500 Internal Server Error');
    kubelet.handleUpgrade(request, socket, head, (one) => {
      for (const channel of [0, 1]) one.send(Buffer.from([channel, 7000 & 255, 7000 >> 8]));
      one.send(Buffer.from('\0by port-forward'));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  directory = await mkdtemp(join(tmpdir(), 'devloop-dial-'));
  api = await connect(await loadKubeconfig({ kubeconfig: await kubeconfig() }, {}, directory));
});

afterEach(async () => {
  await api[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

async function kubeconfig(): Promise<string> {
  const file = join(directory, 'config');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: address, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { as: 'somebody' } }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** The answer and the first bytes in one packet, as a fast Pod may send them. */
function switchTo(protocol: string, socket: Duplex, first: string): void {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}\r\n\r\n${first}`,
  );
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
}

/** The first bytes that arrive; the connection ends with them. */
async function heard(stream: Duplex): Promise<string> {
  const [first] = await once(stream, 'data');
  stream.destroy();
  return String(first);
}

it("uses the API server's proxy, with the kubeconfig's credentials, in both directions", async () => {
  let user: unknown;
  proxy = ({ headers }, socket) => {
    user = headers['impersonate-user'];
    switchTo(headers.upgrade!, socket, 'first');
    socket.on('data', (bytes) => socket.write(bytes));
  };
  const stream = await relayDialer(api).dial(TARGET, NEVER);
  expect(String((await once(stream, 'data'))[0])).toBe('first');
  stream.write('echo');
  expect(await heard(stream)).toBe('echo');
  expect([asked, user]).toEqual([[PROXY], 'somebody']);
});

it.each([
  ['is forbidden', (socket: Duplex) => refuse(socket, '403 Forbidden')],
  ['does not reach the Pod', (socket: Duplex) => refuse(socket, '503 Service Unavailable')],
  ['switches to something else', (socket: Duplex) => switchTo('websocket', socket, '')],
  ['closes the connection', (socket: Duplex) => void socket.destroy()],
  ['does not answer', () => {}],
])('uses a port-forward from then on when the proxy %s', async (_what, answer) => {
  proxy = (_request, socket) => answer(socket);
  const { dial, onProved } = relayDialer(api);
  expect(await heard(await dial(TARGET, NEVER))).toBe('by port-forward');
  onProved();
  expect(await heard(await dial(TARGET, NEVER))).toBe('by port-forward');
  expect(asked).toEqual([PROXY, FORWARD, FORWARD]);
});

it('takes the other way while no connection was proved, and the one that was from then on', async () => {
  const { dial, onProved } = relayDialer(api);
  const ways = ['by proxy', 'by port-forward', 'by proxy', 'by port-forward'];
  for (const way of ways) expect(await heard(await dial(TARGET, NEVER))).toBe(way);
  onProved();
  expect(await heard(await dial(TARGET, NEVER))).toBe('by port-forward');
  onProved();
  expect(await heard(await dial(TARGET, NEVER))).toBe('by port-forward');
});

it('reports why the port-forward failed when neither works, and tries both again', async () => {
  proxy = (_request, socket) => refuse(socket, '503 Service Unavailable');
  forwards = false;
  const { dial } = relayDialer(api);
  await expect(dial(TARGET, NEVER)).rejects.toMatchObject({
    code: 'relay.failed',
    message: expect.stringContaining('The port-forward to port 7000'),
  });
  proxy = (_request, socket) => switchTo('devloop-relay', socket, 'by proxy');
  expect(await heard(await dial(TARGET, NEVER))).toBe('by proxy');
  expect(asked).toEqual([PROXY, FORWARD, PROXY]);
});

it('ends with the signal', async () => {
  const stop = new AbortController();
  proxy = () => stop.abort(new Error('enough'));
  await expect(relayDialer(api).dial(TARGET, stop.signal)).rejects.toThrow('enough');
  expect(asked).toEqual([PROXY]);
});
