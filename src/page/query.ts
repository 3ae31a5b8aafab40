import { type CallFilter, selectsCall, selectsReconcile } from '../calls/filter.ts';
import { durationMs } from '../phrases.ts';
import { callWord, wordOf } from '../report/call-words.ts';
import { LISTED_VERDICTS, type ReviewSummary, type WaitingReview } from '../report/review.ts';
import { type ReviewFilter, selects } from '../reviews/select.ts';
import { type Entry, isCall, isReconcile, isReview } from './entry.ts';
import { textOf } from './entry-text.ts';

/** What the user typed to find entries: `kind:Application verdict:denied slow:500 nginx`. */
export interface Query {
  filter: EntryFilter;
  /** The words to find, in lower case. Each has to be somewhere in the text of an entry. */
  words: string[];
  /** What must not be found: `-kind:Pod -nginx`. */
  without: Query[];
  /** The terms that are not valid, each with the reason. */
  faults: { term: string; why: string }[];
}

/** The flags of `devloop reviews list`, `devloop calls` and `devloop reconciles` together. Entries to which one does not apply are not selected. */
interface EntryFilter extends Omit<ReviewFilter, 'verdict'>, CallFilter {
  is?: Which;
  /** The verdict of a review, or what the list shows in its place for a reconcile or a call. */
  status?: string;
}

const WHICH = ['review', 'reconcile', 'call', 'read'] as const;
type Which = (typeof WHICH)[number];

/** The limit that `slow` means without a value, in ms. */
const SLOW_MS = 1000;

/** `key:value` stands for the flag `--key value`, and `writes`, `failed` and `slow` for the flags without a value. In quotes, a term is a text. */
export function parseQuery(text: string): Query {
  const query: Query = { filter: {}, words: [], without: [], faults: [] };
  for (const [term] of text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)) takeTerm(query, term);
  return query;
}

function takeTerm(query: Query, term: string): void {
  if (/^-[^-]/.test(term)) {
    const { faults, ...rest } = parseQuery(term.slice(1));
    query.faults.push(...faults.map(({ why }) => ({ term, why })));
    if (!isEmpty({ ...rest, faults })) query.without.push({ ...rest, faults });
    return;
  }
  const plain = term.replaceAll('"', '');
  const [, key = '', value = ''] = /^([a-z]+):(.*)$/s.exec(term.startsWith('"') ? '' : plain) ?? [];
  if (Object.hasOwn(FLAGS, plain)) Object.assign(query.filter, FLAGS[plain]);
  else if (key === '') query.words.push(plain.toLowerCase());
  else {
    // Without a value, the user is still typing.
    const why = value === '' ? undefined : taken(query.filter, key, value);
    if (why !== undefined) query.faults.push({ term: plain, why });
  }
}

const FLAGS: Record<string, EntryFilter> = {
  slow: { slowMs: SLOW_MS },
  writes: { writes: true },
  failed: { failed: true },
};

/** Adds the term to the filter, or says why it is not valid. */
function taken(filter: EntryFilter, key: string, value: string): string | undefined {
  if (Object.hasOwn(TERMS, key)) return TERMS[key]!(filter, value, key);
  return `is none of ${Object.keys(TERMS).join(', ')}; in quotes, it is a text`;
}

type Take = (filter: EntryFilter, value: string, key: string) => string | undefined;

const takeText: Take = (filter, value, key) => void Object.assign(filter, { [key]: value });

/** The words of reviews, reconciles and calls in the column of that name. */
const STATUSES = [
  ...LISTED_VERDICTS,
  ...['reconciled', 'panicked', 'cut off', 'wrote', 'read', 'unchanged', 'refused', 'forbidden'],
];

function takeStatus(filter: EntryFilter, value: string): string | undefined {
  const status = STATUSES.find((one) => one.startsWith(value.toLowerCase()));
  if (status === undefined) return `is not one of ${STATUSES.join(', ')}`;
  filter.status = status;
  return undefined;
}

const TERMS: Record<string, Take> = {
  is(filter, value) {
    const is = WHICH.find((one) => one === value.toLowerCase().replace(/s$/, ''));
    if (is === undefined) return `is not one of ${WHICH.join(', ')}`;
    filter.is = is;
    return undefined;
  },
  kind: takeText,
  name: takeText,
  namespace: takeText,
  user: takeText,
  webhook: takeText,
  verdict: takeStatus,
  status: takeStatus,
  verb: takeText,
  controller: takeText,
  reconcile: takeText,
  since(filter, value) {
    const ms = durationMs(value);
    if (ms === undefined) return 'is not a duration such as 30s, 10m or 2h';
    filter.since = Date.now() - ms;
    return undefined;
  },
  slow(filter, value) {
    const slowMs = Number(value.replace(/ms$/, ''));
    if (!Number.isFinite(slowMs)) return 'is not a number of milliseconds';
    filter.slowMs = slowMs;
    return undefined;
  },
};

/** Whether successful reads, which are left out otherwise, are asked for. */
export function wantsReads({ filter: { is, verb } }: Query): boolean {
  return is === 'read' || is === 'call' || verb !== undefined;
}

export function isEmpty({ filter, words, without }: Query): boolean {
  return words.length + without.length === 0 && Object.keys(filter).length === 0;
}

export function matches({ filter, words, without }: Query, entry: Entry | WaitingReview): boolean {
  const { status } = filter;
  if (status !== undefined && statusOf(entry) !== status) return false;
  if (!selectsEntry(filter, entry) || without.some((one) => matches(one, entry))) return false;
  return words.length === 0 || words.every((word) => textOf(entry).includes(word));
}

function selectsEntry(filter: EntryFilter, entry: Entry | WaitingReview): boolean {
  const { is, verb, user, webhook, controller, slowMs = 0 } = filter;
  const isOfReviews = (user ?? webhook) !== undefined;
  if (isCall(entry)) {
    const isKind = is === undefined || is === 'call' || (is === 'read' && !entry.isWrite);
    if (!isKind || isOfReviews || controller !== undefined) return false;
    return entry.ms >= slowMs && selectsCall(filter, entry);
  }
  if (isReconcile(entry)) {
    if ((is ?? 'reconcile') !== 'reconcile' || isOfReviews || verb !== undefined) return false;
    return entry.ms >= slowMs && selectsReconcile(filter, entry);
  }
  return selectsReview(filter, entry);
}

function selectsReview(filter: EntryFilter, review: ReviewSummary | WaitingReview): boolean {
  const { is = 'review', verb, controller, reconcile, writes, failed } = filter;
  if (is !== 'review' || (verb ?? controller ?? reconcile) !== undefined || writes) return false;
  return (!failed || (isReview(review) && hasFailed(review))) && selects(filter, review);
}

function statusOf(entry: Entry | WaitingReview): string {
  if (isCall(entry)) return callWord(entry);
  if (isReconcile(entry)) return wordOf(entry);
  return isReview(entry) ? entry.verdict : 'waiting';
}

export function hasFailed({ verdict }: Pick<ReviewSummary, 'verdict'>): boolean {
  return verdict !== 'allowed' && verdict !== 'converted';
}
