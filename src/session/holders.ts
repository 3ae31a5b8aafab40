import type { ClusterApi } from '../cluster/api.ts';
import type { Target } from '../cluster/discover.ts';
import { type Holder, isAlive, leaseRef } from '../cluster/lease.ts';
import { sessionOf } from '../cluster/marks.ts';
import type { ObjectRef } from '../cluster/resources.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { isRunning, type Place } from './place.ts';

/** Somebody who holds, or held, an operator. */
export interface Occupant {
  session: string;
  identity: string;
  holder: Holder | undefined;
  alive: boolean;
  /** On this machine. */
  local: boolean;
}

/** One Lease for each webhook Service; for an operator without one, one for its Deployment. */
export function leasesOf(target: Target): ObjectRef[] {
  const services = target.services.map(({ service }) =>
    leaseRef(service.metadata.namespace!, service.metadata.name),
  );
  if (services.length > 0 || target.deployment === undefined) return services;
  const { namespace = target.namespace, name } = target.deployment.object.metadata;
  return [leaseRef(namespace, name)];
}

export function describeTarget(target: Target): string {
  const named = target.services.map(
    ({ service }) => `Service ${service.metadata.namespace}/${service.metadata.name}`,
  );
  const deployment =
    target.deployment &&
    `Deployment ${target.deployment.object.metadata.namespace}/${target.deployment.object.metadata.name}`;
  return [...named, ...(deployment ? [deployment] : [])].join(', ') || 'no object of the cluster';
}

/** Asks a Lease about its holder; a session of this machine is judged by its process, any other by whether the Lease moves. */
export async function occupantOf(
  api: ClusterApi,
  ref: ObjectRef,
  place: Place,
  emit: Emit,
  signal: AbortSignal,
): Promise<Occupant | undefined> {
  return await isAlive(api, ref, { host: place.host, isRunning }, emit, signal).catch((error: unknown) => {
    if ((error as { isForbidden?: boolean }).isForbidden) return undefined;
    throw error;
  });
}

/** The dead sessions whose marks stand in the way; a live one is refused unless it is to be taken over. */
export async function deadSessions(
  api: ClusterApi,
  target: Target,
  place: Place,
  takeOver: boolean,
  emit: Emit,
  signal: AbortSignal,
): Promise<string[]> {
  const occupants = (
    await Promise.all(leasesOf(target).map((ref) => occupantOf(api, ref, place, emit, signal)))
  ).filter((one) => one !== undefined);
  const live = occupants.find((one) => one.alive);
  if (live && !takeOver) throw heldBy(live, target);
  const objects = [
    ...target.services.map((one) => one.service),
    ...(target.deployment ? [target.deployment.object] : []),
  ];
  const marked = objects.map((object) => sessionOf(object)).filter((session) => session !== undefined);
  return [...new Set([...occupants.map((one) => one.session), ...marked])];
}

export function heldBy(live: Occupant, target: Target | undefined): DevloopError {
  const since = live.holder ? ` since ${live.holder.since}` : '';
  const what = target ? describeTarget(target) : (live.holder?.target ?? 'an operator');
  const hint = live.local
    ? 'End it with Ctrl-C in its terminal, or from here: devloop down'
    : 'Talk to its holder; if it must be, take it from them with --take-over';
  return new DevloopError('session.held', `${what} is held by ${live.identity}${since}.`, { hint });
}
