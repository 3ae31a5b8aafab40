import type { IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { UNVERIFIED } from '../machine/loopback-tls.ts';

/** A POST of JSON to the controller. */
export interface ControllerPost {
  agent: Agent;
  /** On the loopback interface. */
  port: number;
  /** Including the query. */
  path: string;
  body: Buffer;
  /** The name that kube-apiserver asks for in its TLS handshake. */
  serverName?: string;
  /** How much of the answer is read, in bytes. */
  mostBytes?: number;
  signal: AbortSignal;
}

/** What the controller answered, whatever it is. Rejects if nothing answered, and with the signal's reason. */
export async function postToController(post: ControllerPost): Promise<{ status: number; body: Buffer }> {
  const { agent, port, path, body, serverName, mostBytes = Number.POSITIVE_INFINITY, signal } = post;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = httpsRequest({
        ...{ agent, signal, host: '127.0.0.1', port, path, method: 'POST' },
        ...(serverName === undefined ? {} : { servername: serverName }),
        ...UNVERIFIED,
        headers: { 'Content-Type': 'application/json', 'Content-Length': body.length },
      });
      outgoing.on('error', reject).on('response', resolve).end(body);
    });
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > mostBytes) break;
    }
    return { status: incoming.statusCode ?? 0, body: Buffer.concat(chunks) };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}
