import { allDone } from '../../async.ts';
import { isDenied, isTransient } from '../../cluster/api/errors.ts';
import { isWorkload, type Kind, type ObjectRef } from '../../cluster/api/kinds.ts';
import { findMarked, type MarkedObject, type SearchResult } from '../../cluster/takeover/find-marked.ts';
import { holdersIn } from '../../cluster/takeover/own-leases.ts';
import type { NotStarted } from '../../cluster/takeover/pause/why-not-started.ts';
import {
  findNotStarted,
  isChanged,
  type RestoreResult,
  removeCreated,
  removeLeases,
  removeMarks,
  removeRelays,
  removeStandIns,
  restoreServices,
  restoreWebhookTimes,
  resumeManagers,
  waitUntilUnblocked,
} from '../../cluster/takeover/restore-steps.ts';
import { findUnmarked } from '../../cluster/takeover/unmarked.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import type { ObjectName } from '../../report/object-name.ts';
import { describe } from '../../report/object-name.ts';
import { handOver, notRestored, pointsOneOf } from './hand-over.ts';
import { type ChangeScope, refusePart } from './refuse-part.ts';
import { slicesBack } from './slices-back.ts';

/** How long to wait for a resumed in-cluster manager. */
export const MANAGER_READY_SECONDS = 90;

export interface RestoreOptions {
  /** How long the in-cluster manager can take to become ready. With 0, devloop does not wait. */
  managerReadySeconds: number;
  /** What the session took over, even if its mark is gone: somebody else, or a `down` that was killed, may have removed it. */
  taken?: ObjectRef[];
  /** What a session that ends itself knows about its changes, in addition to its Leases. */
  own?: ChangeScope;
  /** What was not ready before the session, in addition to what its Leases name. */
  unready?: ObjectName[];
  /** Called with the number of changes to restore, before the first one is restored. */
  onFound?: ((changes: number) => void) | undefined;
  /** The session's objects, if they have just been listed; otherwise the restore lists them. */
  found?: SearchResult;
  /**
   * Whether nothing answers the reviews of the session. The order then does not matter: the Services are restored while the manager is
   * being resumed, and probed while devloop's own objects are deleted.
   */
  isUnanswered?: boolean;
  /**
   * Runs when the Services select the in-cluster Pods again and devloop's slices are gone, so that it can verify that those Pods answer.
   */
  afterServices?: (() => Promise<void>) | undefined;
  /** Called before the Leases are deleted, after which another session can begin. */
  beforeLeases?: (() => void) | undefined;
}

export interface RestoreSummary {
  context: string;
  /** The number of restored changes, including those that others have changed in part. */
  changes: number;
  left: RestoreResult[];
  /** Managers that are resumed, but cannot start, although they were ready before. */
  notStarted: NotStarted[];
}

/** The result of one pass. */
interface Pass extends Pick<RestoreSummary, 'left' | 'notStarted'> {
  /** What the session had taken over; the next pass waits for these objects, too. */
  taken: ObjectRef[];
  /** What failed, in order. As long as there are failures, the Leases stay. */
  failures: unknown[];
}

/**
 * Restores everything that carries a session's label, in the order that keeps a webhook answering: the in-cluster manager is resumed first,
 * then the Services select it again, then devloop's own objects are deleted. What to restore is read from the cluster, so the end of `up`,
 * `down` and the recovery after a crash are the same. A second run does nothing.
 */
