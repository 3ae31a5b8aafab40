import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { DevloopError } from '../../errors.ts';
import type { PluginHost } from './credential-plugin.ts';
import { ApiError, connectionError, GarbledAnswer, isTransient, isUnauthorized } from './errors.ts';
import { baseUrl, type SelectedContext } from './kubeconfig.ts';
import { createLogin, USER_AGENT } from './login.ts';
import { createForwarderAs, createOwnForwarder, type OtherAccount } from './other-account.ts';
import type { Forwarder } from './pass-on.ts';
import { createStarting, refusal } from './starting.ts';
import { openWebSocket, type Refusal, switchProtocol, textOf, upgradeTo } from './switch-protocol.ts';
import { warningsIn } from './warning-header.ts';
import { whileAway } from './while-away.ts';

export interface CallOptions {
  /** Aborts a read or a wait. It is never passed for a write: nobody could tell whether an aborted write took effect. */
  signal?: AbortSignal;
  query?: Record<string, string>;
  accept?: string;
  /** Gets each warning that comes with the answer. */
  onWarning?: (text: string) => void;
}

export interface StreamOptions extends CallOptions {
  signal: AbortSignal;
  /** How long the server is allowed to send nothing. */
  silenceMs: number;
}

type RequestSettings = CallOptions & { contentType?: string };

const CALL_TIMEOUT_MS = 30_000;
/** The timeout of a repeatable call on a connection that was already open. */
const REUSED_TIMEOUT_MS = 10_000;
/** How long a failed read or deletion is repeated. */
const REPEAT_LIMIT_MS = 5_000;

/** Authenticated calls to one cluster, over one pool of connections. */
export interface Transport extends Forwarder {
  call<T>(method: string, path: string, body: unknown, options: RequestSettings): Promise<T>;
  /**
   * A GET whose answer is read while it arrives, over a connection of its own. Rejects as `call` does; reading fails after `silenceMs`
   * without data.
   */
  openStream(path: string, options: StreamOptions): Promise<AsyncIterable<Buffer>>;
  /** A GET that becomes a WebSocket over a connection of its own; it starts paused. Rejects as `call` does. */
  openWebSocket(path: string, protocol: string, options: CallOptions): Promise<WebSocket>;
  /** A GET that becomes a raw connection for the given protocol. Rejects as `call` does. */
  switchProtocol(path: string, protocol: string, signal: AbortSignal): Promise<Duplex>;
  /** Sends requests of others as another account, over connections that end when it is disposed. */
  forwarderAs(account: OtherAccount): Forwarder & Disposable;
  /** The next rejection is followed by a new login at once. */
  retryLogin(): void;
  close(): void;
}

export async function createTransport(selected: SelectedContext, host: PluginHost = {}): Promise<Transport> {
  const login = await createLogin(selected, host);
  const forwarder = createOwnForwarder(selected, login);
  const isStarting = createStarting((signal) =>
    exchange(server, 'GET', '/readyz', { body: undefined, signal }),
  );
  const server: Server = {
    ...{ selected, base: baseUrl(selected), login },
    ...{ hasAnswered: false, isStarting },
  };
  return {
    async call<T>(method: string, path: string, body: unknown, options: RequestSettings): Promise<T> {
      const once = (): Promise<Record<string, unknown>> =>
        attempt(server, method, path, { ...options, body });
      const mayPass = (error: unknown): boolean => mayRepeat(error, method, server);
      return (await whileAway(once, { limitMs: REPEAT_LIMIT_MS, signal: options.signal, mayPass })) as T;
    },
    openStream: (path, stream) =>
      ownConnection(server, path, stream.signal, (options) => openStream(server, path, stream, options)),
    openWebSocket: (path, protocol, { query, signal }) =>
      ownConnection(server, path, signal, (options) =>
        openWebSocket(
          urlOf(server, path, query),
          protocol,
          { ...options, handshakeTimeout: CALL_TIMEOUT_MS },
          signal,
        ),
      ),
    switchProtocol: (path, protocol, signal) =>
      ownConnection(server, path, signal, (options) => {
        signal.throwIfAborted();
        const request = senderOf(server)(urlOf(server, path), upgradeTo(protocol, options));
        return switchProtocol(request, protocol, signal);
      }),
    forward: (request) => forwarder.forward(request),
    forwardUpgrade: (request) => forwarder.forwardUpgrade(request),
    forwarderAs: (account) => createForwarderAs(account, { selected, login }),
    retryLogin: () => login.retryNow(),
    close() {
      server.login.close();
    },
  };
}

interface Server {
  selected: SelectedContext;
  base: URL;
  login: Awaited<ReturnType<typeof createLogin>>;
  /**
   * Whether the server has ever answered. If so, calls wait while it is away. If not, the address is probably wrong, or the cluster is off.
   */
  hasAnswered: boolean;
  isStarting(): Promise<boolean>;
}

function senderOf({ base }: Server): typeof httpsRequest | typeof httpRequest {
  return base.protocol === 'http:' ? httpRequest : httpsRequest;
}

function urlOf({ base }: Server, path: string, query: Record<string, string> = {}): URL {
  const url = new URL(base.pathname.replace(/\/$/, '') + path, base);
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
  return url;
}

