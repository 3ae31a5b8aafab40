import type { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** The answer of a server that did not switch protocols. */
export interface Refusal {
  status: number;
  text: string;
  /** The value of the Retry-After header. */
  retryAfter?: string;
}

/**
 * Opens a WebSocket. It starts paused, so that nothing is lost before the caller listens: call `resume()`. Rejects with Node's own errors
 * if there is no answer at all, and with the signal's reason if it aborts.
 */
export async function openWebSocket(
  url: URL,
  protocol: string,
  options: ClientRequestArgs & { handshakeTimeout: number },
  signal?: AbortSignal,
): Promise<WebSocket | Refusal> {
  const { WebSocket: Socket } = await import('ws');
  signal?.throwIfAborted();
  // kube-apiserver does not support WebSocket compression.
  const socket = new Socket(url, [protocol], { ...options, perMessageDeflate: false });
  const abandon = (): void => socket.terminate();
  signal?.addEventListener('abort', abandon, { once: true });
  try {
    return await new Promise<WebSocket | Refusal>((resolve, reject) => {
      socket.once('open', () => {
        socket.pause();
        socket.off('error', reject);
        resolve(socket);
      });
      // This listener stays after a refusal, because the library reports the aborted handshake as an error.
      socket.on('error', reject);
      socket.once('unexpected-response', (_request, response) => {
        textOf(response).then((text) => {
          resolve({ status: response.statusCode ?? 0, text });
          socket.terminate();
        }, reject);
      });
    });
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', abandon);
  }
}

/** The options of a GET for `switchProtocol`. */
export function upgradeTo(protocol: string, options: ClientRequestArgs): ClientRequestArgs {
  return { ...options, headers: { ...options.headers, connection: 'Upgrade', upgrade: protocol } };
}

/**
 * Sends a GET that becomes a connection for our own protocol, which the server has to name in its answer. Rejects as
 * `openWebSocket` does. Bytes that came with the answer can be read from the connection.
 */
export async function switchProtocol(
  request: ClientRequest,
  protocol: string,
  signal: AbortSignal,
): Promise<Duplex | Refusal> {
  const abandon = (): void => void request.destroy();
  signal.addEventListener('abort', abandon, { once: true });
  try {
    return await new Promise<Duplex | Refusal>((resolve, reject) => {
      // This listener stays, so that an error before the caller listens does not count as unhandled.
      request.on('error', reject);
      request.once('upgrade', (response, stream: Socket, head) => {
        stream.on('error', () => {});
        if (response.headers.upgrade !== protocol) {
          stream.destroy();
          return resolve({ status: 101, text: `switched to ${response.headers.upgrade}` });
        }
        stream.setNoDelay(true);
        if (head.length > 0) stream.unshift(head);
        resolve(stream);
      });
      request.once('response', (response) => {
        textOf(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
      });
      request.end();
    });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

export async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString('utf8');
}
