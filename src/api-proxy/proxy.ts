import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { selfSignedPair } from '../certificates/self-signed.ts';
import { afterSleep } from '../machine/elapsed.ts';
import { isOfAnotherUser, listenOn } from '../machine/port.ts';
import { isToken, newToken } from '../machine/token.ts';
import { headOf, refuse } from './answers.ts';
import { type ApiProxyParts, passOn, passOnUpgrade } from './pass-on.ts';

/** How a program finds the API proxy. A Pod's program finds the API server by the same variables, and the files of its ServiceAccount. */
export interface ApiProxyAccess {
  variables: Record<string, string>;
  files: { token: string; 'ca.crt': string };
  /** The socket on which a controller that devloop built reports its reconciles. */
  reports?: string | undefined;
}

export interface ApiProxy extends ApiProxyAccess, AsyncDisposable {}

const DAYS = 30;
const MOST_LISTENERS = 20;
const LOOK_EVERY_MS = 2_000;
/** A busy machine delays a timer for less time than this. NAT and VPNs keep connections for longer. */
const ASLEEP_MS = 15_000;
/** The API server's own limit. A selector can make a path long. */
const MOST_HEADERS = 2 ** 20;

/**
 * Listens on loopback for the controller, and forwards what it asks of the API server. Requests without the token in the session's
 * directory are refused.
 */
export async function openApiProxy(parts: ApiProxyParts): Promise<ApiProxy> {
  const { certificate, key } = await selfSignedPair(['localhost'], { days: DAYS });
  const token = newToken();
  const isOurs = ({ headers }: IncomingMessage): boolean =>
    isToken(headers.authorization ?? '', `Bearer ${token}`);
  const server = createServer(
    { cert: certificate, key, maxHeaderSize: MOST_HEADERS },
    (request, response) => {
      if (isOurs(request)) void passOn(parts, request, response);
      else refuse(response, { code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
    },
  );
  const switched = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    switched.add(socket);
    // Node's own listeners and those of the stream in both directions are more than ten.
    socket.setMaxListeners(MOST_LISTENERS);
    socket.once('close', () => switched.delete(socket)).on('error', () => socket.destroy());
    if (head.length > 0) socket.unshift(head);
    if (isOurs(request)) void passOnUpgrade(parts, request, socket);
    else socket.end(headOf(401, {}));
  });
  // Other users have no token, but they could use up connections.
  server.on('connection', (socket) => {
    void isOfAnotherUser(socket as Socket).then((isForeign) => isForeign && socket.destroy());
  });
  const closeAll = (): void => {
    server.closeAllConnections();
    for (const socket of switched) socket.destroy();
  };
  // The connections to the API server may be dead without notice, and the controller would wait for events that never come.
  const sleeping = afterSleep(closeAll, {
    everyMs: LOOK_EVERY_MS,
    asleepMs: ASLEEP_MS,
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  return {
    // This is not the IP address, because the certificate contains only names.
    variables: { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: String(port) },
    files: { token, 'ca.crt': certificate },
    reports: parts.reports,
    async [Symbol.asyncDispose]() {
      sleeping[Symbol.dispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      closeAll();
      await closed;
    },
  };
}