export async function restoreOnce(
  ending: Work,
  namespaces: string[],
  options: RestoreOptions,
): Promise<Pass> {
  const { api, sessionId } = ending;
  const { marked, unseen } = options.found ?? (await findMarked(api, namespaces, { sessionId }));
  options.onFound?.(changesOf(marked));
  const taken = takenOver(sessionId, marked, options.taken);
  const left: RestoreResult[] = [];
  const notStarted: NotStarted[] = [];
  const { attempt, each, beside, finish, failures } = createAttempts();
  const work: Work = { ...ending, beside };
  // Together with the stand-in, Kubernetes deletes the objects that the stand-in owns, such as a leader-for-life lock. While that lock
  // exists, some managers do not even start to serve. A webhook whose server is not ready yet can block the deletion, so the deletion is
  // tried again at the end.
  const released = removeStandIns(work, marked).then(
    () => true,
    () => false,
  );
  const resumed: RestoreResult[] = [];
  const wasEmpty = (ref: ObjectRef): boolean => wasUnready(ref, marked, options.unready);
  const { managers, besides } = byOrder(taken, marked);
  const resume = (some: ObjectRef[], seconds: number): Promise<void> =>
    each(some, resumed, (ref) => resumeManagers(work, [ref], { seconds, wasUnready: wasEmpty(ref) }, marked));
  const resuming = resume(managers, options.managerReadySeconds);
  if (!options.isUnanswered) await resuming;
  await each(marked, left, (one) => restoreServices(work, [one]));
  const held = notRestored(marked, left, sessionId);
  await resuming;
  // What would write the Services again answers none of their reviews. So nothing waits for it until the Services are restored.
  await resume(besides, besides.some(wasEmpty) ? 0 : options.managerReadySeconds);
  left.unshift(...resumed);
  if (options.managerReadySeconds > 0)
    await attempt(() => slicesBack(work, { taken: without(taken, held), marked, resumed }, wasEmpty));
  const cleaning = clear(work, { marked, taken, held }, attempt);
  if (!options.isUnanswered) await cleaning;
  await attempt(async () => options.afterServices?.());
  await cleaning;
  await each(marked, left, (one) => restoreWebhookTimes(work, [one]));
  await attempt(async () => left.push(...(await removeMarks(work, left))));
  await attempt(() => waitUntilUnblocked(work, left));
  if (!(await released)) await attempt(() => removeStandIns(work, marked));
  await attempt(() => removeRelays(work, marked));
  await attempt(async () => refusePart(sessionId, { marked, unseen }, options.own));
  const judged = resumed.filter(({ ref }) => !wasEmpty(ref));
  await attempt(async () => notStarted.push(...(await findNotStarted(work, judged))));
  await attempt(async () => left.push(...(await findUnmarked(work, taken, marked, wasEmpty))));
  const kept = left.filter((one) => one.kept.length > 0);
  const mayStay = [...kept, ...marked.filter((one) => pointsOneOf(held, one))];
  if (failures.length === 0) await attempt(() => assertNothingLeft(work, namespaces, mayStay));
  // As long as something is left to restore, the Lease shows which session it belongs to.
  if (!hasLeft(kept, failures)) await attempt(() => removeLeases(work, marked, options.beforeLeases));
  await finish();
  return { left: kept, notStarted, taken, failures };
}

function hasLeft(kept: RestoreResult[], failures: unknown[]): boolean {
  return failures.length > 0 || kept.some(isStillMarked);
}

