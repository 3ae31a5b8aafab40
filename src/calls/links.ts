import type { ReviewCause, ReviewSummary } from '../report/review.ts';
import { type ReviewRecord, summaryOf } from '../reviews/record.ts';
import { type CallRecord, isCall, type ReconcileRecord } from './record.ts';

/** The call that caused a review, and its reconcile, as far as they are still recorded. */
export function causeOf(
  { uid }: ReviewRecord,
  recorded: (CallRecord | ReconcileRecord)[],
): ReviewCause | undefined {
  if (uid === undefined) return undefined;
  const call = recorded.find((one): one is CallRecord => isCall(one) && one.reviews?.includes(uid) === true);
  if (call === undefined) return undefined;
  const cause = { call: call.id, verb: call.verb };
  const { reconcile: id } = call;
  const made = recorded.find(
    (one): one is ReconcileRecord => id !== undefined && !isCall(one) && one.reconcile === id,
  );
  if (made === undefined) return cause;
  const { kind = made.controller, namespace, name } = made;
  return { ...cause, reconcile: made.id, of: { kind, ...(namespace ? { namespace } : {}), name } };
}

/** The reviews that a call or the calls of a reconcile caused, as far as they are still recorded. */
export function reviewsCausedBy(
  record: CallRecord | ReconcileRecord,
  reviews: ReviewRecord[],
): ReviewSummary[] {
  const calls = isCall(record) ? [record] : record.calls;
  const uids = new Set(calls.flatMap((one) => one.reviews ?? []));
  return reviews.filter(({ uid }) => uid !== undefined && uids.has(uid)).map(summaryOf);
}
