import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import { type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import type { KubeObject, Lease } from '../../cluster/api/objects.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { leaseRef } from '../../cluster/names.ts';
import type { MarkedObject, SearchResult } from '../../cluster/takeover/find-marked.ts';
import { type LeaseHolder, readHolder } from '../../cluster/takeover/lease-holder.ts';
import { ownLeases } from '../../cluster/takeover/own-leases.ts';
import { isChanged } from '../../cluster/takeover/restore-steps.ts';
import type { Observer } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import { shellWord } from '../../phrases.ts';
import type { ObjectName } from '../../report/object-name.ts';
import { describe } from '../../report/object-name.ts';
import type { LocalMachine } from './local-machine.ts';
import { isKnownDead } from './local-sessions.ts';

/** The namespaces in which a session on this target changes or creates objects. */
export function namespacesOf(target: Target): string[] {
  return [...new Set([target.namespace, ...targetsOf(target).map((ref) => ref.namespace!)])];
}

/** The Services, the manager's workload, and what would write them again: everything that a session takes over. */
export function targetsOf(target: Target): ObjectRef[] {
  return takenObjects(target).map(({ ref }) => ref);
}

/** Like `targetsOf`, together with the objects as they were read. */
export function takenObjects(
  target: Pick<Target, 'services' | 'manager' | 'reconcilers'>,
): { ref: ObjectRef; object: KubeObject }[] {
  const { services, manager, reconcilers = [] } = target;
  return [
    ...services.map(({ service }) => ({ ref: refOf('Service', service.metadata), object: service })),
    ...(manager ? [{ ref: manager.ref, object: manager.object }] : []),
    ...reconcilers.map(({ ref, object }) => ({ ref, object })),
  ];
}

/** The name by which people know the operator: that of its manager, or of its Service if it has no manager. */
export function operatorName({ services, manager }: Target): string | undefined {
  return manager?.ref.name ?? services[0]?.service.metadata.name;
}

export function describeTarget(target: Target): string {
  return targetsOf(target).map(describe).join(', ') || 'no object in the cluster';
}

/** Reads a Lease's holder; undefined if there is no Lease, or the account is not allowed to read it. */
async function readHolderOf(
  observer: Observer,
  ref: ObjectRef,
  machine: LocalMachine,
  seen?: Lease,
): Promise<LeaseHolder | undefined> {
  return await readHolder(observer, ref, machine, seen).catch(undefinedIfForbidden);
}

/** Everything that carries the label of one session. */
export interface Traces {
  sessionId: string;
  objects: MarkedObject[];
}

/**
 * The holder of a session, if the session is alive. Throws `session.held` if that cannot be determined, because a colleague may be working
 * with the session. Only a Lease of an object that the session has changed shows that. `lookCloser` searches the namespaces of its objects, for an account that is not allowed to list Leases everywhere.
 */
export async function liveHolder(
  observer: Observer,
  machine: LocalMachine,
  { sessionId, objects }: Traces,
  lookCloser: () => Promise<SearchResult>,
): Promise<LeaseHolder | undefined> {
  const holdersIn = async (marked: MarkedObject[], seen?: 'as listed'): Promise<LeaseHolder[]> => {
    const leases = ownLeases(marked);
    const holders = await Promise.all(
      leases.map(({ ref, object }) => readHolderOf(observer, ref, machine, seen && (object as Lease))),
    );
    return holders.filter((one) => one !== undefined).filter((one) => one.sessionId === sessionId);
  };
  const listed = await holdersIn(objects, 'as listed');
  const alive = listed.find((one) => one.alive);
  // A process that is gone stays gone, and another machine's Lease was just seen to be renewed. But a process on this machine may have
  // deleted its Lease by now.
  if (listed.length > 0 && !alive?.local) return alive;
  const holders = await holdersIn(objects);
  if (holders.length > 0) return holders.find((one) => one.alive);
  if (await isKnownDead(machine, sessionId)) return undefined;
  const { marked, unseen } = await lookCloser();
  // A session creates its Leases first, so they may be younger than what was listed.
  const closer = await holdersIn(marked);
  if (closer.length > 0) return closer.find((one) => one.alive);
  const taken = marked.map(({ ref }) => ref).filter((ref) => isTakenOver(ref, sessionId));
  if (taken.length === 0) return undefined;
  const isHidden = (space?: string): boolean =>
    unseen.some(({ kind, namespace }) => kind === 'Lease' && namespace === space);
  const hidden = [...new Set(taken.map(({ namespace }) => namespace).filter(isHidden))];
  const because =
    hidden.length === 0
      ? 'has no Lease'
      : `may have a Lease in ${hidden.join(', ')}, which your account is not allowed to read`;
  throw maybeHeld(sessionId, taken.map(describe).join(', '), because);
}

/** Ignores the probes and the relay: `doctor` creates them, too, but without a Lease, and no review of the user depends on them. */
function isTakenOver(ref: ObjectRef, sessionId: string): boolean {
  const isEndpoint = ref.kind === 'Endpoints' || ref.kind === 'EndpointSlice';
  return isChanged(ref, sessionId) || (isEndpoint && !ref.name.startsWith('devloop-'));
}

/** Sessions that have changed the target, and have to end before it can be taken over. */
export interface InTheWay {
  sessions: string[];
  /** With --take-over, the live ones among them; otherwise none. */
  living: LeaseHolder[];
  /** What was not ready before them. */
  unready: ObjectName[];
}

/** Throws `session.held` for a session that is alive, or may be, unless it is to be taken over. */
export async function sessionsInTheWay(
  observer: Observer,
  target: Target,
  machine: LocalMachine,
  takeOver: boolean,
): Promise<InTheWay> {
  const leases = targetsOf(target).map(leaseRef);
  const asked = leases.map((ref) => readHolderOf(observer, ref, machine));
  const holders = (await Promise.all(asked)).filter((one) => one !== undefined);
  const live = holders.find((one) => one.alive);
  if (live && !takeOver) throw heldBy(live, target);
  const known = holders.map((one) => one.sessionId);
  for (const sessionId of markedSessions(target).filter((one) => !known.includes(one))) {
    // Without permission to read Leases, the label on an object does not show whether its session is alive.
    if (!takeOver && !(await isKnownDead(machine, sessionId)))
      throw maybeHeld(sessionId, describeTarget(target), 'has no Lease that your account is allowed to read');
    known.push(sessionId);
  }
  const unready = holders.flatMap(({ holder }) => holder?.unready ?? []);
  return { sessions: [...new Set(known)], living: holders.filter((one) => one.alive), unready };
}

/**
 * The target without the reconcilers that another live session has paused, or is about to: two webhook servers can have the same one. A
 * session that holds the target itself does not count: it is in the way, and if it is taken over, it resumes what it has paused.
 */
export async function withoutPausedReconcilers(
  observer: Observer,
  target: Target,
  machine: LocalMachine,
): Promise<Target> {
  const { reconcilers = [] } = target;
  if (reconcilers.length === 0) return target;
  const holderOf = async (ref: ObjectRef): Promise<LeaseHolder | undefined> =>
    await readHolderOf(observer, leaseRef(ref), machine);
  const holdsTarget = async ({ sessionId }: LeaseHolder): Promise<boolean> => {
    const own = await Promise.all(targetsOf({ ...target, reconcilers: [] }).map(holderOf));
    return own.some((one) => one?.sessionId === sessionId);
  };
  const isPaused = await Promise.all(
    reconcilers.map(async ({ ref }) => {
      const holder = await holderOf(ref);
      return holder?.alive === true && !(await holdsTarget(holder));
    }),
  );
  return { ...target, reconcilers: reconcilers.filter((_, index) => !isPaused[index]) };
}

export function markedSessions(target: Target): string[] {
  const sessions = takenObjects(target).map(({ object }) => sessionOf(object));
  return [...new Set(sessions.filter((session) => session !== undefined))];
}

/** The error if it is not known whether the session is still running. `because`: why its Lease does not show that. */
function maybeHeld(sessionId: string, what: string, because: string): DevloopError {
  return new DevloopError(
    'session.held',
    `${what} was changed by session ${sessionId}, which ${because}, so devloop cannot tell whether it is still running.`,
    { hint: 'If nobody is using it: devloop down --take-over' },
  );
}

export function heldBy(live: LeaseHolder, target: Target | undefined): DevloopError {
  const since = live.holder ? ` since ${live.holder.since}` : '';
  const what = target
    ? describeTarget(target)
    : (live.holder?.targets.map((one) => describe(one)).join(', ') ?? 'an operator');
  const takeOver = `Ask them to stop, or take over: devloop ${target ? 'up' : 'down'} --take-over`;
  const stop = target ? downOf(target) : `kill ${live.holder?.pid}`;
  const hint = live.local ? `Stop it with Ctrl-C in its terminal, or: ${stop}` : takeOver;
  const are = what.includes(', ') ? 'are' : 'is';
  return new DevloopError('session.held', `${what} ${are} held by ${live.identity}${since}.`, { hint });
}

/** The command names an object, since without one `down` ends every session in the cluster. */
function downOf(target: Target): string {
  const [one] = targetsOf(target);
  if (one === undefined) return 'devloop down';
  const flag = one.kind === 'Service' ? '--service' : '--deployment';
  return `devloop down ${flag} ${shellWord(one.namespace)}/${shellWord(one.name)}`;
}
