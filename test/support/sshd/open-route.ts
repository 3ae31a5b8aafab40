import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { Route } from '../../../src/route/route.ts';
import { type SshOptions, sshRoute } from '../../../src/route/ssh/route.ts';
import type { TestSshd } from './sshd.ts';

/** A port of this machine in place of a gateway's. The test decides what happens to a connection. */
export interface Target extends AsyncDisposable {
  port: number;
  sockets: Set<Socket>;
}

export async function listenHere(serve: (socket: Socket) => void): Promise<Target> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export const echo = (socket: Socket): void => void socket.pipe(socket);

/** A route with its events, and a way to wait for more of them. */
export interface OpenRoute extends AsyncDisposable {
  route: Route;
  events: DevloopEvent[];
  /** The first event of a type from the given index on, even if it has happened already. */
  next(type: DevloopEvent['type'], from?: number, limitMs?: number): Promise<DevloopEvent>;
}

export async function openRoute(
  sshd: Pick<TestSshd, 'to' | 'env'>,
  gatewayPorts: number[],
  options: Partial<SshOptions> = {},
): Promise<OpenRoute> {
  const events: DevloopEvent[] = [];
  const arrivals = new EventTarget();
  const route = await sshRoute({
    to: sshd.to,
    gatewayPorts,
    env: sshd.env,
    emit(event) {
      events.push(event);
      arrivals.dispatchEvent(new Event('event'));
    },
    signal: new AbortController().signal,
    ...options,
  });
  return {
    route,
    events,
    async next(type, from = 0, limitMs = 30_000) {
      const limit = AbortSignal.timeout(limitMs);
      for (;;) {
        const found = events.slice(from).find((event) => event.type === type);
        if (found) return found;
        await once(arrivals, 'event', { signal: limit }).catch((cause: unknown) => {
          throw new Error(`no ${type} within ${limitMs} ms: ${JSON.stringify(events)}`, { cause });
        });
      }
    },
    [Symbol.asyncDispose]: () => route[Symbol.asyncDispose](),
  };
}

/** Sends bytes, ends its side, and reads until the far end ends, too. */
export async function exchange(
  host: string,
  port: number,
  bytes: Buffer | string,
  limitMs = 15_000,
): Promise<Buffer> {
  const socket = connect({ host, port, allowHalfOpen: true });
  const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${limitMs} ms`)), limitMs);
  try {
    await once(socket, 'connect');
    socket.end(bytes);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
