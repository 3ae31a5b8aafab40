import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import type { Warning } from '../async.ts';
import { DevloopError, messageOf } from '../errors.ts';
import { hostPort } from '../machine/addresses.ts';
import { commandsHere } from '../machine/commands.ts';
import { listenOn } from '../machine/port.ts';
import { type ServerTls, serverTls } from '../machine/server-tls.ts';
import { notice } from '../report/notices/catalogue.ts';

/** A certificate with its chain, and its key, in PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

export interface TlsServer {
  server: Server;
  /** Adds or replaces the key pair of a server name, for new connections. Other names get the first pair presented. */
  present(serverName: string, pair: KeyPair): void;
  /** Presents a key pair to clients that request its server name, until disposed. */
  presentOnly(serverName: string, pair: KeyPair): Disposable;
}

/** Called when a handshake fails. */
export interface HandshakeEvents {
  warn(warning: Warning): void;
  /** Called if the client did not use TLS, or requested a name that is not presented. */
  stranger(): void;
}

export function createTlsServer({ warn, stranger }: HandshakeEvents): TlsServer {
  // A Map keeps the position of an entry that is set again, so the first one stays the first.
  const contexts = new Map<string, SecureContext>();
  const exact = new Map<string, SecureContext>();
  const contextFor = (name: string) =>
    contexts.get(name) ?? exact.get(name) ?? contexts.values().next().value;
  const server = createServer({
    SNICallback: (name, done) => done(null, contextFor(name.toLowerCase())),
    noDelay: true,
    handshakeTimeout: 10_000,
    // kube-apiserver keeps idle connections for 90 s, even unused ones. It must be the side that closes them: if this side closed one, a
    // review in transit would be lost.
    keepAliveTimeout: 120_000,
    headersTimeout: 120_000,
    requestTimeout: 120_000,
    connectionsCheckingInterval: 5000,
  });
  const secured = new WeakSet<Duplex>();
  server.on('secureConnection', (socket) => void secured.add(socket));
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    const name = socket.servername || '';
    const alert = CERTIFICATE_REFUSED.exec(error.code ?? '')?.[1];
    // A client that has merely left causes no warning, since it may be a health check.
    if (alert !== undefined && contexts.has(name.toLowerCase())) warn(certificateRefused(name, alert));
    else if (error.code !== 'ECONNRESET') stranger();
    socket.destroy();
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Node also reports failed handshakes here.
    if (!secured.has(socket)) return;
    if (error.code !== 'ECONNRESET') stranger();
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  return {
    server,
    present(serverName, pair) {
      const name = serverName.toLowerCase();
      const { context, options } = tlsOf(serverName, pair);
      contexts.set(name, context);
      // Node does not call the SNICallback for clients that send no server name.
      if (contexts.keys().next().value === name) server.setSecureContext(options);
    },
    presentOnly(serverName, pair) {
      const name = serverName.toLowerCase();
      exact.set(name, tlsOf(serverName, pair).context);
      return { [Symbol.dispose]: () => void exact.delete(name) };
    },
  };
}

function tlsOf(serverName: string, pair: KeyPair): ServerTls {
  try {
    return serverTls(pair);
  } catch (error) {
    throw new DevloopError(
      'certificate.invalid',
      `The key pair for ${serverName} is not usable: ${messageOf(error)}`,
      { hint: 'Issue a new certificate. devloop doctor checks it.', cause: error },
    );
  }
}

const CERTIFICATE_REFUSED = /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_\w+|UNSUPPORTED_CERTIFICATE)/;

function certificateRefused(serverName: string, alert: string): Warning {
  const words = alert.toLowerCase().replaceAll('_', ' ');
  return notice('gateway.certificate-refused', { serverName, alert: words });
}

/** Starts to listen; returns the port, which is any free one if `port` is 0. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  try {
    return await listenOn(server, { host, port });
  } catch (error) {
    throw listenFailure(host, port, error);
  }
}

function listenFailure(host: string, port: number, error: unknown): unknown {
  const failed = `The gateway cannot listen on ${hostPort(host, port)}`;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new DevloopError('port.in-use', `${failed}: another process is using the port`, {
        hint: `Stop that process (find it with: ${commandsHere.listeners(port)}), or let devloop choose a port.`,
        cause: error,
      });
    case 'EACCES':
      return new DevloopError('port.in-use', `${failed}: the port is reserved`, {
        hint: 'Choose a port above 1023, or let devloop choose a port.',
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'ENOTFOUND':
      return new DevloopError('route.address', `${failed}: this machine has no such address`, {
        hint: `Choose one of the addresses that \`${commandsHere.addresses}\` lists.`,
        cause: error,
      });
    default:
      return error;
  }
}
