import { validateHeaderValue } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { requiresClientCertificate, type TlsEndpoint } from '../machine/loopback-tls.ts';
import type { Exchange, Failure } from './controller-connection.ts';
import { type ControllerPool, createControllerPool } from './controller-pool.ts';
import type { Waiting } from './gate.ts';
import { type Answer, statusAnswer } from './http.ts';

/** Where the controller listens for reviews. */
export interface ControllerAddress {
  host: string;
  port: number;
  /** Where the manager listens in its Pod, if that is another port. */
  podPort?: number;
}

export interface ReviewRequest {
  url: string;
  /** Names and values, alternating. */
  headers: string[];
  body: Uint8Array;
  /** The name that the client requested in its TLS handshake. */
  serverName: string | undefined;
  /** Called with the length of each part of the answer's body, in bytes. */
  arriving(bytes: number): void;
}

export interface Forwarder {
  /**
   * Resolves with the controller's answer, once the gate is open, or with a Status if there is no answer. Rejects only when the wait is
   * over.
   */
  forward(review: ReviewRequest, waiting: Waiting): Promise<Answer>;
  /**
   * Posts a review of devloop's own, even while the gate is shut, over connections that later reviews reuse. Rejects if nothing answers, or
   * with the signal's reason if the signal aborts.
   */
  post(review: Omit<ReviewRequest, 'headers'>, signal: AbortSignal): Promise<Answer>;
  close(): void;
}

const RETRY_MS = 15;
const MOST_RESENDS = 4;
const CONNECTION_ENDED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

export function createForwarder(controller: ControllerAddress): Forwarder {
  const pool = createControllerPool(controller);
  return {
    forward: (review, waiting) => forward(pool, controller, review, waiting),
    async post(own, signal) {
      const host = own.serverName ?? controller.host;
      const review = { ...own, headers: ['Host', host, 'Content-Type', 'application/json'] };
      const first = await attempt(pool, review, { for: 'connection', signal });
      const isStale = 'reused' in first && first.reused;
      const last = isStale ? await attempt(pool, review, { for: 'connection', signal }, true) : first;
      if ('status' in last) return last;
      throw Object.assign(new Error(last.message), { code: last.code });
    },
    close: pool.close,
  };
}

async function forward(
  pool: ControllerPool,
  controller: ControllerAddress,
  review: ReviewRequest,
  waiting: Waiting,
): Promise<Answer> {
  let resends = 0;
  let isNew = false;
  for (;;) {
    waiting.for = 'release';
    const instead = await waiting.pass();
    if (instead !== undefined) return instead;
    const result = await attempt(pool, review, waiting, isNew);
    if ('status' in result) return result;
    const next = afterFailure(result, resends);
    if (next === 'give-up')
      return await failed({ ...controller, serverName: review.serverName }, result, resends);
    const reason = next === 'wait' ? waiting.lastTry() : undefined;
    if (reason !== undefined) return statusAnswer(503, reason);
    if (next === 'resend') {
      isNew = true;
      // The end of a pooled connection is not counted, because the pool may be full of connections that ended together with the old
      // process.
      resends += Number(!result.reused);
    }
    await sleep(RETRY_MS, undefined, { signal: waiting.signal }).catch(() => waiting.signal.throwIfAborted());
  }
}

/**
 * `wait`: no controller has seen the review, so another attempt is free. `resend`: the connection ended without an answer, because the old
 * process stopped or closed an idle connection. Calling the webhook twice is safe, since Kubernetes requires webhooks to be idempotent; but
 * a handler that panics looks the same, so the number of resends is limited.
 */
export function afterFailure(failure: Failure, resends: number): 'wait' | 'resend' | 'give-up' {
  if (failure.code === 'ECONNREFUSED') return 'wait';
  if (failure.code === undefined || !CONNECTION_ENDED.has(failure.code)) return 'give-up';
  if (!failure.connected) return 'wait';
  return resends < MOST_RESENDS ? 'resend' : 'give-up';
}

async function failed(endpoint: TlsEndpoint, failure: Failure, resends: number): Promise<Answer> {
  const { host, port } = endpoint;
  if (await requiresClientCertificate(failure.code, endpoint))
    return statusAnswer(
      502,
      `the controller on ${host}:${port} requires a client certificate, and devloop has none to present`,
    );
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
 * Sends one request; with `isNew`, over a new connection. Rejects only when the wait is over. Leaves nothing open then, unless somebody
 * waits for a late answer.
 */
function attempt(
  pool: ControllerPool,
  review: ReviewRequest,
  waiting: Pick<Waiting, 'for' | 'signal' | 'onLate'>,
  isNew = false,
): Promise<Answer | Failure> {
  const { signal } = waiting;
  const { serverName = '' } = review;
  signal.throwIfAborted();
  const bytes = requestBytes(review);
  return new Promise<Answer | Failure>((resolve, reject) => {
    waiting.for = 'connection';
    const exchange: Exchange = {
      ...{ bytes, onArriving: review.arriving },
      onConnected() {
        waiting.for = 'answer';
      },
      onEnd(result) {
        if (signal.aborted && 'status' in result) waiting.onLate?.(result);
        signal.removeEventListener('abort', stop);
        resolve(result);
      },
    };
    const stop = () => {
      if (waiting.onLate === undefined || waiting.for !== 'answer') pool.cancel(serverName, exchange);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    pool.send(serverName, exchange, isNew);
  });
}

/** The request in one piece, since each write to a TLS connection is slow. Node has parsed the header names, so they need no check. */
function requestBytes({ url, headers, body }: ReviewRequest): Buffer {
  let head = `POST ${url} HTTP/1.1\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    const [name, value] = [headers[index]!, headers[index + 1]!];
    validateHeaderValue(name, value);
    head += `${name}: ${value}\r\n`;
  }
  head += `Content-Length: ${body.length}\r\n\r\n`;
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, 'latin1');
  bytes.set(body, head.length);
  return bytes;
}
