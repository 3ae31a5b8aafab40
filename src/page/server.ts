import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { DevloopError, messageOf } from '../errors.ts';
import { closeToOtherUsers, isOfThisUser, listenOn } from '../machine/port.ts';
import { isPageAction, type PageAction } from '../report/actions.ts';
import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { ObjectName } from '../report/object-name.ts';
import type { LateReview, ReviewSummary } from '../report/review.ts';
import { type Access, createAccess, type Wanted } from './access.ts';
import { type FollowedSession, type Followers, follow } from './follow.ts';
import {
  type CallDetail,
  type ExportedReview,
  type ExportFormat,
  KEY_HEADER,
  type ObjectTimeline,
  type PageChange,
  type PageFaultChange,
  type ReconcileDetail,
  type ReplayedReview,
  type ReviewDetail,
} from './protocol.ts';
import { faultChangeIn, objectIn } from './requests.ts';

/** The parts of a session that the page shows and controls. */
export interface PageSession extends FollowedSession {
  /** Undefined if the review is not recorded. */
  review(id: string): Promise<ReviewDetail | undefined>;
  /** Sends the review to the controller again, and compares the answers. Throws a DevloopError if that is not possible. */
  replay(id: string): Promise<ReplayedReview>;
  /** The text that `devloop reviews export` prints. Throws a DevloopError if that is not possible. */
  exported(id: string, format: ExportFormat): Promise<ExportedReview | undefined>;
  /** Undefined if the call is not recorded. */
  call(id: string): Promise<CallDetail | undefined>;
  reconcile(id: string): Promise<ReconcileDetail | undefined>;
  /** The text that `devloop calls export` and `devloop reconciles export` print. */
  exportedCall(id: string): Promise<ExportedReview | undefined>;
  timeline(object: ObjectName): Promise<ObjectTimeline>;
  /** Throws a DevloopError if the change is not possible; then nothing is changed. */
  changeFaults(change: PageFaultChange): Promise<void>;
  /** What the end of the session will restore, given the current state of the cluster. */
  changes(): Promise<PageChange[]>;
  act(action: PageAction): Promise<void>;
}

export interface PageServer extends AsyncDisposable {
  /** A link that works until the session ends. */
  readonly url: string;
  /** A link that works once, within a minute. */
  urlOnce(): string;
  /** Sends the review to every page that is open. */
  reviewed(review: ReviewSummary): void;
  /** Sends a late answer, which the controller gave after devloop had answered in its place, to every page that is open. */
  answeredLate(review: LateReview): void;
  /** Sends the call or the reconcile to every page that is open. */
  called(recorded: CallSummary | ReconcileSummary): void;
}

const LOOPBACK = '127.0.0.1';

