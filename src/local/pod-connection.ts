import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { selfSignedPair } from '../certificates/self-signed.ts';
import type { ClusterApi } from '../cluster/api/client.ts';
import { endToEnd } from '../cluster/api/pass-on.ts';
import { messageOf } from '../errors.ts';
import { isOfAnotherUser, listenOn } from '../machine/port.ts';
import { isToken, newToken } from '../machine/token.ts';

/** How a program in a Pod finds the API server: through two variables, and the files of its ServiceAccount. */
export interface PodConnection extends AsyncDisposable {
  variables: Record<string, string>;
  files: Record<string, string>;
}

const DAYS = 30;
/** The API server's own limit. A selector can make a path long. */
const MOST_HEADERS = 2 ** 20;

/**
 * Listens on loopback for programs that cannot read a kubeconfig, and forwards their requests with the user's credentials. Requests without
 * the token in the session's directory are refused.
 */
export async function openPodConnection(api: Api): Promise<PodConnection> {
  const { certificate, key } = await selfSignedPair(['localhost'], { days: DAYS });
  const token = newToken();
  const isOurs = ({ headers }: IncomingMessage): boolean =>
    isToken(headers.authorization ?? '', `Bearer ${token}`);
  const server = createServer(
    { cert: certificate, key, maxHeaderSize: MOST_HEADERS },
    (request, response) => {
      if (isOurs(request)) void answer(api, request, response);
      else refuse(response, 401, 'Unauthorized');
    },
  );
  const switched = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    switched.add(socket);
    socket.once('close', () => switched.delete(socket)).on('error', () => socket.destroy());
    if (head.length > 0) socket.unshift(head);
    if (isOurs(request)) void answerUpgrade(api, request, socket);
    else socket.end(headOf(401, {}));
  });
  // Other users have no token, but they could use up connections.
  server.on('connection', (socket) => {
    void isOfAnotherUser(socket as Socket).then((isForeign) => isForeign && socket.destroy());
  });
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  return {
    // This is not the IP address, because the certificate contains only names.
    variables: { KUBERNETES_SERVICE_HOST: 'localhost', KUBERNETES_SERVICE_PORT: String(port) },
    files: { token, 'ca.crt': certificate },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      for (const socket of switched) socket.destroy();
      await closed;
    },
  };
}

type Api = Pick<ClusterApi, 'forward' | 'forwardUpgrade'>;

async function answer(api: Api, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    const { method = 'GET', url: path = '/', headers } = request;
    const body = await buffer(request);
    const answered = await api.forward({ method, path, headers, body, signal: gone.signal });
    response.writeHead(answered.statusCode ?? 502, endToEnd(answered.headers));
    // A watch may send nothing at first, and the client waits for the headers.
    response.flushHeaders();
    await pipeline(answered, response);
  } catch (error) {
    if (!response.headersSent) refuse(response, 502, messageOf(error));
    else response.destroy();
  }
}

/** For `exec`, `attach` and `port-forward`, and for watches over WebSockets. */
async function answerUpgrade(api: Api, request: IncomingMessage, socket: Duplex): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  try {
    const { method = 'GET', url: path = '/', headers } = request;
    const { answer, connection } = await api.forwardUpgrade({ method, path, headers, signal: gone.signal });
    const own = endToEnd(answer.headers);
    if (connection === undefined) {
      socket.write(headOf(answer.statusCode ?? 502, own));
      return await pipeline(answer, socket);
    }
    socket.write(headOf(101, { ...own, connection: 'Upgrade', upgrade: answer.headers.upgrade }));
    await Promise.all([pipeline(socket, connection), pipeline(connection, socket)]);
  } catch {
    socket.destroy();
  }
}

/** The first lines of an answer, after which the connection ends or speaks another protocol. */
function headOf(status: number, headers: IncomingHttpHeaders): string {
  const fields = Object.entries({ connection: 'close', ...headers }).flatMap(([name, values = []]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, ...fields, '', ''].join('\r\n');
}

/** Answers in the API server's own format, so that clients show the message. */
function refuse(response: ServerResponse, code: number, message: string): void {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code };
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(status));
}
