import { request as httpRequest } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { ApiError, connectionError } from './errors.ts';
import type { Selected } from './kubeconfig.ts';
import { createLogin, USER_AGENT } from './login.ts';
import { openWebSocket, type Refusal, switchProtocol, upgradeTo } from './switch-protocol.ts';

export interface CallOptions {
  /** Only for reads and waits. A write that was sent is never aborted, since nobody could tell whether it happened. */
  signal?: AbortSignal;
  query?: Record<string, string>;
  accept?: string;
}

type RequestSettings = CallOptions & { contentType?: string };

const CALL_TIMEOUT_MS = 30_000;

/** Authenticated calls to one cluster, over one pool of connections. */
export interface Transport {
  call<T>(method: string, path: string, body: unknown, options: RequestSettings): Promise<T>;
  /** A GET that becomes a WebSocket over a connection of its own; it starts paused. Rejects as `call` does. */
  openWebSocket(path: string, protocol: string, options: CallOptions): Promise<WebSocket>;
  /** A GET that becomes a raw connection for that protocol. Rejects as `call` does. */
  switchProtocol(path: string, protocol: string, signal: AbortSignal): Promise<Duplex>;
  close(): void;
}

export async function createTransport(selected: Selected): Promise<Transport> {
  const server: Server = { selected, base: new URL(selected.server), login: await createLogin(selected) };
  return {
    async call<T>(method: string, path: string, body: unknown, options: RequestSettings): Promise<T> {
      const attempt = (): Promise<Answer> => exchange(server, method, path, { ...options, body });
      const answer = await server.login.retriedWith(
        () => retried(attempt, method, selected, options.signal),
        ({ status }) => status === UNAUTHORIZED,
      );
      if (answer.status >= 400) throw ApiError.from(`${method} ${path}`, answer);
      return parse(answer) as T;
    },
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
        const request = senderOf(server)(
          urlOf(server, path),
          upgradeTo(protocol, { agent: false, ...options }),
        );
        return switchProtocol(request, protocol, signal);
      }),
    close: () => server.login.close(),
  };
}

interface Server {
  selected: Selected;
  base: URL;
  login: Awaited<ReturnType<typeof createLogin>>;
}

function senderOf({ base }: Server): typeof httpsRequest | typeof httpRequest {
  return base.protocol === 'http:' ? httpRequest : httpsRequest;
}

function urlOf({ base }: Server, path: string, query: Record<string, string> = {}): URL {
  const url = new URL(base.pathname.replace(/\/$/, '') + path, base);
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
  return url;
}

/** A connection that outlives its request, so it comes from no pool. */
async function ownConnection<T extends object>(
  { selected, login }: Server,
  path: string,
  signal: AbortSignal | undefined,
  open: (options: RequestOptions) => Promise<T | Refusal>,
): Promise<T> {
  const answer = await login.retriedWith(
    () =>
      open(login.ownConnection()).catch((error) => {
        throw signal?.aborted ? error : connectionError(selected, error);
      }),
    (one) => 'status' in one && one.status === UNAUTHORIZED,
  );
  if (!('status' in answer)) return answer;
  throw ApiError.from(`GET ${path}`, answer);
}

const UNAUTHORIZED = 401;

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
}

function exchange(
  server: Server,
  method: string,
  path: string,
  { body, ...settings }: RequestSettings & { body: unknown },
): Promise<Answer> {
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const options = {
    method,
    agent: server.login.agent,
    headers: { ...server.login.auth.headers, ...headersOf(payload, settings) },
    timeout: CALL_TIMEOUT_MS,
    ...(settings.signal ? { signal: settings.signal } : {}),
  } as RequestOptions;
  return new Promise((resolve, reject) => {
    const request = senderOf(server)(urlOf(server, path, settings.query), options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    request.on('timeout', () =>
      request.destroy(
        Object.assign(new Error(`no answer within ${CALL_TIMEOUT_MS / 1000} s`), { code: 'ETIMEDOUT' }),
      ),
    );
    request.on('error', reject);
    request.end(payload);
  });
}

const READS = new Set(['GET', 'HEAD']);

/**
 * Repeats a read whose pooled connection the server had just closed; callers repeat writes themselves, after they have looked at
 * the object. Also repeats, after a pause, what an overloaded server did not do: 429, and 503 for reads.
 */
async function retried(
  attempt: () => Promise<Answer>,
  method: string,
  selected: Selected,
  signal?: AbortSignal,
): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await attempt();
      if (!isOverloaded(answer.status, method) || tries >= OVERLOAD_TRIES) return answer;
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (tries >= 2 || !READS.has(method) || !isReset(error)) throw connectionError(selected, error);
      continue;
    }
    await sleep(250 * 2 ** tries);
  }
}

const OVERLOAD_TRIES = 5;

function isOverloaded(status: number, method: string): boolean {
  return status === 429 || (status === 503 && READS.has(method));
}

function isReset(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function parse({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = text === '' ? 'an empty body' : `something that is not JSON: ${text.slice(0, 200)}`;
    throw new DevloopError('cluster.rejected', `The API server answered with ${what}`, {
      hint: 'A proxy or a login page may be answering in its place. Check the server in the kubeconfig.',
    });
  }
}
