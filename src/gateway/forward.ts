import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { UNVERIFIED } from '../machine/loopback-tls.ts';
import { isOfAnotherUser } from '../machine/port.ts';
import type { Waiting } from './gate.ts';
import { type Answer, forwardable, statusAnswer } from './http.ts';

/** Where the controller listens for reviews. */
export interface ControllerAddress {
  host: string;
  port: number;
  /** Where the manager listens in its Pod, if that is another port. */
  podPort?: number;
}

export interface ReviewRequest {
  url: string;
  /** Alternating name and value. */
  headers: string[];
  body: Uint8Array;
  /** The name that the client asked for in its TLS handshake. */
  serverName: string | undefined;
  /** Called with the number of bytes of each part of the answer. */
  arriving(bytes: number): void;
}

export interface Forwarder {
  /** The controller's answer, once the gate is open, or a Status where it has none to give. Rejects only when the wait is over. */
  forward(review: ReviewRequest, waiting: Waiting): Promise<Answer>;
  /**
   * Posts a review of devloop's own, also while the gate is shut, over connections that the others find open then. Rejects where nothing
   * answers, and with the signal's reason.
   */
  post(review: Omit<ReviewRequest, 'headers'>, signal: AbortSignal): Promise<Answer>;
  close(): void;
}

/** How one attempt to get an answer from the controller failed. */
export interface Failure {
  code: string | undefined;
  message: string;
  /** The TLS connection was up, so the controller may have seen the review. */
  connected: boolean;
  /** The connection came from the pool, and may have ended before the review was sent. */
  reused: boolean;
}

const RETRY_MS = 15;
const MOST_RESENDS = 4;
const CONNECTION_ENDED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

export function createForwarder(controller: ControllerAddress): Forwarder {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return {
    forward: (review, waiting) => forward(agent, controller, review, waiting),
    async post(own, signal) {
      const host = own.serverName ?? controller.host;
      const review = { ...own, headers: ['Host', host, 'Content-Type', 'application/json'] };
      const first = await attempt(agent, controller, review, { for: 'connection', signal });
      const isStale = 'reused' in first && first.reused;
      const last = isStale ? await attempt(false, controller, review, { for: 'connection', signal }) : first;
      if ('status' in last) return last;
      throw new Error(last.message);
    },
    close: () => agent.destroy(),
  };
}

async function forward(
  agent: Agent,
  controller: ControllerAddress,
  review: ReviewRequest,
  waiting: Waiting,
): Promise<Answer> {
  let resends = 0;
  let over: Agent | false = agent;
  for (;;) {
    waiting.for = 'release';
    const instead = await waiting.pass();
    if (instead !== undefined) return instead;
    const result = await attempt(over, controller, review, waiting);
    if ('status' in result) return result;
    const next = afterFailure(result, resends);
    if (next === 'give-up') return failed(controller, result, resends);
    const reason = next === 'wait' ? waiting.lastTry() : undefined;
    if (reason !== undefined) return statusAnswer(503, reason);
    if (next === 'resend') {
      over = false;
      // Not counted for a pooled connection: the pool may be full of connections that ended together with the old process.
      resends += Number(!result.reused);
    }
    await sleep(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => waiting.signal.throwIfAborted());
  }
}

/**
 * `wait`: no controller has seen the review, so another attempt is free. `resend`: the connection ended without an answer,
 * because the old process stopped or closed an idle connection. To call the webhook twice is safe, since Kubernetes requires
 * webhooks to be idempotent; but a handler that panics looks the same, hence the limit.
 */
export function afterFailure(failure: Failure, resends: number): 'wait' | 'resend' | 'give-up' {
  if (failure.code === 'ECONNREFUSED') return 'wait';
  if (failure.code === undefined || !CONNECTION_ENDED.has(failure.code)) return 'give-up';
  if (!failure.connected) return 'wait';
  return resends < MOST_RESENDS ? 'resend' : 'give-up';
}

function failed({ host, port }: ControllerAddress, failure: Failure, resends: number): Answer {
  return statusAnswer(
    502,
    resends === 0
      ? `the controller on ${host}:${port} cannot be called over HTTPS: ${failure.message.trim()}. ` +
          'Check that its webhook server uses that port.'
      : `the controller closed the connection ${resends + 1} times without a complete answer. ` +
          'Check its output for a panic in the webhook handler.',
  );
}

/**
 * One request, over the pool or (`false`) a new connection. Rejects only when the wait is over, and leaves nothing open, unless somebody
 * waits for a late answer.
 */
function attempt(
  agent: Agent | false,
  controller: ControllerAddress,
  review: ReviewRequest,
  waiting: Pick<Waiting, 'for' | 'signal' | 'onLate'>,
): Promise<Answer | Failure> {
  const { signal } = waiting;
  signal.throwIfAborted();
  return new Promise<Answer | Failure>((resolve, reject) => {
    waiting.for = 'connection';
    const outgoing = startRequest(agent, controller, review);
    const stop = () => {
      if (waiting.onLate === undefined || waiting.for !== 'answer') outgoing.destroy();
      reject(signal.reason);
    };
    const settle = (result: Answer | Failure) => {
      if (signal.aborted && 'status' in result) waiting.onLate?.(result);
      signal.removeEventListener('abort', stop);
      resolve(result);
    };
    signal.addEventListener('abort', stop, { once: true });
    onConnected(outgoing, () => {
      waiting.for = 'answer';
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      settle({
        code: error.code,
        message: error.message,
        connected: waiting.for === 'answer',
        reused: outgoing.reusedSocket,
      }),
    );
    outgoing.on('response', (incoming) => {
      incoming.on('data', (chunk: Buffer) => review.arriving(chunk.length));
      void readAnswer(incoming, outgoing.reusedSocket).then(settle);
    });
    outgoing.end(review.body);
  });
}

function startRequest(
  agent: Agent | false,
  controller: ControllerAddress,
  review: ReviewRequest,
): ClientRequest {
  const { url, headers, body, serverName } = review;
  return httpsRequest({
    agent,
    host: controller.host,
    port: controller.port,
    method: 'POST',
    path: url,
    headers: [...headers, 'Content-Length', String(body.length)],
    servername: serverName ?? '',
    ...UNVERIFIED,
  });
}

/** Connections of which it is known whose program has accepted them. */
const known = new WeakSet<Socket>();

/**
 * No connection carries a byte of a review before it is known whose program has accepted it. Which ones the agent hands over, new ones
 * or, also to a request that had to wait for one, old ones, does not matter.
 */
function onConnected(outgoing: ClientRequest, connected: () => void): void {
  outgoing.on('socket', (socket) => {
    if (known.has(socket)) return connected();
    socket.cork();
    whenSecure(socket as TLSSocket, () =>
      isOfAnotherUser(socket).then((isForeign) => {
        if (isForeign) return outgoing.destroy(new Error('another user of this machine listens there'));
        known.add(socket);
        connected();
        return socket.uncork();
      }),
    );
  });
}

function whenSecure(socket: TLSSocket, then: () => void): void {
  if (socket.getFinished() === undefined) socket.once('secureConnect', then);
  else then();
}

/** An incomplete answer counts as none, since nothing of it has been passed to the client. */
function readAnswer(incoming: IncomingMessage, reused: boolean): Promise<Answer | Failure> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
      resolve({ status: incoming.statusCode ?? 502, headers: forwardable(incoming.rawHeaders), body });
    });
    const cut = (message: string): void => resolve({ code: 'ECONNRESET', message, connected: true, reused });
    incoming.on('error', ({ message }) => cut(message));
    incoming.on('close', () => cut('the connection closed'));
  });
}
