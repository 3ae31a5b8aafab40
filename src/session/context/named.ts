import { isWorkload, type Kind, type ObjectRef, WORKLOAD_KINDS } from '../../cluster/api/kinds.ts';
import type { MarkedObject } from '../../cluster/takeover/find-marked.ts';
import { leasedBy } from '../../cluster/takeover/lease.ts';
import { ownLeases } from '../../cluster/takeover/own-leases.ts';
import { isChanged } from '../../cluster/takeover/restore-steps.ts';
import type { Given } from '../../config/table.ts';
import type { TakenObject } from '../../operator/closed-webhooks.ts';
import { describe } from '../../report/object-name.ts';

/** Objects as `[namespace/]name`, and the namespace for names without one. */
export interface ObjectNames {
  services: string[];
  deployment?: string;
  namespace?: string;
}

/** What the command line names, whatever the other settings say. */
export function namesGiven({ service = [], deployment, namespace }: Given): ObjectNames {
  return { services: service, deployment, namespace };
}

/**
 * The sessions that the user asked about, each with all of its marked objects. If objects are named, these are the sessions that hold one
 * of them; if only a namespace is named, those with an object in it; otherwise all.
 */
export function namedSessions(marked: MarkedObject[], named: ObjectNames): Map<string, MarkedObject[]> {
  const ids = new Set(marked.filter((one) => isNamed(one, named)).map((one) => one.sessionId));
  return new Map([...ids].sort().map((id) => [id, marked.filter((one) => one.sessionId === id)]));
}

/** A Lease counts as the object that it stands for, which may already be restored. */
function isNamed(one: MarkedObject, { services, deployment, namespace }: ObjectNames): boolean {
  const { kind, ...taken } = leasedBy(one, TAKEN_KINDS) ?? one.ref;
  const isHere = namespace === undefined || taken.namespace === namespace;
  const isOne = (name: string): boolean =>
    name === `${taken.namespace}/${taken.name}` || (name === taken.name && isHere);
  if (services.length > 0) return kind === 'Service' && services.some(isOne);
  if (deployment !== undefined) return isWorkload(kind) && isOne(deployment);
  return isHere;
}

/**
 * The objects that a session took over: those that have its mark, and those that are already restored, so that only its Leases still name
 * them.
 */
export function takenBy(sessionId: string, objects: MarkedObject[]): TakenObject[] {
  const changed = objects.filter(({ ref }) => TAKEN_KINDS.includes(ref.kind) && isChanged(ref, sessionId));
  const leased = ownLeases(objects).flatMap((one) => leasedBy(one, TAKEN_KINDS) ?? []);
  const all: TakenObject[] = [...leased.map((ref) => ({ ref })), ...changed];
  return [...new Map(all.map((one) => [describe(one.ref), one])).values()];
}

const TAKEN_KINDS: Kind[] = ['Service', ...WORKLOAD_KINDS];

/** What all sessions took over: names to suggest if none of the user's names is among them. */
export function allTaken(marked: MarkedObject[]): ObjectRef[] {
  return [...namedSessions(marked, { services: [] })].flatMap(([sessionId, objects]) =>
    takenBy(sessionId, objects).map(({ ref }) => ref),
  );
}

/** The names as the user wrote them; absent if there are none. */
export function namesIn({ services, deployment }: ObjectNames): string[] | undefined {
  if (services.length > 0) return services;
  return deployment === undefined ? undefined : [deployment];
}
