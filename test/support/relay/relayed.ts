import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { relayRoute } from '../../../src/route/relay/relay.ts';
import type { Route } from '../../../src/route/route.ts';
import { type Cutter, startCutter } from './cutter.ts';
import { dialTcp, type RelayProgram, type RelayProgramOptions, startRelayProgram } from './program.ts';

export interface Relayed extends AsyncDisposable {
  program: RelayProgram;
  cutter: Cutter;
  route: Route;
  events: DevloopEvent[];
  /** A connection to the Pod's port, like kube-apiserver's. */
  call(): Promise<Socket>;
}

/** The real relay program, and a route from it to the gateway over a connection that can be cut. */
export async function startRelayed(
  gateway: Pick<Server, 'address'>,
  options: RelayProgramOptions & { signal?: AbortSignal } = {},
): Promise<Relayed> {
  await using stack = new AsyncDisposableStack();
  const program = stack.use(await startRelayProgram(options));
  const cutter = stack.use(await startCutter(program.controlPort));
  const events: DevloopEvent[] = [];
  const route = stack.use(
    await relayRoute({
      pod: { namespace: 'shop', name: 'devloop-relay-4f2a' },
      pods: { app: 'relay' },
      ports: new Map([[portOf(gateway), program.port]]),
      dial: () => dialTcp(cutter.port),
      keys: program.keys,
      emit: (event) => events.push(event),
      signal: options.signal ?? new AbortController().signal,
    }),
  );
  const all = stack.move();
  return {
    program,
    cutter,
    route,
    events,
    call: () => callPort(program.port),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export async function callPort(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
  await once(socket, 'connect');
  return socket.on('error', () => {});
}

/** Sends a text and returns the answer. Then it ends the connection, unless the connection is to stay open. */
export async function echo(socket: Socket, words: string, then: 'open' | 'end' = 'end'): Promise<string> {
  socket.write(words);
  const [answer] = await once(socket, 'data');
  if (then === 'end') socket.destroy();
  return String(answer);
}

export interface TestGateway extends Server {
  readonly open: ReadonlySet<Socket>;
}

/** Listens on any free port of 127.0.0.1, like a gateway. Disposing also closes its connections. */
export async function listenAsGateway(serve: (socket: Socket) => void): Promise<TestGateway> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    open.add(socket);
    // Connections that are still open when a test ends are reset.
    socket.on('error', () => {}).once('close', () => open.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(server, {
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
}

export function portOf(server: Pick<Server, 'address'>): number {
  return (server.address() as { port: number }).port;
}
