import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '../errors.ts';
import { type Answer, statusAnswer } from './answer.ts';
import { readBody } from './body.ts';
import { forwardable } from './headers.ts';
import { afterFailure, type Failure } from './resend.ts';
import type { Waiting } from './waiting.ts';

export interface Target {
  host: string;
  port: number;
}

export interface ReviewRequest {
  method: string;
  url: string;
  /** Name and value in turn. */
  headers: string[];
  body: Uint8Array;
  /** The name that the client asked for in its TLS handshake. */
  serverName: string | undefined;
}

export interface Forwarder {
  forward(review: ReviewRequest, waiting: Waiting): Promise<Answer>;
  close(): void;
}

const RETRY_MS = 15;

export function createForwarder(target: Target): Forwarder {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return {
    forward: (review, waiting) => forward(agent, target, review, waiting),
    close: () => agent.destroy(),
  };
}

async function forward(agent: Agent, target: Target, review: ReviewRequest, waiting: Waiting) {
  let deaths = 0;
  let over: Agent | false = agent;
  for (;;) {
    const result = await attempt(over, target, review, waiting);
    if ('status' in result) return result;
    const next = afterFailure(result, deaths);
    if (next === 'give-up') return failed(result, deaths);
    const hopeless = next === 'wait' ? waiting.hopeless() : undefined;
    if (hopeless !== undefined) return statusAnswer(503, hopeless);
    // The pool may be full of connections that ended with the old process; one that ends first proves nothing.
    if (next === 'resend' && !result.reused) deaths += 1;
    if (next === 'resend') over = false;
    await sleep(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => waiting.signal.throwIfAborted());
  }
}

function failed(failure: Failure, deaths: number): Answer {
  return statusAnswer(
    502,
    deaths === 0
      ? `the controller could not be asked: ${failure.message}`
      : `the controller closed the connection without a whole answer ${deaths + 1} times; see whether its output shows a panic`,
  );
}

/** One request, over the pool or (`false`) over a connection of its own. Rejects only when the waiting is over; then nothing of the request is left. */
function attempt(agent: Agent | false, target: Target, review: ReviewRequest, waiting: Waiting) {
  const { signal } = waiting;
  signal.throwIfAborted();
  return new Promise<Answer | Failure>((resolve, reject) => {
    waiting.for = 'connection';
    const outgoing = startRequest(agent, target, review);
    const stop = () => {
      outgoing.destroy();
      reject(signal.reason);
    };
    const retryOnConflict = (result: Answer | Failure) => {
      signal.removeEventListener('abort', stop);
      resolve(result);
    };
    signal.addEventListener('abort', stop, { once: true });
    onConnected(outgoing, () => {
      waiting.for = 'answer';
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      retryOnConflict({
        code: error.code,
        message: error.message,
        connected: waiting.for === 'answer',
        reused: outgoing.reusedSocket,
      }),
    );
    outgoing.on(
      'response',
      (incoming) => void readAnswer(incoming, outgoing.reusedSocket).then(retryOnConflict),
    );
    outgoing.end(review.body);
  });
}

function startRequest(agent: Agent | false, target: Target, review: ReviewRequest): ClientRequest {
  const { method, url, body, serverName } = review;
  const bare = body.length === 0 && (method === 'GET' || method === 'HEAD');
  return httpsRequest({
    agent,
    host: target.host,
    port: target.port,
    method,
    path: url,
    headers: bare ? review.headers : [...review.headers, 'Content-Length', String(body.length)],
    servername: serverName ?? '',
    // The controller is a process of this machine, whose certificate is for the name of a Service: there is nothing to verify.
    rejectUnauthorized: false,
  });
}

function onConnected(outgoing: ClientRequest, connected: () => void): void {
  outgoing.on('socket', (socket) => {
    if (outgoing.reusedSocket) connected();
    else (socket as TLSSocket).once('secureConnect', connected);
  });
}

/** An answer that breaks off never reached the client, so it is worth no more than none. */
async function readAnswer(incoming: IncomingMessage, reused: boolean): Promise<Answer | Failure> {
  try {
    const body = await readBody(incoming, Number.POSITIVE_INFINITY);
    return {
      status: incoming.statusCode ?? 502,
      headers: forwardable(incoming.rawHeaders),
      body: body ?? '',
    };
  } catch (error) {
    return { code: 'ECONNRESET', message: messageOf(error), connected: true, reused };
  }
}
