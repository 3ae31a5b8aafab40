import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { createForwarder } from '../../../src/gateway/forward.ts';
import { NAME, pair, until } from './support.ts';

/** A controller that is not one of Node's HTTP servers: it gets the sockets, and the number of each. */
async function rawController(onSocket: (socket: TLSSocket, number: number) => void) {
  let count = 0;
  const server: Server = createServer({ cert: pair.certificate, key: pair.key }, (socket) => {
    count += 1;
    socket.on('error', () => {});
    onSocket(socket, count);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const forwarder = createForwarder({ host: '127.0.0.1', port });
  return {
    post: (body = '{}', url = '/validate') =>
      forwarder.post(
        { url, body: Buffer.from(body), serverName: NAME, arriving() {} },
        AbortSignal.timeout(10_000),
      ),
    get count() {
      return count;
    },
    [Symbol.dispose]() {
      forwarder.close();
      server.close();
    },
  };
}

const answer = (headers = '') => `HTTP/1.1 200 OK\r\n${headers}Content-Length: 2\r\n\r\nok`;

test('a review is one request with its length, for the host that the client asked for', async () => {
  const seen: string[] = [];
  using controller = await rawController((socket) => {
    socket.on('data', (bytes) => {
      seen.push(`${socket.servername}: ${bytes}`);
      socket.write(answer());
    });
  });
  expect(await controller.post('{"größe":1}')).toMatchObject({ status: 200 });
  expect(seen).toEqual([
    `${NAME}: POST /validate HTTP/1.1\r\nHost: ${NAME}\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"größe":1}`,
  ]);
});

test.each([
  ['that says so', (socket: TLSSocket) => void socket.write(answer('Connection: close\r\n'))],
  ['whose answer ends with it', (socket: TLSSocket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nok')],
  ['on which more follows', (socket: TLSSocket) => void socket.write(`${answer()}HTTP/1.1 500 No\r\n`)],
])('a connection %s is not used again', async (_, reply) => {
  using controller = await rawController((socket) => socket.on('data', () => reply(socket)));
  for (let index = 0; index < 3; index++)
    expect(await controller.post()).toMatchObject({ status: 200, body: Buffer.from('ok') });
  expect(controller.count).toBe(3);
});

test('bytes that nobody has asked for close an idle connection, and are no answer to the next review', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  using controller = await rawController((socket, number) => {
    socket.on('data', () => socket.write(answer(`X-Number: ${number}\r\n`)));
    if (number > 1) return;
    socket.once('data', () =>
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!'), 50),
    );
    socket.once('close', resolve);
  });
  await controller.post();
  await closed;
  expect(await controller.post()).toMatchObject({ headers: ['X-Number', '2'], body: Buffer.from('ok') });
});

test('an answer that comes before its review was read is an answer; the connection is not used again', async () => {
  using controller = await rawController((socket) => {
    socket.once('data', () => socket.pause().write(answer()));
  });
  expect(await controller.post('x'.repeat(8 * 2 ** 20))).toMatchObject({ status: 200 });
  expect(await controller.post('x'.repeat(8 * 2 ** 20))).toMatchObject({ status: 200 });
  expect(controller.count).toBe(2);
});

test('what is no HTTP/1.1 is an error that says so', async () => {
  using controller = await rawController((socket) =>
    socket.on('data', () => socket.write('SSH-2.0-x\r\n\r\n')),
  );
  await expect(controller.post()).rejects.toThrow('HTTP/1.1');
});

test('the second connection resumes the TLS session of the first', async () => {
  const resumed: boolean[] = [];
  using controller = await rawController((socket) => {
    resumed.push(socket.isSessionReused());
    socket.on('data', () => socket.write(answer('Connection: close\r\n')));
  });
  await controller.post();
  await controller.post();
  await until(() => resumed.length === 2);
  expect(resumed).toEqual([false, true]);
});
