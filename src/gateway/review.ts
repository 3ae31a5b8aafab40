import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import type { Warning } from '../async.ts';
import { messageOf } from '../errors.ts';
import { dateOf } from '../machine/elapsed.ts';
import { notice } from '../report/notices/catalogue.ts';
import { type Bodies, type HeldAnswer, LARGEST_BODY } from './bodies.ts';
import { budgetOf, patienceFor } from './budget.ts';
import type { ControllerAddress, Forwarder } from './forward.ts';
import type { Gate, Waiting } from './gate.ts';
import type { ReviewHooks, ServedReview } from './hooks.ts';
import { type Answer, forwardable, lastAnswer, lateAnswer, statusAnswer } from './http.ts';
import { answerOwn, type OwnAnswers } from './own.ts';
import { type Paths, pathOf } from './paths.ts';
import { answerProbe, probeNonce } from './probe.ts';
import { stamped } from './stamp.ts';
import { answerAtEnd, type End, inPlaceOf } from './unanswered.ts';

const UNREAD_MS = 10_000;
/** An answer of fewer bytes is cheap to copy. */
const SHORT = 64 * 1024;

/** What all reviews of one gateway share. */
export interface ReviewContext {
  sessionId: string;
  controller: ControllerAddress;
  gate: Gate;
  forwarder: Forwarder;
  paths: Paths;
  bodies: Bodies;
  answers: Bodies;
  /** Called for a complete review or probe. */
  recognize(request: IncomingMessage, what: 'review' | 'probe'): void;
  /** How long the client's dialling and the return of the answer take together, in ms, estimated from the connection. */
  travelMs(request: IncomingMessage): number;
  /** Called for any other request. */
  countStranger(url: string): void;
  closing: Closing;
  /** The reviews that devloop answers itself, while it changes the objects that they are about. */
  owns: ReadonlySet<OwnAnswers>;
  hooks: ReviewHooks;
  warn: (warning: Warning) => void;
}

/** When the gateway closes, reviews that have not reached the controller are answered at once. */
export interface Closing {
  hasBegun: boolean;
  /** Called when the closing begins. A listener of an AbortSignal for each review would take ten times as long. */
  listeners: Set<() => void>;
}

/** The times and parts of a review in progress. The times are on the clock of `performance.now()`. */
interface Trace {
  arrived: number;
  released?: number;
  body?: Buffer;
  faults?: string[];
  served?: ServedReview;
}

/** Answers one request in any case; never rejects. */
export async function serveReview(
  context: ReviewContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = request.url ?? '/';
  const { gate, hooks } = context;
  const trace: Trace = { arrived: performance.now() };
  const budgetMs = budgetOf(url);
  const patienceMs = patienceFor(budgetMs, context.travelMs(request));
  const end = new AbortController();
  const deadline = performance.now() + patienceMs;
  const waiting: Waiting = {
    for: 'body',
    signal: end.signal,
    async pass() {
      const refusal = await pass(context, url, deadline, end.signal);
      trace.released = performance.now();
      return refusal;
    },
    lastTry: () => gate.lastTry,
    onLate: hooks.late && lateTo(hooks.late, trace),
  };
  const finish = (why: End) => end.abort(why);
  const timer = setTimeout(finish, patienceMs, 'budget-used');
  const onGone = () => finish('client-gone');
  const onClosing = () => {
    // The controller may still answer a review that it already has.
    if (waiting.for !== 'answer') finish('gateway-closed');
  };
  response.once('close', onGone);
  context.closing.listeners.add(onClosing);
  if (context.closing.hasBegun) onClosing();
  try {
    const onDropped = () => finish('no-room');
    const given = await answerOf(context, { request, trace, onDropped }, waiting).catch((error: unknown) => {
      const why = endOf(end.signal, request);
      const { controller } = context;
      const session = { controller, isHeldForUser: gate.isHeldForUser, stoppedAt: hooks.stoppedAt?.() };
      if (why !== undefined)
        return answerAtEnd(why, { waitedFor: waiting.for, budgetMs, patienceMs, ...session });
      return statusAnswer(500, `unexpected error, which is a bug in devloop: ${messageOf(error)}`);
    });
    // When the session ends, the failurePolicy applies again.
    const { onTimeout = 'fail' } = gate.lastTry === undefined ? hooks : {};
    const answer = given && inPlaceOf(given, trace.body, onTimeout);
    if (answer !== undefined) send(context, { request, trace }, response, answer);
    if (trace.body) {
      const { body } = trace;
      const port = podPortOf(context.controller);
      trace.served = servedReview({ ...trace, body }, { url, budgetMs, port }, answer);
      hooks.served?.(trace.served);
    }
  } catch (error) {
    // Node refuses to send the controller's answer, for example because of a header that HTTP does not allow.
    context.warn(notice('gateway.request-failed', { path: pathOf(url), cause: messageOf(error) }));
    response.destroy();
  } finally {
    clearTimeout(timer);
    response.off('close', onGone);
    context.closing.listeners.delete(onClosing);
  }
}

/** See `Waiting.pass`; for `deadline`, see `Gate.pass`. */
async function pass(
  { gate, paths }: Pick<ReviewContext, 'gate' | 'paths'>,
  url: string,
  deadline: number,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  await paths.asked(url, signal);
  const refusal = await gate.pass(deadline, signal);
  if (refusal !== undefined) return lateAnswer(refusal);
  // More time would change nothing, so --on-timeout does not apply.
  return paths.isRefused(url) ? notServed(pathOf(url)) : undefined;
}

function podPortOf({ port, podPort = port }: ControllerAddress): number {
  return podPort;
}