/** Opens a connection that outlives its request, so it is not taken from the pool. */
async function ownConnection<T extends object>(
  { selected, login, isStarting }: Server,
  path: string,
  signal: AbortSignal | undefined,
  open: (options: RequestOptions) => Promise<T | Refusal>,
): Promise<T> {
  const answer = await login.retriedWith(
    () =>
      open(login.ownConnection()).catch((error) => {
        throw signal?.aborted ? error : connectionError(selected, error);
      }),
    (one) => 'status' in one && isUnauthorized(one),
  );
  if (!('status' in answer)) return answer;
  throw await refusal(`GET ${path}`, answer, isStarting);
}

function openStream(
  server: Server,
  path: string,
  { query, accept, signal, silenceMs }: StreamOptions,
  { headers, ...options }: RequestOptions,
): Promise<IncomingMessage | Refusal> {
  const url = urlOf(server, path, query);
  const settings = { ...options, signal, timeout: silenceMs };
  return new Promise((resolve, reject) => {
    const request = senderOf(server)(
      url,
      { ...settings, headers: { ...headers, accept: accept ?? 'application/json' } as OutgoingHttpHeaders },
      (response) => {
        if ((response.statusCode ?? 0) < 400) resolve(response);
        else textOf(response).then((text) => resolve(answerOf(response, text)), reject);
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no data within ${silenceMs / 1000} s`)));
    // This listener stays, so that a later error does not count as unhandled; the reader of the answer gets it.
    request.on('error', reject);
    request.end();
  });
}

function headersOf(payload: Buffer | undefined, { accept, contentType }: RequestSettings): object {
  return {
    accept: accept ?? 'application/json',
    'user-agent': USER_AGENT,
    ...(payload
      ? { 'content-type': contentType ?? 'application/json', 'content-length': payload.length }
      : {}),
  };
}

interface Answer {
  status: number;
  text: string;
  retryAfter?: string;
}

/** One call, repeated with renewed credentials if the first ones are rejected. */
async function attempt(
  server: Server,
  method: string,
  path: string,
  settings: RequestSettings & { body: unknown },
): Promise<Record<string, unknown>> {
  const { selected, login } = server;
  const answer = await login.retriedWith(
    () =>
      exchange(server, method, path, settings).catch((error) => {
        throw settings.signal?.aborted ? settings.signal.reason : connectionError(selected, error);
      }),
    isUnauthorized,
  );
  server.hasAnswered = true;
  if (answer.status >= 400) throw await refusal(`${method} ${path}`, answer, server.isStarting);
  return parse(answer);
}

function exchange(
  server: Server,
  method: string,
  path: string,
  { body, ...settings }: RequestSettings & { body: unknown },
): Promise<Answer> {
  const { login } = server;
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  login.dropStaleConnections();
  const options = {
    method,
    agent: login.agent,
    headers: { ...login.auth.headers, ...headersOf(payload, settings) },
    timeout: CALL_TIMEOUT_MS,
    ...(settings.signal ? { signal: settings.signal } : {}),
  } as RequestOptions;
  return new Promise((resolve, reject) => {
    const request = senderOf(server)(urlOf(server, path, settings.query), options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        if (settings.onWarning) for (const text of warningsOf(response)) settings.onWarning(text);
        resolve(answerOf(response, Buffer.concat(chunks).toString('utf8')));
      });
    });
    // If a connection was lost because this machine slept or changed its network, nothing comes back on it, not even an error.
    const isSuspect = (): boolean => request.reusedSocket && REPEATABLE.has(method);
    request.once('socket', (socket) => isSuspect() && socket.setTimeout(REUSED_TIMEOUT_MS));
    request.on('timeout', () => {
      login.dropIdleConnections();
      const seconds = (isSuspect() ? REUSED_TIMEOUT_MS : CALL_TIMEOUT_MS) / 1000;
      request.destroy(Object.assign(new Error(`no answer within ${seconds} s`), { code: 'ETIMEDOUT' }));
    });
    request.on('error', reject);
    request.end(payload);
  });
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, text: string): Answer {
  const retryAfter = headers['retry-after'];
  return { status: statusCode, text, ...(retryAfter === undefined ? {} : { retryAfter }) };
}

function warningsOf({ headersDistinct: { warning = [] } }: IncomingMessage): string[] {
  return warningsIn(warning).flatMap(({ code, text }) => (code === '299' ? [text] : []));
}

const REPEATABLE = new Set(['GET', 'HEAD', 'DELETE']);
const TOO_MANY_REQUESTS = 429;

/**
 * A write other than a deletion is repeated only after a 429, which means that nothing was done. After any other failure, the caller reads
 * the object first and then decides. A garbled answer, such as a login page, is not worth repeating, since it usually comes again.
 */
function mayRepeat(error: unknown, method: string, { hasAnswered }: Server): boolean {
  if (error instanceof ApiError && error.status === TOO_MANY_REQUESTS) return true;
  if (error instanceof GarbledAnswer || !REPEATABLE.has(method)) return false;
  return isTransient(error) && (hasAnswered || isReset(error));
}

function isReset(error: unknown): boolean {
  const cause =
    error instanceof DevloopError ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return ['ECONNRESET', 'EPIPE'].includes(cause?.code ?? '');
}

function parse({ text }: Answer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const what = text === '' ? 'an empty body' : `something that is not JSON: ${text.slice(0, 200)}`;
    throw new GarbledAnswer(what);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new GarbledAnswer(`something that is not an object: ${text.slice(0, 200)}`);
}
