import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClusterApi } from '../cluster/api/client.ts';
import { endToEnd, NotStarted, type UpgradeRequest } from '../cluster/api/pass-on.ts';
import { messageOf } from '../errors.ts';
import type { Injector } from '../faults/injector.ts';
import { headOf, type OwnAnswer, type Refusal, refuse, refuseUpgrade } from './answers.ts';
import { type ApiCall, apiCall, isAmbiguous, isWrite } from './api-call.ts';
import { readBody } from './body.ts';
import type { DryRun } from './dry-run.ts';
import { meetAnswered, meetFaults, withFaults } from './faulty.ts';
import { type CallHooks, CallTrace, upstreamHeaders } from './observed.ts';

/** What a call passes on its way. */
export interface ApiProxyParts {
  upstream: Pick<ClusterApi, 'forward' | 'forwardUpgrade'>;
  /** Resolves with nothing if the session may write now; otherwise with what to answer. */
  mayWrite?: ((signal: AbortSignal) => Promise<Refusal | undefined>) | undefined;
  hooks?: CallHooks | undefined;
  /** What is to go wrong on purpose. */
  faults?: Injector | undefined;
  /** Kills the controller, since this rule of a fault says so; absent if devloop has not started it. */
  crash?: ((rule: string) => void) | undefined;
  /** Lets nothing through that would change something. */
  dry?: DryRun | undefined;
  reports?: string | undefined;
  /** Called for each call of a process that a start of the controller has left behind. */
  leftBehind?: (() => void) | undefined;
}

/** A body up to this size can be sent again after a login was renewed. kube-apiserver accepts 3 MB by default. */
const REPEATABLE_BYTES = 2 ** 20;
/** Errors with which no byte of the request has reached the API server. */
const CONNECTING = new Set(['connect', 'getaddrinfo']);
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Sends the controller's request to the API server, and what comes back to the controller, as it arrives. */
export async function passOn(
  parts: ApiProxyParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  // After a whole answer nobody listens, and the error of an abort takes time to create.
  response.once('close', () => response.writableFinished || gone.abort());
  const { upstream, hooks, faults, crash, dry } = parts;
  const { call, arrived, writes, isShown, isBad, asked } = begin(parts, request, gone.signal);
  if (isShown && !isBad) await learnBefore(hooks, call, gone.signal);
  const trace = hooks && new CallTrace(hooks, call, request.headers);
  const close = (): void => {
    gone.abort();
    response.destroy();
  };
  const answerRefusal = (refusal: Refusal | OwnAnswer): void => {
    const answer = refuse(response, refusal);
    // Some clients read the answer only when they have sent their whole body.
    request.resume();
    trace?.refused(refusal.code, answer);
  };
  try {
    if (isBad) return answerRefusal(BAD_PATH);
    const { kept, rest } = await readBody(request, REPEATABLE_BYTES);
    const body = dry ? dry.pass(arrived, request.headers, { kept, rest }) : kept;
    const met = { trace, signal: gone.signal, body: kept, close, crash };
    await meetFaults(faults, call, met);
    const answered = await upstream.forward({ ...asked, body, rest });
    await meetAnswered(faults, call, answered, met);
    const passed = withFaults(answered, faults, call, gone.signal);
    trace?.answered(answered, passed);
    response.writeHead(answered.statusCode ?? 502, endToEnd(answered.headers));
    // What has arrived with the headers is sent together with them. Otherwise they are sent alone: a watch may send nothing at first.
    const { socket } = response;
    socket?.cork();
    // `flushHeaders` would encode their bytes once more.
    response.write(Buffer.alloc(0));
    setImmediate(() => socket?.uncork());
    await pipeline(passed, response);
    trace?.ended();
  } catch (error) {
    // Of a write that the client has given up nobody knows whether it took effect.
    if (response.headersSent || gone.signal.aborted) response.destroy();
    else answerRefusal(refusalOf(error, writes));
    trace?.ended(true);
  }
}

/** A write never fails because of what devloop wants to know of it. */
async function learnBefore(hooks: CallHooks | undefined, call: ApiCall, signal: AbortSignal): Promise<void> {
  try {
    await hooks?.beforeWrite?.(call, signal);
  } catch {
    // Its record then says less.
  }
}

