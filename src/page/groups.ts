import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { ReviewSummary } from '../report/review.ts';
import { type Entry, isCall } from './entry.ts';
import { type Request, Requests } from './requests-of-clients.ts';

/** An entry below others; `depth` 1 is directly below the head of its group. */
export interface Below {
  entry: Entry;
  depth: number;
}

/** What belongs together: one entry with what is below it, or a request with its reviews and the reconciles that followed. */
export interface Group {
  head: Entry | Request;
  below: Below[];
}

/**
 * Puts together what belongs together, in the order in which it began. Exact: the calls of a reconcile, by its ID, and the reviews that a call
 * of the controller has caused, by their uids. The reviews of other clients, and which reconciles followed, are found by object and time.
 */
export function groupsOf(reviews: ReviewSummary[], recorded: (CallSummary | ReconcileSummary)[]): Group[] {
  const calls = recorded.filter((one) => isCall(one));
  const reconciles = recorded.filter((one): one is ReconcileSummary => !isCall(one));
  const linked = new Linked(reviews, calls, reconciles);
  const requests = new Requests();
  for (const review of linked.reviewsOfClients) requests.review(review);
  const alone = byTime(reconciles).filter((one) => !requests.follows(one, linked.callsOf(one)));
  const groups = [
    ...requests.all.map((one) => groupOfRequest(one, linked)),
    ...alone.map((head) => ({ head, below: linked.belowReconcile(head, 1) })),
    ...linked.callsAlone.map((head) => ({ head, below: linked.belowCall(head, 1) })),
  ];
  return groups.sort((one, other) => compared(one.head.at, other.head.at));
}

export function isRequest(head: Entry | Request): head is Request {
  return 'reconciles' in head;
}

function groupOfRequest(request: Request, linked: Linked): Group {
  const { reviews, reconciles, change } = request;
  const [only] = reviews;
  if (only && reviews.length === 1 && reconciles.length === 0 && change === undefined)
    return { head: only, below: [] };
  const members = byTime<ReviewSummary | ReconcileSummary>([...reviews, ...reconciles]);
  const below = members.flatMap((entry) => [
    { entry, depth: 1 },
    ...('result' in entry ? linked.belowReconcile(entry, 2) : []),
  ]);
  return { head: request, below };
}

/** The exact links. */
class Linked {
  readonly reviewsOfClients: ReviewSummary[];
  /** Those that belong to no reconcile, or to one that has not ended. */
  readonly callsAlone: CallSummary[];
  #calls: Map<string, CallSummary[]>;
  #reviews = new Map<string, ReviewSummary[]>();

  constructor(reviews: ReviewSummary[], calls: CallSummary[], reconciles: ReconcileSummary[]) {
    this.#calls = new Map(reconciles.map(({ reconcile }) => [reconcile, []]));
    this.callsAlone = calls.filter((call) => !this.#calls.get(call.reconcile ?? '')?.push(call));
    const callOf = new Map(calls.flatMap(({ id, reviews: uids = [] }) => uids.map((uid) => [uid, id])));
    this.reviewsOfClients = reviews.filter((review) => {
      const call = callOf.get(review.uid ?? '');
      if (call === undefined) return true;
      this.#reviews.set(call, [...(this.#reviews.get(call) ?? []), review]);
      return false;
    });
  }

  callsOf({ reconcile }: ReconcileSummary): CallSummary[] {
    return this.#calls.get(reconcile) ?? [];
  }

  belowCall({ id }: CallSummary, depth: number): Below[] {
    return (this.#reviews.get(id) ?? []).map((entry) => ({ entry, depth }));
  }

  belowReconcile(reconcile: ReconcileSummary, depth: number): Below[] {
    return this.callsOf(reconcile).flatMap((entry) => [
      { entry, depth },
      ...this.belowCall(entry, depth + 1),
    ]);
  }
}

/** Nearly sorted already, so this is quick. */
function byTime<T extends { at: string }>(some: T[]): T[] {
  return some.toSorted((one, other) => compared(one.at, other.at));
}

function compared(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
