import type { ClientRequestArgs, request as httpRequest, IncomingMessage } from 'node:http';
import type { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** The answer of a server that did not switch protocols. */
export interface Refusal {
  status: number;
  text: string;
}

/**
 * Opens a WebSocket. It is handed over paused, so that nothing is lost before somebody listens: call `resume()`. Rejects with
 * Node's own errors where there is no answer at all, and with the signal's reason.
 */
export async function openWebSocket(
  url: URL,
  protocol: string,
  options: ClientRequestArgs,
  limitMs: number,
  signal?: AbortSignal,
): Promise<WebSocket | Refusal> {
  const { WebSocket: Socket } = await import('ws');
  signal?.throwIfAborted();
  // Of Go's servers, none knows the compression.
  const settings = { ...options, perMessageDeflate: false, handshakeTimeout: limitMs };
  const socket = new Socket(url, [protocol], settings);
  const abandon = (): void => socket.terminate();
  signal?.addEventListener('abort', abandon, { once: true });
  try {
    return await new Promise<WebSocket | Refusal>((resolve, reject) => {
      socket.once('open', () => {
        socket.pause();
        socket.off('error', reject);
        resolve(socket);
      });
      // Stays after a refusal: giving up on the handshake is an error to the library.
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

/**
 * A GET that becomes a connection for a protocol of our own, which the server has to name in its answer. Rejects as
 * `openWebSocket` does. What came along with the answer is there to be read.
 */
export async function openTunnel(
  send: typeof httpRequest | typeof httpsRequest,
  url: URL,
  protocol: string,
  options: ClientRequestArgs,
  signal: AbortSignal,
): Promise<Duplex | Refusal> {
  signal.throwIfAborted();
  const headers = { ...options.headers, connection: 'Upgrade', upgrade: protocol };
  const request = send(url, { ...options, headers } as ClientRequestArgs);
  const abandon = (): void => void request.destroy();
  signal.addEventListener('abort', abandon, { once: true });
  try {
    return await new Promise<Duplex | Refusal>((resolve, reject) => {
      // Stays: what breaks before somebody listens must not count as an error that nobody handles.
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

async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString('utf8');
}
