/** Which Leases with a session's label say anything about that session. Whoever can create Leases anywhere can give them any label. */
import { isWebhookKind, isWorkload, type ObjectRef } from '../api/kinds.ts';
import type { Lease, WebhookConfiguration } from '../api/objects.ts';
import { isLeaseFor, probeObjectName } from '../names.ts';
import { SERVICE_NAME } from './endpoints.ts';
import type { MarkedObject } from './find-marked.ts';
import { type Holder, holderOf } from './lease.ts';

/**
 * The Leases among a session's objects that belong to its other objects, and those for the targets that such a Lease names: these may be
 * restored already. If no other object is left that can have a Lease, all Leases count.
 */
export function ownLeases(marked: MarkedObject[]): MarkedObject[] {
  const leases = marked.filter(({ ref }) => ref.kind === 'Lease');
  const objects = marked.flatMap(leased).filter((one) => !isOfProbe(one));
  if (objects.length === 0) return leases;
  const isFor = ({ ref }: MarkedObject, some: ObjectRef[]): boolean =>
    some.some((one) => isLeaseFor(ref, one));
  const first = leases.filter((lease) => isFor(lease, objects));
  const targets = first.flatMap(({ object }) => holderOf(object as Lease)?.targets ?? []) as ObjectRef[];
  return leases.filter((lease) => first.includes(lease) || isFor(lease, targets));
}

/** The holders that a session's own Leases record. */
export function holdersIn(marked: MarkedObject[]): Holder[] {
  return ownLeases(marked).flatMap(({ object }) => holderOf(object as Lease) ?? []);
}

/** The Services of probes exist before the session has changed anything, and have no Lease. */
function isOfProbe({ name }: ObjectRef): boolean {
  return name.startsWith(probeObjectName(''));
}

/** What a session holds a Lease for if it has changed this object. */
function leased({ ref, object }: MarkedObject): ObjectRef[] {
  const { namespace, kind } = ref;
  const service = (name: string, place = namespace): ObjectRef[] =>
    place === undefined ? [] : [{ kind: 'Service', namespace: place, name }];
  if (kind === 'Endpoints') return service(ref.name);
  if (kind === 'EndpointSlice') return service(object.metadata.labels?.[SERVICE_NAME] ?? '');
  if (isWebhookKind(kind)) {
    const called = (object as WebhookConfiguration).webhooks ?? [];
    return called.flatMap(({ clientConfig: { service: one } }) =>
      one ? service(one.name, one.namespace) : [],
    );
  }
  return kind === 'Service' || isWorkload(kind) ? [ref] : [];
}
