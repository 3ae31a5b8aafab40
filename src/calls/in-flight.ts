import { type ApiCall, isRead } from '../api-proxy/api-call.ts';

/** Larger reviews are not looked at, because nothing else runs in the meantime. */
const LARGEST = 2 ** 20;

interface ReviewRequest {
  uid?: unknown;
  name?: unknown;
  namespace?: unknown;
  resource?: { group?: unknown; resource?: unknown };
  subResource?: unknown;
  requestResource?: ReviewRequest['resource'];
  requestSubResource?: unknown;
  userInfo?: { username?: unknown };
}

/** The calls that have no answer yet, and can make the API server call a webhook. */
export class InFlight {
  #calls = new Set<ApiCall>();
  #isControllers: (user: string) => boolean;

  constructor(isControllers: (user: string) => boolean) {
    this.#isControllers = isControllers;
  }

  begun(call: ApiCall): void {
    if (!isRead(call) && call.resource !== undefined) this.#calls.add(call);
  }

  ended(call: ApiCall): void {
    this.#calls.delete(call);
  }

  /** The uid of the review if one of the calls may have caused it. Which one did, and whether it did, shows the answer to that call. */
  uidIfCaused(review: Buffer): string | undefined {
    if (this.#calls.size === 0 || review.length > LARGEST) return undefined;
    const request = requestIn(review);
    const { uid, userInfo } = request;
    if (typeof uid !== 'string' || !this.#isControllers(String(userInfo?.username))) return undefined;
    for (const call of this.#calls) if (isAbout(call, request)) return uid;
    return undefined;
  }
}

/** A deletion of a collection has no name, and neither has a create with generateName. */
function isAbout({ resource: of }: ApiCall, request: ReviewRequest): boolean {
  const { resource, subResource, requestResource = resource, requestSubResource = subResource } = request;
  const { name = '', namespace = '' } = request;
  return (
    of !== undefined &&
    requestResource?.group === of.group &&
    requestResource.resource === of.resource &&
    (requestSubResource ?? '') === (of.subresource ?? '') &&
    (of.namespace === undefined || of.namespace === namespace) &&
    (of.name === undefined || name === '' || of.name === name)
  );
}

function requestIn(review: Buffer): ReviewRequest {
  try {
    const { request } = (JSON.parse(review.toString('utf8')) ?? {}) as { request?: ReviewRequest | null };
    return request ?? {};
  } catch {
    return {};
  }
}
