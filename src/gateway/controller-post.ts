import type { IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { UNVERIFIED } from '../machine/loopback-tls.ts';

/** A POST of JSON to the controller. */
export interface ControllerPost {
  agent: Agent;
  /** The port on the loopback interface. */
  port: number;
  /** The path, including the query. */
  path: string;
  /** Node writes a text together with the headers, and a buffer after them. */
  body: Buffer | string;
  /** The name that kube-apiserver requests in its TLS handshake. */
  serverName?: string;
  /** How much of the answer is read, in bytes. */
  mostBytes?: number;
  signal: AbortSignal;
}

/**
 * Resolves with the controller's answer, whatever its status. Rejects if nothing answers, or with the signal's reason if the signal aborts.
 */
export async function postToController(post: ControllerPost): Promise<{ status: number; body: Buffer }> {
  const { agent, port, path, body, serverName, mostBytes = Number.POSITIVE_INFINITY, signal } = post;
  signal.throwIfAborted();
  const outgoing = httpsRequest({
    ...{ agent, host: '127.0.0.1', port, path, method: 'POST' },
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...UNVERIFIED,
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
  });
  // This is cheaper than the `signal` of Node's request.
  const end = (): void => void outgoing.destroy();
  signal.addEventListener('abort', end);
  try {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on('error', reject).on('response', resolve).end(body);
    });
    return { status: incoming.statusCode ?? 0, body: await bodyOf(incoming, mostBytes) };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Uses events, since an iterator over the chunks would take as much time as a small answer itself. */
async function bodyOf(incoming: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    incoming.on('error', reject).on('end', resolve);
    incoming.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= mostBytes) return;
      incoming.destroy();
      resolve();
    });
  });
  return Buffer.concat(chunks);
}
