import type { ClientRequestArgs, IncomingMessage } from 'node:http';
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

async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString('utf8');
}
