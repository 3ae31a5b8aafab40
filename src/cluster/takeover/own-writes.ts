/** Whether a review is about a write that devloop itself has sent and that is not answered yet. */
import { SELF_REVIEWS } from '../api/account.ts';
import type { Write } from '../api/writes.ts';
import type { AdmissionRequest } from './reviewed.ts';

const METHODS: Record<string, string[]> = {
  CREATE: ['POST'],
  UPDATE: ['PUT', 'PATCH'],
  DELETE: ['DELETE'],
};

/**
 * What the review is to a write, if the account is devloop's. `its`: the review is about this write, and the object is still in the version
 * that the write names. `stale`: somebody has changed the object since, so the API server will refuse the write with a conflict.
 */
export function relationTo(review: AdmissionRequest, write: Write): 'its' | 'stale' | undefined {
  const { operation = '', dryRun = false, object, oldObject } = review;
  if (!METHODS[operation]?.includes(write.method) || dryRun !== write.isDryRun) return undefined;
  if (pathOf(review) !== write.path) return undefined;
  const { name, resourceVersion, uid } = namedBy(write.body);
  switch (operation) {
    case 'CREATE':
      return asksWhoWeAre(write) || isNamed(object, name) ? 'its' : undefined;
    case 'UPDATE': {
      const version = object?.metadata?.resourceVersion;
      if (resourceVersion === undefined || version !== resourceVersion) return undefined;
      return oldObject?.metadata?.resourceVersion === resourceVersion ? 'its' : 'stale';
    }
    default:
      return uid === undefined || oldObject?.metadata?.uid === uid ? 'its' : undefined;
  }
}

function isNamed(object: AdmissionRequest['object'], name: unknown): boolean {
  return name !== undefined && object?.metadata?.name === name;
}

/** Whether the write asks for devloop's own account. It has no name and stores nothing, and nobody can know the account before it is answered. */
export function asksWhoWeAre({ method, path }: Write): boolean {
  return method === 'POST' && path === SELF_REVIEWS;
}

function pathOf(review: AdmissionRequest): string {
  const { group = '', version, resource } = review.requestResource ?? review.resource ?? {};
  const subresource = review.requestResource ? review.requestSubResource : review.subResource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const place = review.namespace ? `/namespaces/${encodeURIComponent(review.namespace)}` : '';
  const collection = `${root}${place}/${resource}`;
  if (review.operation === 'CREATE' && !subresource) return collection;
  const path = `${collection}/${encodeURIComponent(review.name ?? '')}`;
  return subresource ? `${path}/${subresource}` : path;
}

interface Names {
  name?: unknown;
  resourceVersion?: unknown;
  uid?: unknown;
}

/** How the body of a write names its object: an object, a merge patch, a JSON patch, or the options of a deletion. */
function namedBy(body: unknown): Names {
  if (Array.isArray(body)) {
    const guard = body.find((one) => one?.path === '/metadata/resourceVersion');
    return guard === undefined ? {} : { resourceVersion: guard.value };
  }
  const { metadata, preconditions } = (body ?? {}) as { metadata?: Names; preconditions?: Names };
  return { ...metadata, ...preconditions };
}
