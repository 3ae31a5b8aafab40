import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connectionError } from './errors.ts';
import { baseUrl, type SelectedContext } from './kubeconfig.ts';
import type { Login } from './login.ts';
import { answerTo, type SentBody, type UpgradeAnswer, upgradeAnswerTo } from './send.ts';

/** A request that somebody else made. */
export interface ForwardedRequest extends SentBody {
  method: string;
  /** The path, including the query. */
  path: string;
  headers: IncomingHttpHeaders;
  signal: AbortSignal;
}

/** What `mayStart` rejects with, so that it is not taken for an error of the connection. */
export class NotStarted<Why> extends Error {
  readonly why: Why;

  constructor(why: Why) {
    super('not started');
    this.why = why;
  }
}

export type UpgradeRequest = Omit<ForwardedRequest, 'body' | 'rest'>;

/** The credentials and the connections of requests that somebody else made. */
export type ForwardingLogin = Pick<Login, 'auth' | 'forwarded' | 'retriedWith'>;

/** Sends requests that somebody else made. */
export interface Forwarder {
  forward(request: ForwardedRequest): Promise<IncomingMessage>;
  /** The request has no body, and names the protocol in its header `upgrade`. */
  forwardUpgrade(request: UpgradeRequest): Promise<UpgradeAnswer>;
}

/** Headers that describe one connection rather than the request, and headers that devloop sets itself: host, credentials and length. */
const OWN_HEADERS = new Set(
  'connection keep-alive proxy-connection transfer-encoding te trailer upgrade expect host authorization proxy-authorization content-length'.split(
    ' ',
  ),
);

/** Removes the headers in OWN_HEADERS, and those that the header `connection` names. */
export function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const isOwn = (name: string): boolean => OWN_HEADERS.has(name) || named.includes(name);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isOwn(name)));
}

function isRejected(answer: IncomingMessage): boolean {
  if (answer.statusCode !== 401) return false;
  answer.resume();
  return true;
}

/** A program behind the API server's proxy can answer 401, too, and that says nothing about the login. */
function mayRepeat({ path, rest }: Pick<ForwardedRequest, 'path' | 'rest'>): boolean {
  return rest === undefined && !BEHIND_PROXY.test(path);
}

const BEHIND_PROXY = /\/(?:pods|services|nodes)\/[^/?]+\/proxy(?:[/?]|$)/;

/**
 * Sends requests with the credentials of the login, and resolves with the answer, whatever its status. The answer's body is not read here,
 * since it may be that of a watch. The forwarder has connections of its own, because watches would use up the pool for calls.
 */
export function createForwarder(selected: SelectedContext, login: ForwardingLogin): Forwarder {
  const base = baseUrl(selected);
  const begin = (
    { method, path, headers, signal }: UpgradeRequest,
    more: OutgoingHttpHeaders,
  ): ClientRequest => {
    const send = base.protocol === 'http:' ? httpRequest : httpsRequest;
    return send(base, {
      // The path is passed as text: as a URL, `//host/` or `http://host/` would send the credentials to another server.
      path: base.pathname.replace(/\/$/, '') + path,
      method,
      signal,
      headers: { ...endToEnd(headers), ...login.auth.headers, ...more },
      agent: login.forwarded,
    });
  };
  const once = async ({ body, rest, mayStart, ...request }: ForwardedRequest): Promise<IncomingMessage> => {
    await mayStart?.();
    const length = rest === undefined ? body.length : request.headers['content-length'];
    const sent = begin(request, length === undefined ? {} : { 'content-length': length });
    return await answerTo(sent, { body, rest, mayStart });
  };
  const upgradeOnce = async ({ mayStart, ...request }: UpgradeRequest): Promise<UpgradeAnswer> => {
    await mayStart?.();
    const sent = begin(request, { connection: 'Upgrade', upgrade: request.headers.upgrade });
    return await upgradeAnswerTo(sent, mayStart);
  };
  const failing =
    ({ signal }: Pick<ForwardedRequest, 'signal'>) =>
    (error: unknown) => {
      throw signal.aborted || error instanceof NotStarted ? error : connectionError(selected, error);
    };
  return {
    forward: (request) =>
      login
        .retriedWith(() => once(request), mayRepeat(request) ? isRejected : () => false)
        .catch(failing(request)),
    forwardUpgrade: (request) =>
      login
        .retriedWith(
          () => upgradeOnce(request),
          ({ answer }) => mayRepeat(request) && isRejected(answer),
        )
        .catch(failing(request)),
  };
}
