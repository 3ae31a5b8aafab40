import type { CallSummary, CauseEvent, ReconcileSummary } from '../report/call.ts';
import { asks, nameIn } from '../report/call-words.ts';
import type { ReviewSummary } from '../report/review.ts';

/** What somebody asked of the API server, as far as it shows: in reviews, or, without any, in the event before a reconcile. */
export interface Request {
  /** `g-r-000299`, after the review or the reconcile by which it is known. */
  id: string;
  at: string;
  reviews: ReviewSummary[];
  /** The event of the change, if no review shows it. */
  change?: CauseEvent;
  /** Those that had its event before them, and those that followed these by their own writes, or as retries. */
  reconciles: ReconcileSummary[];
}

interface Known {
  request: Request;
  startMs: number;
  endMs: number;
  /** Reconciles that begin later are shown by themselves. */
  followedUntilMs: number;
  webhooks: Set<string>;
}

/** The API server calls the webhooks of a request one after the other, and those that validate at once. Other webhooks can be called in between. */
const BETWEEN_MS = 2_000;
/** An event arrives within milliseconds, but the API server or this machine can be busy. */
const EVENT_MS = 10_000;
/** A reconcile that begins later than this after a request is shown by itself, so that a loop does not end up in the request that began it. */
const FOLLOWED_MS = 30_000;
/** controller-runtime waits at most 1,000 s after an error; what waits for the API server comes on top. */
const LONGEST_BACKOFF_MS = 1_100_000;

/** Finds the requests of clients by object and time, since nothing in a review says which request it is for. */
export class Requests {
  #all: Request[] = [];
  /** The last request with the same object, operation and account. */
  #open = new Map<string, Known>();
  #byObject = new Map<string, Known[]>();
  #byChange = new Map<string, Known>();
  /** Which request a reconcile followed. */
  #followed = new Map<string, Known>();
  /** Which request the writes of an object followed, the oldest first. */
  #writes = new Map<string, { atMs: number; known: Known | undefined }[]>();

  get all(): Request[] {
    // A reconcile can have begun too long after a change.
    return this.#all.filter(({ reviews, reconciles }) => reviews.length + reconciles.length > 0);
  }

  /** To be called in the order of the reviews' ids. */
  review(review: ReviewSummary): void {
    const startMs = Date.parse(review.at);
    const endMs = startMs + review.ms.total;
    const key = keyOf(review);
    const open = review.kind === 'admission' ? this.#open.get(key) : undefined;
    if (open && startMs <= open.endMs + BETWEEN_MS && !open.webhooks.has(review.webhook)) {
      open.request.reviews.push(review);
      open.webhooks.add(review.webhook);
      open.endMs = Math.max(open.endMs, endMs);
      return;
    }
    const request: Request = { id: `g-${review.id}`, at: review.at, reviews: [review], reconciles: [] };
    const known = knownOf(request, { startMs, endMs }, [review.webhook]);
    this.#open.set(key, known);
    this.#add(known, { kind: review.resource?.kind, ...review.object });
  }

  /** To be called in the order of time. Returns whether the reconcile followed a request; `calls`: its calls. */
  follows(reconcile: ReconcileSummary, calls: CallSummary[]): boolean {
    const startMs = Date.parse(reconcile.at);
    const before = this.#before(reconcile) ?? this.#retried(reconcile);
    const known = before && startMs <= before.followedUntilMs ? before : undefined;
    if (known) {
      known.request.reconciles.push(reconcile);
      this.#followed.set(reconcile.id, known);
      // What it asks for is not done, so its retries belong to it, too, and what they lead to.
      if (isFailure(reconcile.result)) known.followedUntilMs = startMs + reconcile.ms + LONGEST_BACKOFF_MS;
      else if (isFailure(reconcile.retryOf?.result)) known.followedUntilMs = startMs + FOLLOWED_MS;
    }
    // Also the writes of those that followed none: what came after these did not come after an earlier write.
    for (const call of calls.filter(({ isWrite }) => isWrite)) {
      const key = objectKey({ kind: call.kind, namespace: call.namespace, name: call.name });
      pushTo(this.#writes, key, { atMs: Date.parse(call.at), known });
    }
    return known !== undefined;
  }

  #retried({ retryOf }: ReconcileSummary): Known | undefined {
    return retryOf && this.#followed.get(retryOf.id);
  }

  #before(reconcile: ReconcileSummary): Known | undefined {
    const events = reconcile.after;
    for (const event of events)
      if (!event.isOwn) {
        const known = this.#ofReviews(event) ?? this.#ofChange(event, reconcile);
        if (known) return known;
      }
    for (const event of events)
      if (event.isOwn) {
        const atMs = Date.parse(event.at);
        const write = this.#writes.get(objectKey(event))?.findLast((one) => one.atMs <= atMs);
        if (write?.known) return write.known;
      }
    return undefined;
  }

  #ofReviews(event: CauseEvent): Known | undefined {
    const atMs = Date.parse(event.at);
    const last = this.#byObject.get(objectKey(event))?.findLast(({ startMs }) => startMs <= atMs);
    const isInTime = last !== undefined && atMs <= last.endMs + EVENT_MS;
    return isInTime && last.request.reviews.every(canCause(event)) ? last : undefined;
  }

  /** What somebody asks of the object itself. */
  #ofChange(change: CauseEvent, { id, kind, namespace = '', name }: ReconcileSummary): Known | undefined {
    const isOfObject = change.kind === kind && change.name === name && (change.namespace ?? '') === namespace;
    if (!isOfObject || !asks(change)) return undefined;
    const key = JSON.stringify([change.at, objectKey(change)]);
    const found = this.#byChange.get(key);
    if (found) return found;
    const startMs = Date.parse(change.at);
    const request = { id: `g-${id}`, at: change.at, reviews: [], change, reconciles: [] };
    const known = knownOf(request, { startMs, endMs: startMs });
    this.#byChange.set(key, known);
    this.#all.push(request);
    return known;
  }

  #add(known: Known, object: Parameters<typeof objectKey>[0]): void {
    this.#all.push(known.request);
    pushTo(this.#byObject, objectKey(object), known);
  }
}

function knownOf(
  request: Request,
  { startMs, endMs }: Pick<Known, 'startMs' | 'endMs'>,
  webhooks: string[] = [],
): Known {
  return { request, startMs, endMs, followedUntilMs: startMs + FOLLOWED_MS, webhooks: new Set(webhooks) };
}

function isFailure(result: ReconcileSummary['result'] | undefined): boolean {
  return result === 'error' || result === 'panic';
}

function pushTo<T>(lists: Map<string, T[]>, key: string, one: T): void {
  const list = lists.get(key);
  if (list) list.push(one);
  else lists.set(key, [one]);
}

function canCause({ what }: CauseEvent): (review: ReviewSummary) => boolean {
  const operations = { created: ['CREATE'], changed: ['UPDATE', 'DELETE'], deleted: ['DELETE', 'UPDATE'] }[
    what
  ];
  return ({ operation = '', verdict, dryRun }) =>
    operations.includes(operation) && verdict !== 'denied' && dryRun !== true;
}

function keyOf({ operation, resource, object, user, dryRun }: ReviewSummary): string {
  const { group, kind } = resource ?? {};
  return JSON.stringify([operation, group, kind, object?.namespace, object?.name, user, dryRun]);
}

function objectKey({
  kind,
  namespace,
  name = '',
}: {
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
}): string {
  return nameIn({ kind, namespace, name });
}
