import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { connectionError } from './errors.ts';
import { baseUrl, type Selected } from './kubeconfig.ts';
import type { Login } from './login.ts';

/** A request that somebody else made. */
export interface Forwarded {
  method: string;
  /** The path, including the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  signal: AbortSignal;
}

/** The answer to a request for another protocol, and the connection if the server has switched to it. */
export interface Switched {
  answer: IncomingMessage;
  connection?: Duplex;
}

/** Sends requests that somebody else made. */
export interface Forwarder {
  forward(request: Forwarded): Promise<IncomingMessage>;
  /** The request has no body, and names the protocol in its header `upgrade`. */
  forwardUpgrade(request: Omit<Forwarded, 'body'>): Promise<Switched>;
}

/** Headers that describe one connection rather than the request, and headers that devloop sets itself: host, credentials and length. */
const OWN_HEADERS = new Set(
  'connection keep-alive proxy-connection transfer-encoding te trailer upgrade host authorization proxy-authorization content-length'.split(
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

/**
 * Sends requests with the user's credentials, and resolves with the answer, whatever its status. The answer's body is not read here, since
 * it may be that of a watch. The forwarder has connections of its own, because watches would use up the pool for calls.
 */
export function createForwarder(selected: Selected, login: Login): Forwarder {
  const base = baseUrl(selected);
  const begin = (
    { method, path, headers, signal }: Omit<Forwarded, 'body'>,
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
  const once = ({ body, ...request }: Forwarded): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = begin(request, { 'content-length': body.length });
      sent.once('response', resolve).on('error', reject).end(body);
    });
  const upgradeOnce = (request: Omit<Forwarded, 'body'>): Promise<Switched> =>
    new Promise((resolve, reject) => {
      const sent = begin(request, { connection: 'Upgrade', upgrade: request.headers.upgrade });
      sent.once('upgrade', (answer, connection, head) => {
        if (head.length > 0) connection.unshift(head);
        resolve({ answer, connection });
      });
      sent.once('response', (answer) => resolve({ answer }));
      sent.on('error', reject).end();
    });
  const failing =
    ({ signal }: Pick<Forwarded, 'signal'>) =>
    (error: unknown) => {
      throw signal.aborted ? error : connectionError(selected, error);
    };
  return {
    forward: (request) => login.retriedWith(() => once(request), isRejected).catch(failing(request)),
    forwardUpgrade: (request) =>
      login
        .retriedWith(
          () => upgradeOnce(request),
          ({ answer }) => isRejected(answer),
        )
        .catch(failing(request)),
  };
}
