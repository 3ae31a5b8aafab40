import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLater, type LateReview, type ReviewSummary, type WaitingReview } from '../report/review.ts';
import type { ScannedPart } from '../reviews/scan.ts';
import type { PageMessages, PageStatus } from './protocol.ts';

/** Reviews are collected for this long, so that many of them become one message. */
const COLLECT_MS = 50;
/** How often the state is compared, since it has counts that no event announces. */
const LOOK_EVERY_MS = 250;
/** How soon the browser connects again after a break. */
const RETRY_MS = 1_000;
/**
 * If a page leaves more than this unread, for example because its browser is asleep, its connection is closed. It reads what it missed when
 * it connects again.
 */
const MOST_UNREAD = 8 * 2 ** 20;

/** What can be followed of a session. */
export interface FollowedSession {
  status(): PageStatus;
  /** The reviews recorded after this id, oldest first, in parts, and all late answers. */
  reviews(after: string): AsyncIterable<ScannedPart>;
  /** The reviews that have no answer at this moment. */
  waiting(): WaitingReview[];
}

/** Each page that is open. */
export type Followers = Set<Follower>;

export interface Follower {
  reviewed(review: ReviewSummary): void;
  answeredLate(review: LateReview): void;
}

/** Sends events: the status, the recorded reviews, and then each new one as it happens. Resolves when the page is gone. */
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

/** What one page was sent, and what it still has to get. */
class Stream implements Follower, Disposable {
  /** The id of the last review that the page has. */
  last: string;
  #session: FollowedSession;
  #response: ServerResponse;
  #collected: ScannedPart = { reviews: [], late: [] };
  #timer: NodeJS.Timeout | undefined;
  #isRead = false;
  #status = '';
  /** The page shows reviews without an answer. True at first, because a page that reconnects may still show some. */
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

  /** Sends the status if it has changed, even without an event. */
  look(): void {
    const status = this.#session.status();
    const text = JSON.stringify(status);
    if (text !== this.#status) this.#send('status', status);
    this.#status = text;
    this.#sendWaiting();
  }

  /** Sends only ids above the last one, since a review that is read from the recording may have been collected, too. */
  sendNew({ reviews, late }: ScannedPart): void {
    const fresh = reviews.filter(({ id }) => isLater(id, this.last));
    this.last = fresh.at(-1)?.id ?? this.last;
    if (fresh.length > 0) this.#send('reviews', fresh, this.last);
    if (late.length > 0) this.#send('late', late);
  }

  /** Called when everything that was recorded before has been sent. */
  onRead(): void {
    // An empty message means that the page has them all.
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
    // In this order, a review stops waiting before it is listed as answered.
    this.#sendWaiting();
    this.sendNew(this.#collected);
    this.#collected = { reviews: [], late: [] };
  }

  /** Repeated while any review waits, because how long each has waited is a part of the message. */
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

/** The id of the last review that a page has when it connects again. */
function lastEventId({ headers }: IncomingMessage): string {
  const id = headers['last-event-id'];
  return typeof id === 'string' && /^r-\d+$/.test(id) ? id : '';
}
