import { type CauseEvent, hasFailed } from '../report/call.ts';
import type { DevloopEvent } from '../report/events.ts';
import type { ReviewSummary } from '../report/review.ts';
import { type CallRecord, callSummary, isCall, type ReconcileRecord, reconcileSummary } from './record.ts';

/** The object whose life is asked for. `kind`: in any case, or the plural. Without `namespace`, in any. */
export interface Wanted {
  kind: string;
  namespace?: string;
  name: string;
}

interface Entry {
  at: string;
  event: DevloopEvent;
}

interface Named {
  kind?: string | undefined;
  namespace?: string | undefined;
  name?: string | undefined;
  /** The plural, with its subresource. */
  resource?: string | undefined;
}

type Recorded = CallRecord | ReconcileRecord;

/** What is recorded about an object, in the order in which it happened. */
export function timelineOf(
  wanted: Wanted,
  { reviews, recorded }: { reviews: ReviewSummary[]; recorded: Recorded[] },
): DevloopEvent[] {
  const calls = recorded.filter(isCall);
  const reconciles = recorded.filter((one): one is ReconcileRecord => !isCall(one));
  const isWanted = matching(wanted, calls);
  const own = new Set(reconciles.filter(isWanted).map(({ reconcile }) => reconcile));
  const entries = [
    ...reviews.filter((one) => isWanted({ kind: one.resource?.kind, ...one.object })).map(ofReview),
    ...changesOfOthers(recorded, isWanted),
    ...calls.filter((call) => isWanted(call) && isShown(call, own)).map(ofCall),
    ...reconciles.flatMap((one) => ofReconcile(one, wanted.name, isWanted)),
  ];
  return entries.sort((one, other) => Date.parse(one.at) - Date.parse(other.at)).map(({ event }) => event);
}

/** A call that was refused tells only the plural, which calls that were not refused have beside the kind. */
function matching({ kind: asked, namespace, name }: Wanted, calls: CallRecord[]): (one: Named) => boolean {
  const isAsked = (text?: string): boolean => text?.toLowerCase() === asked.toLowerCase();
  const known = calls.find((one) => isAsked(one.kind) || (one.kind !== undefined && isAsked(pluralOf(one))));
  const kinds = new Set([asked, known?.kind, known && pluralOf(known)].map((one) => one?.toLowerCase()));
  return (one) =>
    one.name === name &&
    (namespace === undefined || (one.namespace ?? '') === namespace) &&
    kinds.has((one.kind ?? pluralOf(one))?.toLowerCase());
}

function pluralOf({ resource }: Named): string | undefined {
  return resource?.split('/')[0];
}

/** What the object's own reconciles wrote is in their lines. */
function isShown({ isWrite, code, reconcile = '' }: CallRecord, own: Set<string>): boolean {
  return (isWrite || hasFailed({ code })) && !own.has(reconcile);
}

function ofReview(review: ReviewSummary): Entry {
  return { at: review.at, event: { type: 'reviews.listed', review } };
}

function ofCall(record: CallRecord): Entry {
  return { at: record.at, event: { type: 'calls.listed', call: callSummary(record) } };
}

/** What was logged in it follows what it did: of the object's own reconcile all, of one that has written it what names it. */
function ofReconcile(record: ReconcileRecord, name: string, isWanted: (one: Named) => boolean): Entry[] {
  const { at, reconcile, calls, log = [] } = record;
  const isOwn = isWanted(record);
  const isAbout = (line: string): boolean => isOwn || line.split(/[^\w.-]+/).includes(name);
  const end = new Date(Date.parse(at) + record.ms).toISOString();
  const lines = isOwn || calls.some(isWanted) ? log.filter(isAbout) : [];
  return [
    ...(isOwn
      ? [{ at, event: { type: 'reconciles.listed' as const, reconcile: reconcileSummary(record) } }]
      : []),
    ...lines.map((line) => ({
      at: end,
      event: { type: 'timeline.logged' as const, at: end, reconcile, line },
    })),
  ];
}

/** An event can come before reconciles of several controllers, or several writes. */
function changesOfOthers(recorded: Recorded[], isWanted: (one: Named) => boolean): Entry[] {
  const changes = new Map<string, CauseEvent>();
  for (const { after = [] } of recorded)
    for (const one of after) if (!one.isOwn && isWanted(one)) changes.set(JSON.stringify(one), one);
  return [...changes.values()].map((change) => ({
    at: change.at,
    event: { type: 'timeline.changed', change },
  }));
}
