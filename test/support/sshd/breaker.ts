import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP relay that can break connections. */
export interface Breaker extends AsyncDisposable {
  port: number;
  /** Resets the open connections. The next connection is reset once the far end has sent this many bytes. */
  breakNext(afterBytes: number): void;
}

export async function relayTo(target: string, port: number, listenOn: string): Promise<Breaker> {
  const sockets = new Set<Socket>();
  let limit = Number.POSITIVE_INFINITY;
  const server = createServer((near) => {
    const far = connect({ host: target, port, noDelay: true });
    let left = limit;
    limit = Number.POSITIVE_INFINITY;
    const cut = (): void => {
      near.resetAndDestroy();
      far.resetAndDestroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', cut).once('close', () => sockets.delete(socket));
    }
    near.setNoDelay(true).pipe(far);
    far.on('data', (chunk) => {
      near.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) setImmediate(cut);
    });
    far.once('end', () => near.end());
  });
  server.listen(0, listenOn);
  await once(server, 'listening');
  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    breakNext(afterBytes) {
      limit = afterBytes;
      reset();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      reset();
    },
  };
}
