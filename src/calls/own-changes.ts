import type { ApiCall } from '../api-proxy/api-call.ts';
import type { KubeObject, ManagedFields } from '../cluster/api/objects.ts';
import { partOf } from '../cluster/marks/owners.ts';
import { type PatchOperation, tokensOf, valueAt } from '../reviews/patch.ts';

/** The name by which managedFields know who made a call: kube-apiserver takes it from the user agent if the call has none. */
export function managerOf({ query }: ApiCall, headers: Record<string, unknown>): string | undefined {
  const agent = headers['user-agent'];
  return query.get('fieldManager') ?? (typeof agent === 'string' ? agent.split('/')[0] : undefined);
}

export interface Write {
  call: ApiCall;
  manager: string | undefined;
  /** The newest version that was known when the call was made, and the one in the answer. */
  before: KubeObject;
  after: KubeObject;
}

/**
 * What a write itself can have changed of what differs between both versions. Others can have written in between, and their event may not
 * have passed yet. What nobody owns counts as its own, such as an address that the API server has chosen.
 */
export function ownChanges(
  found: PatchOperation[],
  { call, manager, before, after }: Write,
): PatchOperation[] {
  // Nobody knows how managedFields name a client that does not say what it is.
  if (manager === undefined) return found;
  const subresource = call.resource?.subresource ?? '';
  const isApply = call.verb === 'apply';
  const isOfPart = (one: ManagedFields): boolean => (one.subresource ?? '') === subresource;
  const isOwn = (one: ManagedFields): boolean =>
    isOfPart(one) && one.manager === manager && (one.operation === 'Apply') === isApply;
  return found.filter(({ op, path }) => {
    const owners = ownersOf(op === 'remove' ? before : after, path);
    // An update can remove what others own.
    return owners.length === 0 || owners.some(op === 'remove' && !isApply ? isOfPart : isOwn);
  });
}

/** The owners of the field, or of the list that contains it: managedFields do not name items by their place. */
export function ownersOf(object: KubeObject, pointer: string): ManagedFields[] {
  const tokens = tokensOf(pointer);
  const inList = tokens.findIndex((_, index) =>
    Array.isArray(
      valueAt(
        object,
        pointer
          .split('/')
          .slice(0, index + 1)
          .join('/'),
      ),
    ),
  );
  const path = inList < 0 ? tokens : tokens.slice(0, inList);
  return managedFieldsOf(object).filter(({ fieldsV1 }) => partOf(fieldsV1, path) !== undefined);
}

export function managedFieldsOf({ metadata: { managedFields } }: KubeObject): ManagedFields[] {
  return Array.isArray(managedFields) ? managedFields : [];
}
