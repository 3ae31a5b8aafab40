import type { ListedVerdict, ReviewSummary, WaitingReview } from '../report/review.ts';

/** What `devloop reviews list` can select by. All given conditions have to hold. */
export interface ReviewFilter {
  kind?: string;
  /** The object's name, or a part of it. */
  name?: string;
  namespace?: string;
  verdict?: ListedVerdict;
  user?: string;
  webhook?: string;
  /** The earliest arrival, in ms since 1970. */
  since?: number;
  /** The shortest time from arrival to answer, in ms. */
  slowMs?: number;
}

export function selects(filter: ReviewFilter, review: ReviewSummary | WaitingReview): boolean {
  const { kind, name, namespace, verdict, user, webhook, since, slowMs } = filter;
  return (
    (kind === undefined || review.resource?.kind.toLowerCase() === kind.toLowerCase()) &&
    (name === undefined || (review.object?.name.includes(name) ?? false)) &&
    (namespace === undefined || review.object?.namespace === namespace) &&
    (verdict === undefined || ('verdict' in review ? review.verdict : 'waiting') === verdict) &&
    (user === undefined || (review.user?.includes(user) ?? false)) &&
    (webhook === undefined || review.webhook.includes(webhook)) &&
    (since === undefined || Date.parse(review.at) >= since) &&
    (slowMs === undefined || review.ms.total >= slowMs)
  );
}
