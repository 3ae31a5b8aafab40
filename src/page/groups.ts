import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { ReviewSummary } from '../report/review.ts';
import { type Entry, isCall, isReconcile } from './entry.ts';
import { type Repeated, repeatedIn } from './repeated.ts';
import { type Request, Requests } from './requests-of-clients.ts';

/** An entry below others; `depth` 1 is directly below the head of its group. */
export interface Below {
  entry: Entry;
  depth: number;
  /** The reconciles that repeated it, with what is below them, which have no rows of their own. */
  again?: Entry[];
}

/** What belongs together: one entry with what is below it, or a request with its reviews and the reconciles that followed. */
export interface Group {
  head: Entry | Request;
  below: Below[];
  /** Like `Below.again`. */
  again?: Entry[];
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
  const repeated = repeatedIn(alone);
  const groups = [
    ...requests.all.map((one) => groupOfRequest(one, linked)),
    ...repeated.map((one) => ({
      ...{ head: one.first, below: linked.belowReconcile(one.first, 1) },
      ...againOf(one, linked),
    })),
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
  const repeated = new Map(repeatedIn(byTime(reconciles)).map((one) => [one.first, one]));
  const members = byTime<ReviewSummary | ReconcileSummary>([...reviews, ...repeated.keys()]);
  const below = members.flatMap((entry): Below[] => {
    if (!isReconcile(entry)) return [{ entry, depth: 1 }];
    return [
      { entry, depth: 1, ...againOf(repeated.get(entry)!, linked) },
      ...linked.belowReconcile(entry, 2),
    ];
  });
  return { head: request, below };
}

function againOf({ again }: Repeated, linked: Linked): { again?: Entry[] } {
  if (again.length === 0) return {};
  return {
    again: again.flatMap((one) => [one, ...linked.belowReconcile(one, 1).map(({ entry }) => entry)]),
  };
}

/** Whether the group has the entry, or is headed by the request, with this id. */
export function hasIn(group: Group, id: string): boolean {
  return isOwnRow(group, id) || group.below.some(({ entry, again }) => entry.id === id || isOneOf(again, id));
}

/** Whether the row of the group itself shows this entry or request. */
export function isOwnRow({ head, again }: Group, id: string): boolean {
  return head.id === id || isOneOf(again, id);
}

function isOneOf(again: Entry[] = [], id: string): boolean {
  return again.some((one) => one.id === id);
}

/** The entries without a row of their own that are shown in the one of this entry, or in which this one is shown. */
export function repetitionsOf({ head, below, again = [] }: Group, id: string): Entry[] {
  const all = [...(isRequest(head) ? [] : [{ entry: head, again }]), ...below];
  const found = all.find((one) => one.entry.id === id || one.again?.some((other) => other.id === id));
  return found?.again?.length ? [found.entry, ...found.again] : [];
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
