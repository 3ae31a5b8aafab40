import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Cutter extends AsyncDisposable {
  readonly port: number;
  /** How many connections were made through it. */
  readonly count: number;
  /** Breaks the open connections: with a reset, or with an end. */
  cut(how: 'reset' | 'end'): void;
  /** While this is on, all bytes are dropped, and nothing is closed. */
  blackHole(on: boolean): void;
  /** While this is on, new connections are refused. */
  refuse(on: boolean): void;
}

/** A TCP proxy in front of the control port or the API server that breaks connections, as load balancers do. */
export async function startCutter(target: number, host = '127.0.0.1'): Promise<Cutter> {
  const open = new Set<Socket>();
  let count = 0;
  let hole = false;
  let refused = false;
  const server = createServer({ noDelay: true }, (near) => {
    if (refused) return near.resetAndDestroy();
    count += 1;
    const far = connect({ host, port: target, noDelay: true });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('data', (chunk) => hole || other.write(chunk));
      one.on('error', () => {});
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    get count() {
      return count;
    },
    cut(how) {
      for (const socket of open) how === 'reset' ? socket.resetAndDestroy() : socket.destroy();
    },
    blackHole(on) {
      hole = on;
    },
    refuse(on) {
      refused = on;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
