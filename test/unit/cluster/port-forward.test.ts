import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createProxy } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { type ClusterApi, connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { portForward } from '../../../src/cluster/api/port-forward.ts';

const PROTOCOL = 'v4.channel.k8s.io';
const signal = new AbortController().signal;
const PORT = Buffer.from([7000 & 255, 7000 >> 8]);

let pair: KeyPair;
let directory: string;
let server: Server;
let kubelet: (socket: WebSocket) => void;
let admit: (authorization: string | undefined) => number;
let urls: string[];
const released: (() => Promise<unknown> | unknown)[] = [];

beforeAll(async () => {
  pair = await selfSignedPair(['localhost'], { days: 1 });
});

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'devloop-forward-'));
  urls = [];
  admit = () => 101;
  kubelet = begin;
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => offered.has(PROTOCOL) && PROTOCOL,
  });
  // The answer to everything else: it is ready.
  server = createServer({ key: pair.key, cert: pair.certificate }, (_, response) => response.end('ok'));
  server.on('upgrade', (request, socket, head) => {
    urls.push(request.url!);
    const status = admit(request.headers.authorization);
    if (status !== 101) return socket.end(refusal(status));
    // The answer and the first frames in one packet, as a fast kubelet may send them.
    socket.cork();
    sockets.handleUpgrade(request, socket, head, (one) => kubelet(one));
    return socket.uncork();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  for (const release of released.splice(0).reverse()) await release();
  server.closeAllConnections();
  await rm(directory, { recursive: true, force: true });
});

function refusal(status: number): string {
  const body = JSON.stringify({ message: `status ${status}`, reason: 'Some' });
  return `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
}

/** Both channels begin with the port. */
function begin(socket: WebSocket): void {
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.from([channel]), PORT]));
}

async function api(user: object = { token: 'first' }, cluster: object = {}): Promise<ClusterApi> {
  const config = {
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://localhost:${(server.address() as AddressInfo).port}`,
          'certificate-authority-data': Buffer.from(pair.certificate).toString('base64'),
          ...cluster,
        },
      },
    ],
    users: [{ name: 'u', user }],
  };
  await writeFile(join(directory, 'config'), JSON.stringify(config));
  const connected = await connect(
    await loadKubeconfig({ kubeconfig: join(directory, 'config') }, {}, directory),
  );
  released.push(() => connected[Symbol.asyncDispose]());
  return connected;
}

async function forward(cluster: ClusterApi): Promise<Duplex> {
  const stream = await portForward(cluster, { namespace: 'shop', pod: 'relay', port: 7000 }, signal);
  released.push(() => stream.destroy());
  return stream;
}

