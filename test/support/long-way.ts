import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A port from which everything takes `ms` to reach a port of this machine, and as long to come back. */
export async function longWay(port: number, ms: number): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const carry = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (bytes) => setTimeout(() => to.write(bytes), ms));
    from.on('error', () => to.destroy());
    from.on('close', () => setTimeout(() => to.end(), ms));
  };
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    carry(near, far);
    carry(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
