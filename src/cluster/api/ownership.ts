/** Who controls an object, according to its ownerReferences. Anybody can create an object that names an owner. */
import { isWorkload, type ObjectRef, relationsOf } from './kinds.ts';
import type { Metadata, OwnerReference } from './objects.ts';

type Ownership = Pick<Partial<Metadata>, 'ownerReferences' | 'labels'>;

/** The owner that controls the object; an object has at most one. */
export function controllerOf({ ownerReferences = [] }: Ownership): OwnerReference | undefined {
  return ownerReferences.find(({ controller }) => controller === true);
}

/**
 * Whether the workload owns this Pod, perhaps through a ReplicaSet that is named after it and the hash of its template. The beginning of the
 * name is not enough: Pods of Deployment `shop-canary` do not belong to `shop`.
 */
export function ownsPod(
  { kind, name }: ObjectRef,
  { labels = {}, ownerReferences = [] }: Ownership,
): boolean {
  const between = isWorkload(kind) ? relationsOf(kind).between : undefined;
  const owner = between
    ? { kind: between.kind, name: `${name}-${labels[between.hash] ?? ''}` }
    : { kind, name };
  return ownerReferences.some((one) => one.kind === owner.kind && one.name === owner.name);
}
