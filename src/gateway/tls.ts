import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { DevloopError, messageOf } from '../errors.ts';
import { hostPort } from '../machine/addresses.ts';

/** PEM texts. */
export interface KeyPair {
  certificate: string;
  key: string;
}

export interface TlsServer {
  server: Server;
  /** Adds or replaces the key pair of a server name, for new connections. Unknown names get the first pair presented. */
  present(serverName: string, pair: KeyPair): void;
}

export function createTlsServer(warn: (message: string) => void): TlsServer {
  // A Map keeps the position of an entry that is set again, so the first one stays the first.
  const contexts = new Map<string, SecureContext>();
  const contextFor = (name: string) => contexts.get(name.toLowerCase()) ?? contexts.values().next().value;
  const server = createServer({
    SNICallback: (name, done) => done(null, contextFor(name)),
    noDelay: true,
    handshakeTimeout: 10_000,
    // kube-apiserver keeps idle connections for 90 s, unused ones too. It must be the side that closes them: a review that
    // is under way when this side closes would be lost.
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
  return {
    server,
    present(serverName, pair) {
      const name = serverName.toLowerCase();
      contexts.set(name, contextOf(serverName, pair));
      // Node does not call the SNICallback for clients that send no server name.
      if (contexts.keys().next().value === name) {
        server.setSecureContext({ cert: pair.certificate, key: pair.key });
      }
    },
  };
}

function contextOf(serverName: string, { certificate, key }: KeyPair): SecureContext {
  try {
    return createSecureContext({ cert: certificate, key });
  } catch (error) {
    throw new DevloopError(
      'certificate.invalid',
      `The key pair for ${serverName} is not usable: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

const CERTIFICATE_REFUSED = /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_\w+|UNSUPPORTED_CERTIFICATE)/;

/** The warning about a client that does not trust the certificate; undefined for any other failed handshake. */
function certificateRefusal(
  error: NodeJS.ErrnoException,
  serverName: string | undefined,
): string | undefined {
  const alert = CERTIFICATE_REFUSED.exec(error.code ?? '')?.[1];
  if (alert === undefined) return undefined;
  const name = serverName === undefined ? '' : ` for ${serverName}`;
  return `A client refused the certificate${name}: ${alert.toLowerCase().replaceAll('_', ' ')}`;
}

/** Starts to listen; returns the port, which is any free one for `port` 0. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    throw listenFailure(host, port, error);
  }
  return (server.address() as AddressInfo).port;
}

function listenFailure(host: string, port: number, error: unknown): unknown {
  const failed = `The gateway cannot listen on ${hostPort(host, port)}`;
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new DevloopError('port.in-use', `${failed}: another process is using the port`, {
        hint: `Stop that process (find it with: ss -ltnp 'sport = :${port}'), or let devloop choose a port.`,
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
        hint: 'Choose one of the addresses that `ip address` lists.',
        cause: error,
      });
    default:
      return error;
  }
}