/** Deletes what the session created, except for what points the Services that are not restored. */
async function clear(
  work: Work,
  { marked, taken, held }: { marked: MarkedObject[]; taken: ObjectRef[]; held: ObjectRef[] },
  attempt: (step: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const rest = marked.filter((one) => !pointsOneOf(held, one));
  await allDone([attempt(() => handOver(work, held, taken)), attempt(() => removeCreated(work, rest))]);
}

function createAttempts() {
  const failures: unknown[] = [];
  const besides: Promise<unknown>[] = [];
  const attempt = async (step: () => Promise<unknown>): Promise<void> => {
    if (!failures.some(isAway)) await step().catch((error) => failures.push(error));
  };
  return {
    /** What has failed so far, in order. */
    failures,
    /**
     * Awaits a step. If it fails, the other steps are still tried, so that less is left to restore. But if the API server is unreachable,
     * they are left to the next pass, and this machine keeps answering until then.
     */
    attempt,
    /** Attempts a step for each of these objects, so that a refusal of one says nothing about the others. */
    async each<T>(
      all: T[],
      left: RestoreResult[],
      step: (one: T) => Promise<RestoreResult[]>,
    ): Promise<void> {
      const results = all.map((): RestoreResult[] => []);
      const attempts = all.map((one, index) => attempt(async () => (results[index] = await step(one))));
      await Promise.all(attempts);
      left.push(...results.flat());
    },
    /** Notes a task that runs in parallel with the next steps. */
    beside(task: Promise<void>): void {
      besides.push(task.catch((error) => failures.push(error)));
    },
    /** Resolves when those tasks have ended. */
    finish: () => Promise.all(besides),
  };
}

/** Whether an object keeps its mark, because its undo was not carried out. */
export function isStillMarked({ kept }: RestoreResult): boolean {
  return kept.some((one) => 'fault' in one && !one.isUnmarked);
}

/**
 * Tells what a session has paused besides the manager from everything else that it took. Its Leases name the objects in the order of
 * `targetsOf`, so the first workload is the manager. Without Leases, all workloads count as managers.
 */
function byOrder(
  taken: ObjectRef[],
  marked: MarkedObject[],
): { managers: ObjectRef[]; besides: ObjectRef[] } {
  const targets = holdersIn(marked).map((holder) => holder.targets);
  const besides = targets
    .flatMap((all) => all.filter(({ kind }) => isWorkload(kind as Kind)).slice(1))
    .map(describe);
  const isBeside = (ref: ObjectRef): boolean => besides.includes(describe(ref));
  return { managers: taken.filter((ref) => !isBeside(ref)), besides: taken.filter(isBeside) };
}

export function wasUnready(ref: ObjectRef, marked: MarkedObject[], known: ObjectName[] = []): boolean {
  const held = holdersIn(marked).flatMap(({ unready = [] }) => unready);
  return [...known, ...held].some((one) => describe(one) === describe(ref));
}

function without(refs: ObjectRef[], others: ObjectRef[]): ObjectRef[] {
  const names = new Set(others.map(describe));
  return refs.filter((ref) => !names.has(describe(ref)));
}

function takenOver(sessionId: string, marked: MarkedObject[], known: ObjectRef[] = []): ObjectRef[] {
  const changed = marked.map(({ ref }) => ref).filter((ref) => isChanged(ref, sessionId));
  return [...new Map([...changed, ...known].map((ref) => [describe(ref), ref])).values()];
}

/** Whether the failed step can be tried again once the API server is back, or the user has logged in again. */
export function isAway(error: unknown): boolean {
  if (isDenied(error)) return false;
  return isTransient(error) || (error instanceof DevloopError && error.code === 'cluster.unauthorized');
}

/** Successful answers to the writes are not proof enough: a proxy in front of the API server may have made them up. */
async function assertNothingLeft(
  { api, sessionId }: Work,
  namespaces: string[],
  mayStay: Pick<RestoreResult, 'ref'>[],
): Promise<void> {
  const { marked } = await findMarked(api, namespaces, { sessionId });
  const kept = new Set(mayStay.map(({ ref }) => describe(ref)));
  const rest = marked.filter(({ ref }) => ref.kind !== 'Lease' && !kept.has(describe(ref)));
  if (rest.length === 0) return;
  throw new StillMarked(rest.map(({ ref }) => describe(ref)));
}

/** Objects that still carry the session's label after everything was restored. */
export class StillMarked extends DevloopError {
  constructor(objects: string[]) {
    super('change.conflict', `These objects still have the label of the session: ${objects.join(', ')}.`, {
      hint: 'devloop down',
    });
    this.name = 'StillMarked';
  }
}

/** The number of changes, not counting Leases. */
export function changesOf(marked: MarkedObject[]): number {
  return marked.filter((one) => one.ref.kind !== 'Lease').length;
}
