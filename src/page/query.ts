import { durationMs } from '../phrases.ts';
import { LISTED_VERDICTS, type ReviewSummary, type WaitingReview } from '../report/review.ts';
import { prunedWords, subject } from '../report/review-words.ts';
import { type ReviewFilter, selects } from '../reviews/select.ts';

/** What the user typed to find reviews: `kind:Application verdict:denied slow:500 nginx`. */
export interface Query {
  filter: ReviewFilter;
  /** The words to find, in lower case. Each has to be somewhere in the line of a review. */
  words: string[];
  /** The terms that are not valid, each with the reason. */
  faults: string[];
}

/** The limit that `slow` means without a value, in ms. */
const SLOW_MS = 1000;

/** The same selection as of `devloop reviews list`, with `key:value` instead of flags. A value with spaces is written in quotes. */
export function parseQuery(text: string): Query {
  const query: Query = { filter: {}, words: [], faults: [] };
  for (const [term] of text.matchAll(/(?:[^\s"]|"[^"]*"?)+/g)) takeTerm(query, term.replaceAll('"', ''));
  return query;
}

function takeTerm(query: Query, term: string): void {
  const [key = '', ...rest] = term.split(':');
  const value = rest.join(':');
  const take = Object.hasOwn(TERMS, key) ? TERMS[key] : undefined;
  if (take && rest.length > 0) {
    // Without a value, the user is still typing.
    if (value !== '') take(query, value, key);
  } else if (key === 'slow') query.filter.slowMs = SLOW_MS;
  else query.words.push(term.toLowerCase());
}

type Take = (query: Query, value: string, key: string) => void;

const takeText: Take = ({ filter }, value, key) => Object.assign(filter, { [key]: value });

const TERMS: Record<string, Take> = {
  kind: takeText,
  name: takeText,
  namespace: takeText,
  user: takeText,
  webhook: takeText,
  verdict({ filter, faults }, value) {
    const verdict = LISTED_VERDICTS.find((one) => one.startsWith(value.toLowerCase()));
    if (verdict) filter.verdict = verdict;
    else faults.push(`verdict:${value} is not one of ${LISTED_VERDICTS.join(', ')}`);
  },
  since({ filter, faults }, value) {
    const ms = durationMs(value);
    if (ms === undefined) faults.push(`since:${value} is not a duration such as 30s, 10m or 2h`);
    else filter.since = Date.now() - ms;
  },
  slow({ filter, faults }, value) {
    const slowMs = Number(value.replace(/ms$/, ''));
    if (Number.isFinite(slowMs)) filter.slowMs = slowMs;
    else faults.push(`slow:${value} is not a number of milliseconds`);
  },
};

export function matches({ filter, words }: Query, review: ReviewSummary | WaitingReview): boolean {
  if (!selects(filter, review)) return false;
  return words.length === 0 || words.every((word) => textOf(review).includes(word));
}

/** The text of each review that is searched, made only once, since that takes most of the time of a search. */
const texts = new WeakMap<ReviewSummary | WaitingReview, string>();

function textOf(review: ReviewSummary | WaitingReview): string {
  const known = texts.get(review);
  if (known !== undefined) return known;
  const { webhook, user } = review;
  const parts = [
    subject(review),
    webhook,
    user,
    ...('verdict' in review ? answerWords(review) : ['waiting']),
  ];
  const text = parts.join(' ').toLowerCase();
  texts.set(review, text);
  return text;
}

function answerWords(review: ReviewSummary): unknown[] {
  const { id, verdict, message, patch = [], warnings = [] } = review;
  return [id, verdict, message, ...patch, ...warnings, prunedWords(review)];
}
