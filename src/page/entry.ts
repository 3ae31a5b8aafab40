import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import type { ReviewSummary, WaitingReview } from '../report/review.ts';

/** One line of what the page lists. */
export type Entry = ReviewSummary | CallSummary | ReconcileSummary;

export function isCall(entry: Entry | WaitingReview): entry is CallSummary {
  return 'verb' in entry;
}

export function isReconcile(entry: Entry | WaitingReview): entry is ReconcileSummary {
  return 'result' in entry;
}

export function isReview(entry: Entry | WaitingReview): entry is ReviewSummary {
  return 'verdict' in entry;
}

/** A read that succeeded, outside of a reconcile: what fills the controller's caches. Most calls of an idle controller are of this kind. */
export function isQuiet(entry: Entry): boolean {
  if (!isCall(entry) || entry.isWrite || entry.reconcile !== undefined) return false;
  return entry.code !== undefined && entry.code < 400;
}
