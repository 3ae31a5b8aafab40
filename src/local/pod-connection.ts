import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
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
export async function openPodConnection(api: Pick<ClusterApi, 'forward'>): Promise<PodConnection> {
  const { certificate, key } = await selfSignedPair(['localhost'], { days: DAYS });
  const token = newToken();
  const server = createServer(
    { cert: certificate, key, maxHeaderSize: MOST_HEADERS },
    (request, response) => {
      if (isToken(request.headers.authorization ?? '', `Bearer ${token}`))
        void answer(api, request, response);
      else refuse(response, 401, 'Unauthorized');
    },
  );
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
      await closed;
    },
  };
}

async function answer(
  api: Pick<ClusterApi, 'forward'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
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

/** Answers in the API server's own format, so that clients show the message. */
function refuse(response: ServerResponse, code: number, message: string): void {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code };
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(status));
}
