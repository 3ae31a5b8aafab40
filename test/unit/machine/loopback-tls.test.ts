import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { requiresClientCertificate } from '../../../src/machine/loopback-tls.ts';

/** A record with a HelloRequest, which TLS 1.2 lets a client ignore, so the handshake never ends. */
const HELLO_REQUEST = Buffer.from('160303000400000000', 'hex');

it('a server that never lets the handshake end is given up', async () => {
  const flood = (socket: Socket): void => {
    socket.on('error', () => {});
    const more = (): void => {
      while (socket.writable && socket.write(Buffer.concat(Array(1000).fill(HELLO_REQUEST))));
    };
    socket.on('drain', more);
    more();
  };
  const server = createServer(flood).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await requiresClientCertificate('EPROTO', { host: '127.0.0.1', port })).toBe(false);
});
