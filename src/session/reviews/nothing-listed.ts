import { counted } from '../../phrases.ts';
import type { ReviewSummary, WaitingReview } from '../../report/review.ts';
import { type ReviewFilter, selects } from '../../reviews/select.ts';
import { didYouMean } from '../../similar.ts';

type Listed = ReviewSummary | WaitingReview;

/** The filters that take a name or a part of it, each with a function that reads that name from a review. */
const NAMES = {
  kind: ({ resource }: Listed) => resource?.kind,
  name: ({ object }: Listed) => object?.name,
  namespace: ({ object }: Listed) => object?.namespace,
  user: ({ user }: Listed) => user,
  webhook: ({ webhook }: Listed) => webhook,
} satisfies Partial<Record<keyof ReviewFilter, (review: Listed) => string | undefined>>;

/** Why a list is empty. Without this text, a misspelt filter would print nothing. */
export function nothingListed(source: string, filter: ReviewFilter, reviews: Listed[]): string {
  if (reviews.length === 0) return `${source} has no reviews yet.`;
  return [
    `${source} has ${counted(reviews.length, 'review')}, and none of them matches.`,
    ...Object.keys(NAMES).flatMap((key) => meant(key as keyof typeof NAMES, filter, reviews) ?? []),
  ].join(' ');
}

/** Suggests another name for a filter that selects nothing on its own. */
function meant(key: keyof typeof NAMES, filter: ReviewFilter, reviews: Listed[]): string | undefined {
  const typed = filter[key];
  if (typed === undefined || reviews.some((one) => selects({ [key]: typed }, one))) return undefined;
  const known = reviews.flatMap((one) => NAMES[key](one) ?? []);
  return didYouMean(typed, [...new Set(known)])?.replace('?', ` for --${key}?`);
}
