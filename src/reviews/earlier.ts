import { isDeepStrictEqual } from 'node:util';
import { isLater, type ReviewSummary } from '../report/review.ts';
import type { ReviewRecord } from './record.ts';
import { answerIn, askedBy, patchedObject } from './show.ts';

/** Whether `earlier` is a review of the same object and operation. One request to the API server makes a review for each webhook. */
export function isOfSameObject(earlier: ReviewSummary, later: ReviewSummary): boolean {
  return isLater(later.id, earlier.id) && isDeepStrictEqual(idOf(earlier), idOf(later));
}

function idOf({ operation, resource, object }: ReviewSummary): unknown[] {
  return [operation, resource?.group, resource?.kind, object?.namespace, object?.name];
}

/**
 * The reviews that can have changed the object for the review that came after them, latest first. `reviews`: those of the same object,
 * oldest first. Of each webhook, only the last one can belong to the same request.
 */
export function changesBefore<Review extends ReviewSummary>(reviews: Review[]): Review[] {
  const last = new Map(reviews.map((one) => [one.webhook, one]));
  return reviews.filter((one) => last.get(one.webhook) === one && (one.patch ?? []).length > 0).reverse();
}

/** Whether the later review got the object as the patch of the earlier one left it. */
export function wasChangedBy(earlier: ReviewRecord, later: ReviewRecord): boolean {
  const { object } = askedBy(later.request);
  const left = patchedObject(askedBy(earlier.request).object, answerIn(earlier.response).patch);
  return (
    left !== undefined && 'object' in left && isDeepStrictEqual(ownFields(left.object), ownFields(object))
  );
}

/** The object without what the API server itself sets between mutating and validating webhooks: uid, generation, managedFields and others. */
function ownFields(object: object | null | undefined): unknown {
  const { metadata = {}, status: _, ...rest } = (object ?? {}) as { metadata?: object; status?: unknown };
  const own = Object.entries(metadata ?? {}).filter(([key]) => OWN_METADATA.has(key));
  return { ...rest, metadata: Object.fromEntries(own) };
}

const OWN_METADATA = new Set(['name', 'namespace', 'labels', 'annotations', 'ownerReferences', 'finalizers']);
