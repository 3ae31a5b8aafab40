import type { IncomingHttpHeaders } from 'node:http';
import { isToken, newToken } from '../machine/token.ts';
import { KEY_HEADER } from './protocol.ts';

/** How long a link works that a browser gets as an argument. Other users can read it there, so it works only once. */
const TICKET_MS = 60_000;
const COOKIE = 'devloop';

/** Why a request is refused; `message` is for the person who made it. */
export interface Refusal {
  status: 401 | 403 | 405;
  message: string;
}

/** What a request asks for. `page`: the program in the browser, which holds no secrets. `login`: a cookie and a key for a token. */
export type Wanted = 'page' | 'login' | 'read' | 'change';

/**
 * Decides who is allowed to use the page. The link's token is exchanged for a cookie, with which the page reads, and a key, with which it
 * changes things. A program that serves another port of this machine gets neither from the browser, because the cookie belongs to a path
 * that this program does not know, and the key to this page's origin.
 */
export interface Access {
  /** The path that all requests begin with: `/…/`. */
  readonly base: string;
  /** The fragment of a link that works until the session ends. */
  readonly token: string;
  /** The fragment of a link that works once, within a minute. */
  ticket(): string;
  /** What the page gets for a token or ticket. */
  login(token: string): { cookie: string; key: string } | undefined;
  refusal(wanted: Wanted, request: Asked, port: number): Refusal | undefined;
}

export interface Asked {
  method?: string | undefined;
  headers: IncomingHttpHeaders;
}

export function createAccess(): Access {
  const [base, token] = [`/${newToken()}/`, newToken()];
  const secrets: Secrets = { cookie: newToken(), key: newToken() };
  const tickets = new Map<string, number>();
  return {
    base,
    token,
    ticket() {
      const ticket = newToken();
      tickets.set(ticket, performance.now() + TICKET_MS);
      return ticket;
    },
    login(given) {
      const until = tickets.get(given);
      tickets.delete(given);
      const isCurrent = until !== undefined && performance.now() < until;
      if (!isCurrent && !isToken(given, token)) return undefined;
      const { cookie, key } = secrets;
      return { cookie: `${COOKIE}=${cookie}; Path=${base}; HttpOnly; SameSite=Strict`, key };
    },
    refusal(wanted, asked, port) {
      if (!hostsOf(port).includes(asked.headers.host ?? '')) return wrongHost(port);
      if (!METHODS[wanted].includes(asked.method ?? ''))
        return { status: 405, message: `Only ${METHODS[wanted].join(' and ')} are allowed here.` };
      if (wanted === 'page') return undefined;
      if (!isOwnOrigin(asked.headers, METHODS[wanted] === CHANGING))
        return { status: 403, message: 'The request comes from another page.' };
      return wanted === 'login' ? undefined : refusalWithout(secrets, wanted, asked.headers);
    },
  };
}

interface Secrets {
  cookie: string;
  key: string;
}

function refusalWithout(
  { cookie, key }: Secrets,
  wanted: 'read' | 'change',
  headers: IncomingHttpHeaders,
): Refusal | undefined {
  if (!isToken(cookieOf(headers), cookie)) return { status: 401, message: 'The page has no valid cookie.' };
  if (wanted === 'change' && !isToken(String(headers[KEY_HEADER] ?? ''), key))
    return { status: 401, message: 'The page has no valid key.' };
  return undefined;
}

function wrongHost(port: number): Refusal {
  return {
    status: 403,
    message: `This page answers at http://127.0.0.1:${port} only. Use that port on both ends of a tunnel.`,
  };
}

const READING = ['GET', 'HEAD'];
const CHANGING = ['POST'];
const METHODS: Record<Wanted, string[]> = { page: READING, login: CHANGING, read: READING, change: CHANGING };

/** Other names are refused, since their owners could let them point to this machine. */
function hostsOf(port: number): string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`];
}

/**
 * Whether the request comes from the page itself. A browser sends the origin with each POST, but not always with a GET of the same origin.
 */
function isOwnOrigin({ origin, host, ...headers }: IncomingHttpHeaders, isNeeded: boolean): boolean {
  const site = headers['sec-fetch-site'];
  const isFromHere = site === undefined || site === 'same-origin' || (site === 'none' && !isNeeded);
  return isFromHere && (origin === undefined ? !isNeeded : origin === `http://${host}`);
}

function cookieOf({ cookie = '' }: IncomingHttpHeaders): string {
  const own = cookie.split('; ').find((one) => one.startsWith(`${COOKIE}=`));
  return own?.slice(COOKIE.length + 1) ?? '';
}
