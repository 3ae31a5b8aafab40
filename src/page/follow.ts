import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLater, type LateReview, type ReviewSummary, type WaitingReview } from '../report/review.ts';
import type { ScannedPart } from '../reviews/scan.ts';
import type { PageMessages, PageStatus } from './protocol.ts';

/** Reviews are collected for so long, so that many of them are one message. */
const COLLECT_MS = 50;
/** The state has counts that nothing announces. */
const LOOK_EVERY_MS = 250;
/** After a break, the browser connects again. */
const RETRY_MS = 1_000;
/** A page that does not read, in a browser that is asleep: it reads what it missed when it connects again. */
const MOST_UNREAD = 8 * 2 ** 20;

/** What is followed of a session. */
export interface FollowedSession {
  status(): PageStatus;
  /** What was recorded after this id, oldest first, in parts, and all late answers. */
  reviews(after: string): AsyncIterable<ScannedPart>;
  /** Those that have no answer at this moment. */
  waiting(): WaitingReview[];
}

/** Each page that is open. */
export type Followers = Set<Follower>;

export interface Follower {
  reviewed(review: ReviewSummary): void;
  answeredLate(review: LateReview): void;
}

/** Server-sent events: the status, the reviews that were recorded, and then each as it happens. Resolves when the page is gone. */
export async function follow(
  session: FollowedSession,
  followers: Followers,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new Promise<void>((resolve) => response.once('close', resolve));
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
  response.write(`retry: ${RETRY_MS}\n\n`);
  const stream = new Stream(session, response, lastEventId(request));
  followers.add(stream);
  const looking = setInterval(() => stream.look(), LOOK_EVERY_MS);
  try {
    stream.look();
    for await (const part of session.reviews(stream.last)) {
      stream.sendNew(part);
      if (response.writableNeedDrain) await Promise.race([once(response, 'drain'), gone]);
      if (response.destroyed) return;
    }
    stream.onRead();
    await gone;
  } finally {
    followers.delete(stream);
    clearInterval(looking);
    stream[Symbol.dispose]();
  }
}

/** What one page was sent. */
class Stream implements Follower, Disposable {
  /** The id of the last review that it has. */
  last: string;
  #session: FollowedSession;
  #response: ServerResponse;
  #collected: ScannedPart = { reviews: [], late: [] };
  #timer: NodeJS.Timeout | undefined;
  #isRead = false;
  #status = '';
  /** It shows reviews without an answer; one that connects again may. */
  #showsWaiting = true;

  constructor(session: FollowedSession, response: ServerResponse, last: string) {
    this.#session = session;
    this.#response = response;
    this.last = last;
  }

  reviewed(review: ReviewSummary): void {
    this.#collected.reviews.push(review);
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  answeredLate(review: LateReview): void {
    this.#collected.late.push(review);
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  /** Sends what may have changed without an event. */
  look(): void {
    const status = this.#session.status();
    const text = JSON.stringify(status);
    if (text !== this.#status) this.#send('status', status);
    this.#status = text;
    this.#sendWaiting();
  }

  /** Ids rise, and what is read from the recording may have been collected, too. */
  sendNew({ reviews, late }: ScannedPart): void {
    const fresh = reviews.filter(({ id }) => isLater(id, this.last));
    this.last = fresh.at(-1)?.id ?? this.last;
    if (fresh.length > 0) this.#send('reviews', fresh, this.last);
    if (late.length > 0) this.#send('late', late);
  }

  /** All that was recorded before has been sent. */
  onRead(): void {
    // An empty message says that the page knows them all.
    this.#send('reviews', []);
    this.#isRead = true;
    this.#flush();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    if (!this.#isRead) return;
    // One that was answered stops waiting before it is listed.
    this.#sendWaiting();
    this.sendNew(this.#collected);
    this.#collected = { reviews: [], late: [] };
  }

  /** Again and again while there are any: how long each has waited is a part of it. */
  #sendWaiting(): void {
    const waiting = this.#session.waiting();
    if (waiting.length > 0 || this.#showsWaiting) this.#send('waiting', waiting);
    this.#showsWaiting = waiting.length > 0;
  }

  #send<T extends keyof PageMessages>(type: T, data: PageMessages[T], id?: string): void {
    if (this.#response.writableLength > MOST_UNREAD) return void this.#response.destroy();
    this.#response.write(`event: ${type}\n${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  }
}

/** Of a page that connects again. */
function lastEventId({ headers }: IncomingMessage): string {
  const id = headers['last-event-id'];
  return typeof id === 'string' && /^r-\d+$/.test(id) ? id : '';
}