/** Serves the page on a free port of the loopback interface. `asset` reads a file of the program that runs in the browser. */
export async function startPageServer(
  session: PageSession,
  asset: (file: string) => Promise<Buffer>,
): Promise<PageServer> {
  const access = createAccess();
  const files = await readAssets(asset);
  const followers: Followers = new Set();
  const page: Page = { session, access, files, followers, port: 0 };
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 16_384 }, (request, response) => {
    answer(page, request, response).catch((error: unknown) =>
      refuse(response, error instanceof DevloopError ? 409 : 500, messageOf(error)),
    );
  });
  server.maxConnections = 64;
  closeToOtherUsers(server);
  page.port = await listenOn(server, { host: LOOPBACK, port: 0 });
  const origin = `http://${LOOPBACK}:${page.port}${access.base}`;
  return {
    url: `${origin}#${access.token}`,
    urlOnce: () => `${origin}#${access.ticket()}`,
    reviewed: (review) => followers.forEach((one) => void one.reviewed(review)),
    answeredLate: (review) => followers.forEach((one) => void one.answeredLate(review)),
    called: (recorded) => followers.forEach((one) => void one.called(recorded)),
    async [Symbol.asyncDispose]() {
      for (const one of followers) one.ended();
      // So that what was written is sent before the connections are closed.
      await new Promise((resolve) => setImmediate(resolve));
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Page {
  session: PageSession;
  access: Access;
  files: Map<string, Asset>;
  followers: Followers;
  port: number;
}

interface Asset {
  type: string;
  content: Buffer;
}

const ASSETS: Record<string, [file: string, type: string]> = {
  '': ['index.html', 'text/html; charset=utf-8'],
  'page.js': ['page.js', 'text/javascript; charset=utf-8'],
  'page.css': ['page.css', 'text/css; charset=utf-8'],
  'icon.svg': ['icon.svg', 'image/svg+xml'],
};

async function readAssets(read: (file: string) => Promise<Buffer>): Promise<Map<string, Asset>> {
  const all = Object.entries(ASSETS).map(async ([path, [file, type]]) => {
    return [path, { type, content: await read(file) }] as const;
  });
  return new Map(await Promise.all(all));
}

/** Every answer has these headers: no part of it can be framed, stored, or loaded by another site, and no text can become markup. */
const HEADERS: Record<string, string> = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
};

async function answer(page: Page, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { access, files, port } = page;
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  const url = (request.url ?? '').split('?', 1)[0]!;
  const path = url.startsWith(access.base) ? url.slice(access.base.length) : undefined;
  const refusal = access.refusal(path === undefined ? 'page' : wantedAt(path), request, port);
  if (refusal) return refuse(response, refusal.status, refusal.message);
  if (path?.startsWith(API)) return await answerApi(page, path.slice(API.length), request, response);
  const asset = path === undefined ? undefined : files.get(path);
  if (asset === undefined) return refuse(response, 404, NOT_FOUND);
  response.setHeader('Content-Type', asset.type).end(asset.content);
}

const API = 'api/';
/** A replay sends a review to the controller, so it counts as a change. */
const REPLAY = 'replay';
const FAULTS = 'faults';

async function answerApi(
  { session, access, followers }: Page,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (isPageAction(path)) {
    await session.act(path);
    return send(response, {});
  }
  if (path === 'login') return await login(access, request, response);
  if (path === 'events') return await follow(session, followers, request, response);
  if (path === 'changes') return send(response, await session.changes());
  if (path === FAULTS) {
    await session.changeFaults(await faultChangeIn(request));
    return send(response, {});
  }
  const object = objectIn(path);
  if (object) return send(response, await session.timeline(object));
  const [, what = '', id = '', as = ''] = /^(\w+)\/([\w-]+)(?:\/(\w+))?$/.exec(path) ?? [];
  const name = as === '' ? what : `${what}/${as}`;
  if (id === '' || !Object.hasOwn(PARTS, name)) return refuse(response, 404, NOT_FOUND);
  const part = await PARTS[name]!(session, id);
  if (part === undefined) return refuse(response, 404, `${id} is not recorded.`);
  send(response, part);
}

/** What a request can ask for about one entry, by its path without the id. */
const PARTS: Record<string, (session: PageSession, id: string) => Promise<unknown>> = {
  reviews: (session, id) => session.review(id),
  'reviews/curl': (session, id) => session.exported(id, 'curl'),
  'reviews/go': (session, id) => session.exported(id, 'go'),
  [`reviews/${REPLAY}`]: (session, id) => session.replay(id),
  calls: (session, id) => session.call(id),
  'calls/json': (session, id) => session.exportedCall(id),
  reconciles: (session, id) => session.reconcile(id),
  'reconciles/json': (session, id) => session.exportedCall(id),
};

const NOT_FOUND = 'There is no such page. Press o in the terminal of devloop up for a link that works.';

function wantedAt(path: string): Wanted {
  if (!path.startsWith(API)) return 'page';
  const name = path.slice(API.length);
  if (name === 'login') return 'login';
  return isPageAction(name) || name === FAULTS || name.endsWith(`/${REPLAY}`) ? 'change' : 'read';
}

async function login(
  access: Access,
  { headers, socket }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // Other users can read the link in the list of processes before the browser has used it.
  if (!(await isOfThisUser(socket)))
    return refuse(response, 403, 'Only the user who runs devloop can open this page.');
  const given = access.login(String(headers[KEY_HEADER] ?? ''));
  if (given === undefined) refuse(response, 401, 'The link is not valid, or was used before.');
  else send(response.setHeader('Set-Cookie', given.cookie), { key: given.key });
}

function send(response: ServerResponse, value: unknown): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8').end(JSON.stringify(value));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${message}\n`);
}
