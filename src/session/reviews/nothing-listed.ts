import { notice, type Told } from '../../report/notices/catalogue.ts';
import type { ReviewSummary, WaitingReview } from '../../report/review.ts';
import { type ReviewFilter, selects } from '../../reviews/select.ts';
import { similarNames } from '../../similar.ts';

type ListedReview = ReviewSummary | WaitingReview;

/** The filters that take a name or a part of it, each with a function that reads that name from a review. */
const NAMES = {
  kind: ({ resource }: ListedReview) => resource?.kind,
  name: ({ object }: ListedReview) => object?.name,
  namespace: ({ object }: ListedReview) => object?.namespace,
  user: ({ user }: ListedReview) => user,
  webhook: ({ webhook }: ListedReview) => webhook,
} satisfies Partial<Record<keyof ReviewFilter, (review: ListedReview) => string | undefined>>;

/** Why a list is empty. Without this text, a misspelt filter would print nothing. */
export function nothingListed(source: string, filter: ReviewFilter, reviews: ListedReview[]): Told<'note'> {
  const meant = Object.keys(NAMES).map((key) => ({
    flag: key,
    names: meantBy(key as keyof typeof NAMES, filter, reviews),
  }));
  const similar = meant.filter(({ names }) => names.length > 0);
  return notice('reviews.none', { source, reviews: reviews.length, meant: similar });
}

/** Other names for a filter that selects nothing on its own. */
function meantBy(key: keyof typeof NAMES, filter: ReviewFilter, reviews: ListedReview[]): string[] {
  const typed = filter[key];
  if (typed === undefined || reviews.some((one) => selects({ [key]: typed }, one))) return [];
  const known = reviews.flatMap((one) => NAMES[key](one) ?? []);
  return similarNames(typed, [...new Set(known)]);
}
