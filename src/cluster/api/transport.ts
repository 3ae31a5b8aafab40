import type { IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { Agent, type AgentOptions, request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import type { WebSocket } from 'ws';
import { sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { ApiError, connectionError, unauthorizedError } from './errors.ts';
import type { Selected } from './kubeconfig.ts';
import { openWebSocket, type Refusal, switchProtocol, upgradeTo } from './switch-protocol.ts';

export interface CallOptions {
  /** Only for reads and waits. A write that was sent is never aborted, since nobody could tell whether it happened. */
  signal?: AbortSignal;
  query?: Record<string, string>;
  accept?: string;
}

const CALL_TIMEOUT_MS = 30_000;

/** Authenticated calls to one cluster, over one pool of connections. */
export interface Transport {
  call<T>(
    method: string,
    path: string,
    body: unknown,
    options: CallOptions & { contentType?: string },
  ): Promise<T>;
  /** A GET that becomes a WebSocket over a connection of its own; it starts paused. Rejects as `call` does. */
  openWebSocket(path: string, protocol: string, options: CallOptions): Promise<WebSocket>;
  /** A GET that becomes a raw connection for that protocol. Rejects as `call` does. */
  switchProtocol(path: string, protocol: string, signal: AbortSignal): Promise<Duplex>;
  close(): void;
}

export async function createTransport(selected: Selected): Promise<Transport> {
  const base = new URL(selected.server);
  const send = base.protocol === 'http:' ? httpRequest : httpsRequest;
  let auth = await authenticate(selected);
  const agents: Agent[] = [];
  /** One agent for each client certificate. An old one finishes its calls, and is closed with the others. */
  const newAgent = (): Agent | undefined => {
    if (base.protocol === 'http:') return undefined;
    if (selected.config.getCurrentCluster()?.proxyUrl) return auth.agent;
    const tls = agentTls(auth, selected);
    agents.push(new Agent({ ...tls, keepAlive: true, maxSockets: 16, scheduling: 'lifo' }));
    return agents.at(-1);
  };
  let agent = newAgent();
  const urlOf = (path: string, query: Record<string, string> = {}): URL => {
    const url = new URL(base.pathname.replace(/\/$/, '') + path, base);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return url;
  };
  /** Exec plugins and OIDC issue short-lived tokens; the library gets a new one when the old one has expired. */
  const renew = async (): Promise<void> => {
    const before = auth;
    auth = await authenticate(selected);
    if (auth.cert !== before.cert || auth.key !== before.key) agent = newAgent();
  };

  async function once(
    method: string,
    path: string,
    body: unknown,
    options: CallOptions & { contentType?: string },
  ): Promise<Answer> {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return await exchange(send, urlOf(path, options.query), payload, {
      method,
      agent,
      headers: {
        ...auth.headers,
        accept: options.accept ?? 'application/json',
        'user-agent': 'devloop',
        ...(payload
          ? { 'content-type': options.contentType ?? 'application/json', 'content-length': payload.length }
          : {}),
      },
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }

  async function call<T>(
    method: string,
    path: string,
    body: unknown,
    options: CallOptions & { contentType?: string },
  ): Promise<T> {
    let answer = await retried(() => once(method, path, body, options), method, selected, options.signal);
    if (answer.status === 401) {
      await renew();
      answer = await retried(() => once(method, path, body, options), method, selected, options.signal);
    }
    if (answer.status === 401) throw unauthorizedError(selected);
    const parsed = parse(answer);
    if (answer.status >= 400) throw ApiError.from(method, path, answer.status, parsed, answer.text);
    return parsed as T;
  }

  /** A connection of its own, which outlives the request. */
  async function switched<T extends object>(
    path: string,
    signal: AbortSignal | undefined,
    open: (options: RequestOptions) => Promise<T | Refusal>,
  ): Promise<T> {
    const proxied = selected.config.getCurrentCluster()?.proxyUrl !== undefined;
    const once = (): Promise<T | Refusal> =>
      open({
        ...tlsOf(auth),
        ...(proxied ? { agent: auth.agent! } : {}),
        headers: { ...auth.headers, 'user-agent': 'devloop' } as Record<string, string>,
      }).catch((error) => {
        throw signal?.aborted ? error : connectionError(selected, error);
      });
    let answer = await once();
    if ('status' in answer && answer.status === 401) {
      await renew();
      answer = await once();
    }
    if (!('status' in answer)) return answer;
    if (answer.status === 401) throw unauthorizedError(selected);
    throw ApiError.from('GET', path, answer.status, jsonOf(answer.text), answer.text);
  }

  return {
    call,
    openWebSocket: (path, protocol, { query, signal }) =>
      switched(path, signal, (options) =>
        openWebSocket(
          urlOf(path, query),
          protocol,
          { ...options, handshakeTimeout: CALL_TIMEOUT_MS },
          signal,
        ),
      ),
    switchProtocol: (path, protocol, signal) =>
      switched(path, signal, (options) => {
        signal.throwIfAborted();
        const request = send(urlOf(path), upgradeTo(protocol, { agent: false, ...options }));
        return switchProtocol(request, protocol, signal);
      }),
    close: () => [agent, ...agents].forEach((one) => void one?.destroy()),
  };
}

type AuthOptions = RequestOptions & { agent?: Agent };

async function authenticate(selected: Selected): Promise<AuthOptions> {
  const options: AuthOptions = {};
  try {
    await selected.config.applyToHTTPSOptions(options);
  } catch (error) {
    throw unauthorizedError(selected, error);
  }
  if (options.auth) {
    const basic = Buffer.from(String(options.auth)).toString('base64');
    options.headers = { ...(options.headers as Record<string, string>), authorization: `Basic ${basic}` };
  }
  return options;
}

function tlsOf({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  rejectUnauthorized,
  servername,
}: RequestOptions): AgentOptions {
  const all = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Reads certificates and key once. An agent would do so for each connection, and would compare their whole text at each call. */
function agentTls(auth: AuthOptions, selected: Selected): AgentOptions {
  const { rejectUnauthorized, servername, ...identity } = tlsOf(auth);
  try {
    const secureContext = createSecureContext(identity);
    return { ...tlsOf({ rejectUnauthorized, servername }), secureContext };
  } catch (error) {
    throw connectionError(selected, error);
  }
}

interface Answer {
  status: number;
  text: string;
}

function exchange(
  send: typeof httpsRequest | typeof httpRequest,
  url: URL,
  payload: Buffer | undefined,
  options: RequestOptions & { agent?: Agent | undefined },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      { ...options, timeout: CALL_TIMEOUT_MS } as RequestOptions,
      (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
      },
    );
    request.on('timeout', () =>
      request.destroy(
        Object.assign(new Error(`no answer in ${CALL_TIMEOUT_MS / 1000} s`), { code: 'ETIMEDOUT' }),
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

function parse({ status, text }: Answer): unknown {
  const parsed = jsonOf(text);
  if (parsed !== undefined || status >= 400) return parsed;
  const what = text === '' ? 'an empty body' : `something that is not JSON: ${text.slice(0, 200)}`;
  throw new DevloopError('cluster.rejected', `The API server answered with ${what}`, {
    hint: 'A proxy or a login page may answer in its place. Check the server in the kubeconfig.',
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
