import type { CallSummary, ReconcileSummary } from '../report/call.ts';
import { callWord, causeWords, nameIn, subjectOf, wordOf, writeWords } from '../report/call-words.ts';
import type { ReviewSummary, WaitingReview } from '../report/review.ts';
import { prunedWords, subject } from '../report/review-words.ts';
import { type Entry, isCall, isReconcile } from './entry.ts';

/** The text of each entry that is searched, made only once, since that takes most of the time of a search. */
const texts = new WeakMap<Entry | WaitingReview, string>();

export function textOf(entry: Entry | WaitingReview): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const text = partsOf(entry)
    .filter((part) => part !== undefined)
    .join(' ')
    .toLowerCase();
  texts.set(entry, text);
  return text;
}

function partsOf(entry: Entry | WaitingReview): unknown[] {
  if (isCall(entry)) return callParts(entry);
  return isReconcile(entry) ? reconcileParts(entry) : reviewParts(entry);
}

function reviewParts(review: ReviewSummary | WaitingReview): unknown[] {
  const { webhook, webhookType, user } = review;
  const asked = [subject(review), webhook, webhookType, user];
  if (!('verdict' in review)) return [...asked, 'waiting'];
  const { id, verdict, message, patch = [], warnings = [], faults = [] } = review;
  return [...asked, id, verdict, message, ...patch, ...warnings, prunedWords(review), ...faults];
}

function callParts(call: CallSummary): unknown[] {
  const { id, resource, code, message, reconcile, changes = [], warnings = [], faults = [] } = call;
  const said = [callWord(call), code, message, ...changes, ...warnings, ...faults];
  return [id, subjectOf(call), resource, reconcile, ...said];
}

function reconcileParts(reconcile: ReconcileSummary): unknown[] {
  const { id, reconcile: uid, controller, error, calls, after } = reconcile;
  const writes = calls.map((call) => writeWords(call, reconcile));
  const causes = after.map((cause) => causeWords(cause, reconcile));
  return [
    'reconcile',
    id,
    uid,
    controller,
    nameIn(reconcile),
    wordOf(reconcile),
    error,
    ...writes,
    ...causes,
  ];
}