/** For `exec`, `attach` and `port-forward`, and for watches over WebSockets. */
export async function passOnUpgrade(
  parts: ApiProxyParts,
  request: IncomingMessage,
  socket: Duplex,
): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const { upstream, hooks, faults, dry } = parts;
  const { call, arrived, writes, isBad, asked } = begin(parts, request, gone.signal, true);
  const trace = hooks && new CallTrace(hooks, call, request.headers);
  let hasBegun = false;
  try {
    if (isBad) throw new NotStarted(BAD_PATH);
    dry?.pass(arrived, request.headers, { kept: Buffer.alloc(0) });
    await meetFaults(faults, call, { trace, signal: gone.signal, close: () => socket.destroy() });
    const { answer, connection } = await upstream.forwardUpgrade(asked);
    trace?.answered(answer, connection ?? answer);
    hasBegun = true;
    const own = endToEnd(answer.headers);
    if (connection === undefined) {
      socket.write(headOf(answer.statusCode ?? 502, own));
      return await pipeline(answer, socket);
    }
    socket.write(headOf(101, { ...own, connection: 'Upgrade', upgrade: answer.headers.upgrade }));
    await pipeline(socket, connection, socket);
  } catch (error) {
    if (hasBegun || socket.destroyed) return void socket.destroy();
    const refusal = refusalOf(error, writes);
    const answer = refuseUpgrade(socket, refusal);
    trace?.refused(refusal.code, answer);
  } finally {
    trace?.ended();
  }
}

/** What is known of a call when it arrives, and what the API server is asked. */
function begin(
  { mayWrite, hooks, dry }: ApiProxyParts,
  request: IncomingMessage,
  signal: AbortSignal,
  isUpgrade = false,
): {
  call: ApiCall;
  arrived: ApiCall;
  writes: boolean;
  isShown: boolean;
  isBad: boolean;
  asked: UpgradeRequest;
} {
  const { method = 'GET', url = '/' } = request;
  const arrived = apiCall({ method, url, contentType: request.headers['content-type'] }, isUpgrade);
  const { call, path } = dry?.asked(arrived, url) ?? { call: arrived, path: url };
  const writes = isWrite(call);
  const headers = upstreamHeaders(headersOf(request), call, hooks !== undefined && !isUpgrade);
  const mayStart = writes ? startingWith(mayWrite, signal) : undefined;
  const asked = { method, path, headers, signal, mayStart };
  // What the API server is asked in place of a write is to be shown as that.
  const isShown = isWrite(arrived);
  return { call, arrived, writes, isShown, isBad: leavesPrefix(url) || isAmbiguous(arrived), asked };
}

/** Node joins repeated headers, and each of these is a value of its own: one group for each `Impersonate-Group`. */
const REPEATED = /^(?:impersonate-|x-stream-protocol)/;

function headersOf({ headers, headersDistinct }: IncomingMessage): IncomingHttpHeaders {
  const repeated = Object.entries(headersDistinct).filter(([name]) => REPEATED.test(name));
  return repeated.length === 0 ? headers : { ...headers, ...Object.fromEntries(repeated) };
}

/** With dots, a path could leave that of the cluster on a server that has several, such as Rancher's. No call of Kubernetes has them. */
const DOTS = /(?:^|\/|%2f)(?:\.|%2e){1,2}(?:\/|%2f|$)/i;
const BAD_PATH: Refusal = {
  ...{ code: 400, reason: 'BadRequest' },
  message: 'devloop: the path is not one of an API server',
};

function leavesPrefix(path: string): boolean {
  return !path.startsWith('/') || DOTS.test(path.split('?', 1)[0]!);
}

function startingWith(mayWrite: ApiProxyParts['mayWrite'], signal: AbortSignal): () => Promise<void> {
  return async () => {
    const refusal = await mayWrite?.(signal);
    if (refusal) throw new NotStarted(refusal);
  };
}

/**
 * A client may repeat what has certainly not reached the API server, and what only reads. Of a write whose answer was lost nobody knows
 * whether it took effect, so its client has to decide.
 */
function refusalOf(error: unknown, writes: boolean): Refusal | OwnAnswer {
  if (error instanceof NotStarted) return error.why as Refusal | OwnAnswer;
  const message = messageOf(error);
  const isSafe = !writes || NEVER_SENT.has(codeOf(error) ?? '');
  if (!isSafe) return { code: 502, reason: 'InternalError', message };
  return { code: 503, reason: 'ServiceUnavailable', message, retryAfterSeconds: 1 };
}

/** The code with which no connection was made, if that is the cause. An established connection can end with the same codes. */
function codeOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (syscall !== undefined) return CONNECTING.has(syscall) ? code : undefined;
  }
  return undefined;
}
