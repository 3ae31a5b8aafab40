import { ApiError } from '../../cluster/api/errors.ts';
import { describe, type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { leaseRef } from '../../cluster/names.ts';
import { type LeaseHolder, readHolder } from '../../cluster/takeover/lease-holder.ts';
import type { Observer } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import type { LocalMachine } from './local-machine.ts';
import { isKnownDead } from './session-directories.ts';

/** One Lease for each Service and for the Deployment: whatever two sessions may share. */
export function leasesOf(target: Target): ObjectRef[] {
  return targetsOf(target).map(leaseRef);
}

/** Where a session on this target leaves marks. */
export function namespacesOf(target: Target): string[] {
  return [...new Set([target.namespace, ...target.services.map((one) => one.service.metadata.namespace!)])];
}

/** The Services and the Deployment that a session takes over. */
export function targetsOf(target: Target): ObjectRef[] {
  const services = target.services.map(({ service }) => refOf('Service', service.metadata));
  const deployment = target.deployment ? [refOf('Deployment', target.deployment.object.metadata)] : [];
  return [...services, ...deployment];
}

export function describeTarget(target: Target): string {
  return targetsOf(target).map(describe).join(', ') || 'no object of the cluster';
}

/** Asks a Lease about its holder; undefined where there is none, or it may not be read. */
export async function readHolderOf(
  observer: Observer,
  ref: ObjectRef,
  machine: LocalMachine,
): Promise<LeaseHolder | undefined> {
  try {
    return await readHolder(observer, ref, machine);
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return undefined;
    throw error;
  }
}

/** Sessions whose marks stand in the way. */
export interface InTheWay {
  sessions: string[];
  /** Those of them that live; only where they are to be taken over. */
  living: LeaseHolder[];
}

/** The dead sessions whose marks stand in the way; one that lives, or may live, is refused unless it is to be taken over. */
export async function sessionsInTheWay(
  observer: Observer,
  target: Target,
  machine: LocalMachine,
  takeOver: boolean,
): Promise<InTheWay> {
  const asked = leasesOf(target).map((ref) => readHolderOf(observer, ref, machine));
  const occupants = (await Promise.all(asked)).filter((one) => one !== undefined);
  const live = occupants.find((one) => one.alive);
  if (live && !takeOver) throw heldBy(live, target);
  const known = occupants.map((one) => one.sessionId);
  for (const session of markedSessions(target).filter((one) => !known.includes(one))) {
    // Where Leases are forbidden, a mark alone does not say whether somebody is at work.
    if (!takeOver && !(await isKnownDead(machine, session))) throw maybeHeld(session, target);
    known.push(session);
  }
  return { sessions: [...new Set(known)], living: occupants.filter((one) => one.alive) };
}

export function markedSessions(target: Target): string[] {
  const deployment = target.deployment ? [target.deployment.object] : [];
  const objects = [...target.services.map((one) => one.service), ...deployment];
  return [...new Set(objects.map((object) => sessionOf(object)).filter((session) => session !== undefined))];
}

function maybeHeld(session: string, target: Target): DevloopError {
  return new DevloopError(
    'session.held',
    `${describeTarget(target)} carries the mark of session ${session}, which has no Lease: whether it is still at work cannot be seen from here.`,
    { hint: 'If nobody works on it, put it back with: devloop down' },
  );
}

export function heldBy(live: LeaseHolder, target: Target | undefined): DevloopError {
  const since = live.holder ? ` since ${live.holder.since}` : '';
  const what = target
    ? describeTarget(target)
    : (live.holder?.targets.map((one) => describe(one)).join(', ') ?? 'an operator');
  const hint = live.local
    ? 'End it with Ctrl-C in its terminal, or from here: devloop down'
    : 'Talk to its holder; if it must be, take it from them with --take-over';
  return new DevloopError('session.held', `${what} is held by ${live.identity}${since}.`, { hint });
}
