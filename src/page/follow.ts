import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReviewSummary } from '../report/review.ts';
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
  /** What was recorded after this id, oldest first, in parts. */
  reviews(after: string): AsyncIterable<ReviewSummary[]>;
}

/** Each page that is open. */
export type Followers = Set<Follower>;

export interface Follower {
  reviewed(review: ReviewSummary): void;
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
  let last = lastEventId(request);
  let collected: ReviewSummary[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isRead = false;
  const send = <T extends keyof PageMessages>(type: T, data: PageMessages[T], id?: string): void => {
    if (response.writableLength > MOST_UNREAD) return void response.destroy();
    response.write(`event: ${type}\n${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
  };
  /** Ids rise, and what is read from the recording may have been collected, too. */
  const sendNew = (reviews: ReviewSummary[]): void => {
    const after = last;
    const fresh = reviews.filter(({ id }) => id > after);
    last = fresh.at(-1)?.id ?? last;
    if (fresh.length > 0) send('reviews', fresh, last);
  };
  const flush = (): void => {
    timer = undefined;
    if (!isRead) return;
    sendNew(collected);
    collected = [];
  };
  let shown = '';
  const sendStatus = (): void => {
    const status = session.status();
    const text = JSON.stringify(status);
    if (text !== shown) send('status', status);
    shown = text;
  };
  const follower: Follower = {
    reviewed(review) {
      collected.push(review);
      timer ??= setTimeout(flush, COLLECT_MS);
    },
  };
  followers.add(follower);
  const looking = setInterval(sendStatus, LOOK_EVERY_MS);
  try {
    sendStatus();
    for await (const reviews of session.reviews(last)) {
      sendNew(reviews);
      if (response.writableNeedDrain) await Promise.race([once(response, 'drain'), gone]);
      if (response.destroyed) return;
    }
    // An empty message says that the page knows them all.
    send('reviews', []);
    isRead = true;
    flush();
    await gone;
  } finally {
    followers.delete(follower);
    clearInterval(looking);
    clearTimeout(timer);
  }
}

/** Of a page that connects again. */
function lastEventId({ headers }: IncomingMessage): string {
  const id = headers['last-event-id'];
  return typeof id === 'string' && /^r-\d+$/.test(id) ? id : '';
}