function lateTo(late: NonNullable<ReviewHooks['late']>, trace: Trace): (answer: Answer) => void {
  return (answer) => {
    const totalMs = performance.now() - trace.arrived;
    if (trace.served) late({ review: trace.served, answer, totalMs });
  };
}

function servedReview(
  { arrived, released, body, faults }: Trace & { body: Buffer },
  { url, budgetMs, port }: { url: string; budgetMs: number; port: number },
  answer: Answer | undefined,
): ServedReview {
  const now = performance.now();
  const held = (released ?? now) - arrived;
  const ms = { held, controller: now - arrived - held, total: now - arrived, budget: budgetMs };
  return { url, port, at: dateOf(arrived), body, answer, faults, ms };
}

async function answerOf(
  context: ReviewContext,
  { request, trace, onDropped }: { request: IncomingMessage; trace: Trace; onDropped: () => void },
  waiting: Waiting,
): Promise<Answer> {
  const url = request.url ?? '/';
  const nonce = probeNonce(url);
  const isReview =
    request.method === 'POST' && (nonce !== undefined || (await context.paths.takes(url, waiting.signal)));
  if (!isReview) {
    context.countStranger(url);
    return NOT_FOUND;
  }
  using body = await context.bodies.read(request, { signal: waiting.signal, onDropped });
  if (body === undefined) return TOO_LARGE;
  context.recognize(request, nonce === undefined ? 'review' : 'probe');
  if (nonce !== undefined) return answerProbe(nonce, context.sessionId, body.bytes.toString('utf8'));
  const own = await answerOwn(body.bytes, context.owns, waiting.signal);
  if (own !== undefined) return own;
  trace.body = body.bytes;
  using _ = context.hooks.arrived?.({
    ...{
      url,
      port: podPortOf(context.controller),
      at: dateOf(trace.arrived),
      body: body.bytes,
    },
    get waitsFor() {
      return waiting.for === 'body' ? 'release' : waiting.for;
    },
  });
  const injected = await meetFault(context.hooks, { url, body: body.bytes }, trace, waiting.signal);
  if (injected !== undefined) return injected;
  using answer = context.answers.hold(onDropped);
  const review = {
    url,
    headers: forwardable(request.rawHeaders),
    body: body.bytes,
    serverName: (request.socket as TLSSocket).servername || undefined,
    arriving: answer.add,
  };
  return await context.forwarder.forward(review, waiting);
}

/** The answer that a fault gives in place of the controller; undefined if there is none. */
async function meetFault(
  hooks: ReviewHooks,
  review: { url: string; body: Buffer },
  trace: Trace,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const fault = hooks.fault?.(review);
  if (fault === undefined) return undefined;
  trace.faults = fault.by;
  const words = fault.by.map((rule) => `"${rule}"`).join(' and ');
  const isInTime = await after(fault.delayMs, true, { signal }).catch(() => false);
  if (!isInTime && signal.reason === 'budget-used')
    return lateAnswer(`the fault ${words} took all the time of this review`);
  signal.throwIfAborted();
  return fault.code && statusAnswer(fault.code, `injected by the fault ${words}`);
}

const NOT_FOUND = lastAnswer(
  statusAnswer(404, 'no webhook configuration and no CRD calls this path of the webhook Service.'),
);

function notServed(path: string): Answer {
  const cause = `the controller on this machine does not serve ${path}.`;
  return statusAnswer(503, `${cause} Check the output of \`devloop up\`.`);
}

const TOO_LARGE = statusAnswer(413, `the request body is larger than ${LARGEST_BODY / 2 ** 20} MiB`);

function endOf(signal: AbortSignal, request: IncomingMessage): End | undefined {
  if (signal.aborted) return signal.reason as End;
  // When a client disconnects in the middle of a body, the request closes before the response does.
  return request.destroyed && !request.complete ? 'client-gone' : undefined;
}

function send(
  { warn, hooks, answers }: ReviewContext,
  { request, trace }: { request: IncomingMessage; trace: Trace },
  response: ServerResponse,
  answer: Answer,
): void {
  const { status, headers, body } = stamped(answer, (trace.body && hooks.stamps?.(trace.body)) ?? []);
  // Whoever receives the review through `served` also reports its answer.
  const isListed = trace.body !== undefined && hooks.served !== undefined;
  if (typeof body === 'string' && status >= 500 && !isListed) {
    const path = pathOf(request.url ?? '/');
    warn(notice('gateway.request-failed', { path, cause: statusMessage(body) }));
  }
  if (response.destroyed) return;
  // The connection of an incomplete request cannot be used again.
  if (!request.complete) response.shouldKeepAlive = false;
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  response.writeHead(status, [...headers, 'Content-Length', String(bytes.length)]);
  // Node sends a string in one piece with the head of the response, and each further write to a TLS connection is slow.
  if (bytes.length < SHORT) response.end(bytes.toString('latin1'), 'latin1');
  else response.end(bytes);
  untilRead(
    answers.hold(() => response.destroy()),
    response,
    bytes.length,
  );
}

/** kube-apiserver reads an answer at once. A client that does not do so loses the answer and the connection. */
function untilRead(held: HeldAnswer, response: ServerResponse, bytes: number): void {
  const patience = setTimeout(() => response.destroy(), UNREAD_MS);
  response.once('close', () => {
    clearTimeout(patience);
    held[Symbol.dispose]();
  });
  held.add(bytes);
}

function statusMessage(body: string): string {
  const { message } = JSON.parse(body) as { message: string };
  return message.replace(/^devloop: /, '');
}