describe('a port-forward', () => {
  it('requests the port, and carries bytes on channel 0 in both directions', async () => {
    kubelet = (socket) => {
      begin(socket);
      socket.on('message', (data) => socket.send(data));
    };
    const stream = await forward(await api());
    expect(urls).toEqual(['/api/v1/namespaces/shop/pods/relay/portforward?ports=7000']);
    stream.write('hello');
    expect(String((await once(stream, 'data'))[0])).toBe('hello');
  });

  it('loses nothing that comes with the handshake', async () => {
    kubelet = (socket) => {
      begin(socket);
      socket.send(Buffer.from('\0early'));
      socket.close(1000);
    };
    expect(Buffer.concat(await (await forward(await api())).toArray()).toString()).toBe('early');
  });

  it.each([
    [
      'the text of the error channel',
      (socket: WebSocket) => socket.send(Buffer.from('\x01connection refused\n')),
      'failed: connection refused',
    ],
    ['a lost connection', (socket: WebSocket) => socket.terminate(), 'connection was lost'],
    ['a close code', (socket: WebSocket) => socket.close(1011, 'no more'), 'closed with code 1011 no more'],
    [
      'a broken frame',
      (socket: WebSocket) => (socket as unknown as { _socket: Duplex })._socket.write('\xff\xff'),
      'Invalid WebSocket frame',
    ],
  ])('fails with %s', async (_name, act, message) => {
    kubelet = (socket) => {
      begin(socket);
      setImmediate(act, socket);
    };
    const stream = await forward(await api());
    await expect(stream.toArray()).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringContaining(message),
    });
  });

  it('is rejected with the cause when its first packet also ends it', async () => {
    kubelet = (socket) => {
      begin(socket);
      socket.send(Buffer.from('\x01connection refused\n'));
    };
    await expect(forward(await api())).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringContaining('failed: connection refused'),
    });
  });

  it('is rejected when it is closed before it has started', async () => {
    kubelet = (socket) => socket.close(1000);
    await expect(forward(await api())).rejects.toMatchObject({ code: 'relay.failed' });
  });

  it('is closed when it is ended here', async () => {
    const closed = Promise.withResolvers<number>();
    kubelet = (socket) => {
      begin(socket);
      socket.on('close', closed.resolve);
    };
    const stream = await forward(await api());
    const gone = once(stream, 'close');
    stream.resume().end('last');
    expect(await closed.promise).toBe(1000);
    await gone;
  });

  it('ends without an error when the server closes the connection', async () => {
    kubelet = (socket) => {
      begin(socket);
      socket.on('message', () => socket.terminate());
    };
    const stream = await forward(await api());
    const gone = once(stream, 'close');
    stream.resume().end('last');
    await gone;
  });

  it.each([400, 404, 500, 503])('is rejected with the answer of the server: %i', async (status) => {
    admit = () => status;
    await expect(forward(await api())).rejects.toMatchObject({
      code: 'relay.failed',
      message: expect.stringMatching(new RegExp(`7000 .*Pod shop/relay .*${status}`)),
      hint: 'kubectl -n shop describe pod relay',
    });
  });

  it('names the permissions when it is forbidden', async () => {
    admit = () => 403;
    await expect(forward(await api())).rejects.toMatchObject({
      code: 'cluster.forbidden',
      message: expect.stringContaining('pods/portforward'),
    });
  });

  it('renews the credentials once', async () => {
    const command = join(directory, 'plugin');
    const credential = (token: string): string =>
      JSON.stringify({
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        status: {
          token,
          expirationTimestamp: token === 'old' ? '2020-01-01T00:00:00Z' : '2099-01-01T00:00:00Z',
        },
      });
    const script = `#!/bin/sh\ncd ${directory}\nif [ -f asked ]; then echo '${credential('new')}'; else touch asked; echo '${credential('old')}'; fi\n`;
    await writeFile(command, script, { mode: 0o755 });
    admit = (authorization) => (authorization === 'Bearer new' ? 101 : 401);
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
    await forward(await api({ exec }));
    expect(urls).toHaveLength(2);
    admit = () => 401;
    await expect(forward(await api())).rejects.toMatchObject({ code: 'cluster.unauthorized' });
  });

  it("uses the kubeconfig's proxy", async () => {
    const asked: string[] = [];
    const proxy = createProxy().on('connect', (request, socket) => {
      asked.push(request.url!);
      const { port } = server.address() as AddressInfo;
      const onward = dial(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const one of [onward, socket]) one.on('error', () => {});
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    released.push(() => proxy.close());
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await forward(await api({ token: 'first' }, { 'proxy-url': url }));
    expect(asked).toEqual([`localhost:${(server.address() as AddressInfo).port}`]);
  });

  it('is rejected for a server that is not trusted, or not there', async () => {
    const other = await selfSignedPair(['localhost'], { days: 1 });
    const ca = Buffer.from(other.certificate).toString('base64');
    await expect(
      forward(await api({ token: 'x' }, { 'certificate-authority-data': ca })),
    ).rejects.toMatchObject({ code: 'relay.failed', message: expect.stringContaining('not trusted') });
    await expect(forward(await api({ token: 'x' }, { server: 'https://localhost:1' }))).rejects.toMatchObject(
      { code: 'relay.failed', message: expect.stringContaining('ECONNREFUSED') },
    );
  });
});
