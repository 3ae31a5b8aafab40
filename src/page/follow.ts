import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isCall } from '../calls/record.ts';
import type { LastIds } from '../calls/scan.ts';
import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { FaultSummary } from '../report/fault.ts';
import { isLater, type LateReview, type ReviewSummary, type WaitingReview } from '../report/review.ts';
import type { ScannedPart } from '../reviews/scan.ts';
import type { PageMessages, PageStatus, PageWarning } from './protocol.ts';

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
/** The same for what happens while a page still reads what was recorded before. */
const MOST_COLLECTED = 20_000;

/** What can be followed of a session. */
export interface FollowedSession {
  status(): PageStatus;
  /** The reviews recorded after this id, oldest first, in parts, and all late answers. */
  reviews(after: string): AsyncIterable<ScannedPart>;
  /** The calls and reconciles recorded after these, in parts. */
  calls(after: LastIds): AsyncIterable<(CallSummary | ReconcileSummary)[]>;
  /** The reviews that have no answer at this moment. */
  waiting(): WaitingReview[];
  warnings(): PageWarning[];
  faults(): FaultSummary[];
}

/** Each page that is open. */
export type Followers = Set<Follower>;

export interface Follower {
  reviewed(review: ReviewSummary): void;
  answeredLate(review: LateReview): void;
  called(recorded: CallSummary | ReconcileSummary): void;
  ended(): void;
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
    const { review, ...calls } = stream.last;
    for await (const part of session.reviews(review)) {
      stream.sendNew(part);
      if (!(await isRead(response, gone))) return;
    }
    for await (const part of session.calls(calls)) {
      stream.sendNewCalls(part);
      if (!(await isRead(response, gone))) return;
    }
    stream.onRead();
    await gone;
  } finally {
    followers.delete(stream);
    clearInterval(looking);
    stream[Symbol.dispose]();
  }
}

/** Waits until the page has read what was sent; false if it is gone. */
async function isRead(response: ServerResponse, gone: Promise<void>): Promise<boolean> {
  if (response.writableNeedDrain) await Promise.race([once(response, 'drain'), gone]);
  return !response.destroyed;
}

/** The ids of the last review, call and reconcile that a page has; empty if none. */
interface Last extends LastIds {
  review: string;
}

/** What one page was sent, and what it still has to get. */
class Stream implements Follower, Disposable {
  last: Last;
  #session: FollowedSession;
  #response: ServerResponse;
  #collected: ScannedPart = { reviews: [], late: [] };
  #calls: (CallSummary | ReconcileSummary)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isRead = false;
  /** What was sent last of that which is sent as a whole. */
  #sent = new Map<keyof PageMessages, string>();
  /** The page shows reviews without an answer. True at first, because a page that reconnects may still show some. */
  #showsWaiting = true;

  constructor(session: FollowedSession, response: ServerResponse, last: Last) {
    this.#session = session;
    this.#response = response;
    this.last = last;
  }

  reviewed(review: ReviewSummary): void {
    this.#collected.reviews.push(review);
    this.#flushSoon();
  }

  answeredLate(review: LateReview): void {
    this.#collected.late.push(review);
    this.#flushSoon();
  }

  called(recorded: CallSummary | ReconcileSummary): void {
    this.#calls.push(recorded);
    this.#flushSoon();
  }

  ended(): void {
    this.#send('ended', {});
  }

  /** Sends what has changed, even without an event. */
  look(): void {
    this.#sendChanged('status', this.#session.status());
    this.#sendChanged('warnings', this.#session.warnings());
    this.#sendChanged('faults', this.#session.faults());
    this.#sendWaiting();
  }

  /** Sends only ids above the last one, since a review that is read from the recording may have been collected, too. */
  sendNew({ reviews, late }: ScannedPart): void {
    const fresh = reviews.filter(({ id }) => isLater(id, this.last.review));
    this.last.review = fresh.at(-1)?.id ?? this.last.review;
    if (fresh.length > 0) this.#send('reviews', fresh, true);
    if (late.length > 0) this.#send('late', late);
  }

  /** Like `sendNew`. */
  sendNewCalls(recorded: (CallSummary | ReconcileSummary)[]): void {
    const fresh = recorded.filter((one) => {
      const which = isCall(one) ? 'call' : 'reconcile';
      const isNew = isLater(one.id, this.last[which]);
      if (isNew) this.last[which] = one.id;
      return isNew;
    });
    if (fresh.length > 0) this.#send('calls', fresh, true);
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

  #flushSoon(): void {
    const { reviews, late } = this.#collected;
    if (reviews.length + late.length + this.#calls.length > MOST_COLLECTED) this.#response.destroy();
    this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS);
  }

  #flush(): void {
    this.#timer = undefined;
    if (!this.#isRead) return;
    // In this order, a review stops waiting before it is listed as answered.
    this.#sendWaiting();
    this.sendNew(this.#collected);
    this.sendNewCalls(this.#calls);
    this.#collected = { reviews: [], late: [] };
    this.#calls = [];
  }

  /** Repeated while any review waits, because how long each has waited is a part of the message. */
  #sendWaiting(): void {
    const waiting = this.#session.waiting();
    if (waiting.length > 0 || this.#showsWaiting) this.#send('waiting', waiting);
    this.#showsWaiting = waiting.length > 0;
  }

  #sendChanged<T extends keyof PageMessages>(type: T, data: PageMessages[T]): void {
    const text = JSON.stringify(data);
    if (text !== this.#sent.get(type)) this.#send(type, data);
    this.#sent.set(type, text);
  }

  /** `hasIds`: the page continues after what is sent when it connects again. */
  #send<T extends keyof PageMessages>(type: T, data: PageMessages[T], hasIds = false): void {
    if (this.#response.writableLength > MOST_UNREAD) return void this.#response.destroy();
    const { review, call, reconcile } = this.last;
    const id = hasIds ? `id: ${[review, call, reconcile].join()}\n` : '';
    this.#response.write(`event: ${type}\n${id}data: ${JSON.stringify(data)}\n\n`);
  }
}

/** What a page has when it connects again. */
function lastEventId({ headers }: IncomingMessage): Last {
  const id = String(headers['last-event-id'] ?? '');
  const [, review = '', call = '', reconcile = ''] = /^(r-\d+)?,(c-\d+)?,(k-\d+)?$/.exec(id) ?? [];
  return { review, call, reconcile };
}
