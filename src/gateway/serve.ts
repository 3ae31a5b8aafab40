import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { messageOf } from '../errors.ts';
import { type Answer, statusAnswer } from './answer.ts';
import { readBody } from './body.ts';
import { budgetOf, patienceFor } from './budget.ts';
import type { Forwarder, Target } from './forward.ts';
import { forwardable } from './headers.ts';
import type { Gate } from './hold.ts';
import { answerProbe, probeNonce } from './probe.ts';
import { answerAtEnd, type End, type Waiting } from './waiting.ts';

export interface Serving {
  session: string;
  target: Target;
  gate: Gate;
  forwarder: Forwarder;
  /** Aborted when the gateway closes: what only waits is answered at once. */
  closing: AbortSignal;
  warn: (message: string) => void;
}

const BODY_LIMIT = 16 * 1024 * 1024;

/** Answers one request, whatever happens; never rejects. */
export async function serve(
  serving: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = request.url ?? '/';
  const patienceMs = patienceFor(budgetOf(url));
  const end = new AbortController();
  const deadline = performance.now() + patienceMs;
  const hopeless = () => serving.gate.hopeless(deadline);
  const waiting: Waiting = { for: 'body', signal: end.signal, hopeless };
  const finish = (why: End) => end.abort(why);
  const timer = setTimeout(finish, patienceMs, 'budget-used');
  const onGone = () => finish('client-gone');
  const onClosing = () => {
    // A review that the controller has already may still be answered while the gateway closes.
    if (waiting.for !== 'answer') finish('gateway-closed');
  };
  response.once('close', onGone);
  serving.closing.addEventListener('abort', onClosing);
  if (serving.closing.aborted) onClosing();
  try {
    const answer = await answerRequest(serving, request, url, waiting).catch((error: unknown) => {
      const why = endOf(end.signal, request);
      const { host, port } = serving.target;
      if (why !== undefined) return answerAtEnd(why, waiting.for, patienceMs / 1000, `${host}:${port}`);
      return statusAnswer(500, `this is a bug of devloop: ${messageOf(error)}`);
    });
    if (answer !== undefined) send(serving, request, response, answer);
  } catch (error) {
    // The answer of the controller cannot be said in HTTP.
    serving.warn(`${request.method} ${url} failed: ${messageOf(error)}`);
    response.destroy();
  } finally {
    clearTimeout(timer);
    response.off('close', onGone);
    serving.closing.removeEventListener('abort', onClosing);
  }
}

function endOf(signal: AbortSignal, request: IncomingMessage): End | undefined {
  if (signal.aborted) return signal.reason as End;
  // A request that breaks off tells before its response does.
  return request.destroyed && !request.complete ? 'client-gone' : undefined;
}

async function answerRequest(
  serving: Serving,
  request: IncomingMessage,
  url: string,
  waiting: Waiting,
): Promise<Answer> {
  const body = await readBody(request, BODY_LIMIT, waiting.signal);
  if (body === undefined) return statusAnswer(413, `the request is longer than ${BODY_LIMIT / 2 ** 20} MiB`);
  const nonce = probeNonce(url);
  if (nonce !== undefined) return answerProbe(nonce, serving.session, body.toString('utf8'));
  waiting.for = 'release';
  await serving.gate.pass(waiting.signal);
  const review = {
    method: request.method ?? 'POST',
    url,
    headers: forwardable(request.rawHeaders),
    body,
    serverName: (request.socket as TLSSocket).servername || undefined,
  };
  return await serving.forwarder.forward(review, waiting);
}

function send(serving: Serving, request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (typeof answer.body === 'string' && answer.status >= 500) {
    serving.warn(`${request.method} ${request.url?.split('?')[0]} failed: ${statusMessage(answer.body)}`);
  }
  if (response.destroyed) return;
  // A request that did not arrive whole leaves its connection in the middle of a message.
  if (!request.complete) response.shouldKeepAlive = false;
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  response.writeHead(answer.status, [...answer.headers, 'Content-Length', String(body.length)]);
  response.end(body);
}

function statusMessage(body: string): string {
  const { message } = JSON.parse(body) as { message: string };
  return message.replace(/^devloop: /, '');
}
