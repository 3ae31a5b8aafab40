import { createServer, type Server } from 'node:https';
import type { Emit } from '../report/events.ts';
import { type Connections, trackConnections } from './connections.ts';
import { createForwarder, type Target } from './forward.ts';
import { createGate } from './hold.ts';
import { createKeyPairs, type KeyPairs } from './key-pairs.ts';
import { listen } from './listen.ts';
import { certificateRefusal, createWarner } from './refusals.ts';
import { serve } from './serve.ts';

export interface GatewayOptions {
  host: string;
  /** 0 or absent: any free one. */
  port?: number;
  session: string;
  /** Where the controller listens, now or later. */
  target: Target;
  emit: Emit;
}

/** The TLS server on this machine where the route ends. */
export interface Gateway extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Adds or replaces the key pair for a server name, for new connections. Unknown names get the first one presented. */
  present(serverName: string, pair: { certificate: string; key: string }): void;
  /** From now on reviews wait, within their budget. Calls do not count: one release ends it. */
  hold(): void;
  /** Lets the waiting ones go, in order. */
  release(): void;
  /** Nobody will answer for so many milliseconds: reviews whose budget ends earlier are refused at once. Ends with the next `hold`. */
  failFast(why: string, ms: number): void;
  readonly held: number;
  /** From now on every connection gets one more answer, which closes it: a client that is busy is gone before `drain`. No way back. */
  closeAfterNextAnswer(): void;
  /**
   * Lets go of the clients: idle connections are closed at once, busy ones after their answer, later ones after their first.
   * Resolves when the connections of now are gone. There is no way back.
   */
  drain(): Promise<void>;
}

/** How long answers may take that are on their way when the gateway closes. */
const CLOSE_MS = 2000;

export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, session, target, emit } = options;
  const keyPairs = createKeyPairs();
  const gate = createGate();
  const forwarder = createForwarder(target);
  const closing = new AbortController();
  const warn = createWarner(emit);
  const server = createTlsServer(keyPairs, warn);
  const connections = trackConnections(server);
  const serving = { session, target, gate, forwarder, closing: closing.signal, warn };
  server.on('request', (request, response) => {
    connections.track(request, response);
    void serve(serving, request, response);
  });
  const port = await listen(server, host, options.port ?? 0);
  let closed: Promise<void> | undefined;
  return {
    host,
    port,
    present(serverName, pair) {
      keyPairs.present(serverName, pair);
      // Clients that send no server name do not come by the SNICallback.
      if (keyPairs.isFirst(serverName)) server.setSecureContext({ cert: pair.certificate, key: pair.key });
    },
    hold: gate.hold,
    release: gate.release,
    failFast: gate.failFast,
    get held() {
      return gate.held;
    },
    closeAfterNextAnswer: connections.closeAfterNextAnswer,
    drain: connections.drain,
    [Symbol.asyncDispose]() {
      closed ??= close(server, connections, closing).finally(forwarder.close);
      return closed;
    },
  };
}

function createTlsServer(keyPairs: KeyPairs, warn: (message: string) => void): Server {
  const server = createServer({
    SNICallback: (name, done) => done(null, keyPairs.contextFor(name)),
    noDelay: true,
    handshakeTimeout: 10_000,
    // kube-apiserver keeps idle connections for 90 s, unused ones too. It has to be the one that closes: a review
    // that crosses our closing on the wire is lost. So nothing idle ends earlier here.
    keepAliveTimeout: 120_000,
    headersTimeout: 120_000,
    requestTimeout: 120_000,
    connectionsCheckingInterval: 5000,
  });
  server.on('tlsClientError', (error, socket) => {
    const message = certificateRefusal(error, socket.servername || undefined);
    if (message !== undefined) warn(message);
    socket.destroy();
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  return server;
}

async function close(server: Server, connections: Connections, closing: AbortController): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  closing.abort();
  void connections.drain();
  connections.destroyIdle();
  const timer = setTimeout(() => connections.destroyAll(), CLOSE_MS);
  await ended;
  clearTimeout(timer);
}
