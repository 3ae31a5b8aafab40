import { pollUntil, reportWhileWaiting } from '../../../async.ts';
import { DevloopError } from '../../../errors.ts';
import { describe } from '../../../report/object-name.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { answered } from '../../api/while-away.ts';
import type { Pod, Workload } from '../../api/workloads.ts';
import type { Observer } from '../../work.ts';
import { hasEnded } from './leadership.ts';
import type { Manager, PausingManager } from './pause.ts';
import { allPodsOf, isUp, podsOf, runningPods } from './pods.ts';
import { isUnansweredWebhook, type RefusedBy } from './refusals.ts';

const POLL_MS = 50;
const REFUSAL_EVERY_MS = 250;
const TERMINATING_SECONDS = 10;
export const ENDED_SECONDS = 60;

/** Follows the manager's Pods until they are gone. `ended` also waits for a Pod that is late to terminate. */
export function followPods(
  observer: Observer,
  manager: Manager,
  terminatingSeconds = TERMINATING_SECONDS,
): Omit<PausingManager, 'idle'> {
  const name = describe(manager.ref);
  const terminating = waitFor(
    observer,
    { for: `the Pods of ${name} to start terminating`, limitSeconds: terminatingSeconds },
    async () => (await runningPods(observer.api, manager)).length === 0,
  ).then(() => {});
  const podsLeft = async (): Promise<number> => (await podsOf(observer.api, manager)).length;
  const over = new Map<string | undefined, Pod>();
  // kube-apiserver's open connections to an old Pod end only with the Pod. Not reported, since reviews can be answered here by then.
  const end = { for: `the Pods of ${name} to end`, limitSeconds: ENDED_SECONDS };
  const ended = until(observer.signal, end, async () => {
    const pods = await allPodsOf(observer.api, manager);
    for (const pod of pods) if (hasEnded(pod)) over.set(pod.metadata.uid, pod);
    return !pods.some(isUp);
  });
  for (const promise of [terminating, ended]) promise.catch(() => {});
  return { terminating, ended, podsLeft, endedPods: () => [...over.values()] };
}

/**
 * `blocked`: the API server's message if the manager's Pods cannot be created because a webhook does not answer. `fault`: why one of its
 * Pods cannot start.
 */
export interface ResumeResult {
  ready: boolean;
  blocked?: string;
  fault?: string;
}

/** What ends the wait for a manager. */
export interface ReadyWait {
  limitSeconds: number;
  refusedBy: RefusedBy;
  /** Finds out why a Pod cannot start; given if nobody need wait for that Pod to recover. */
  faultOf?: (() => Promise<string | undefined>) | undefined;
}

/** The wait ends early if a webhook that does not answer blocks the creation of the Pods; it can be the operator's own webhook. */
export async function waitUntilReady(
  observer: Observer,
  ref: ObjectRef,
  { limitSeconds, refusedBy, faultOf }: ReadyWait,
): Promise<ResumeResult> {
  let blocked: string | undefined;
  let fault: string | undefined;
  let lookAt = performance.now() + REFUSAL_EVERY_MS;
  const what = { for: `${describe(ref)} to become ready`, limitSeconds };
  const ready = await waitFor(observer, what, async () => {
    const object = await observer.api.get<Workload>(ref);
    if (object === undefined || isReady(object)) return true;
    if (performance.now() < lookAt) return false;
    const refusal = await refusedBy(observer.api, object);
    lookAt = performance.now() + REFUSAL_EVERY_MS;
    if (isUnansweredWebhook(refusal)) blocked = refusal;
    fault = await faultOf?.();
    return blocked !== undefined || fault !== undefined;
  });
  if (blocked !== undefined) return { ready: false, blocked };
  return fault === undefined ? { ready } : { ready: false, fault };
}

/** Whether at least one Pod is ready, or none is wanted. */
export function isReady({ metadata, spec, status }: Workload): boolean {
  if (spec.replicas === 0) return true;
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  const wanted = status?.desiredNumberScheduled ?? 1;
  return readyPods(status) >= Math.min(wanted, 1);
}

export function readyPods(status: Workload['status']): number {
  return status?.numberReady ?? status?.readyReplicas ?? 0;
}

/** Resolves to whether the condition held within the limit. Rejects with `interrupted` if the signal aborts first. */
export async function waitFor(
  { emit, signal }: Pick<Observer, 'emit' | 'signal'>,
  what: { for: string; limitSeconds: number },
  holds: () => Promise<boolean>,
): Promise<boolean> {
  return await reportWhileWaiting(until(signal, what, holds), what, emit);
}

async function until(
  signal: AbortSignal,
  what: { for: string; limitSeconds: number },
  holds: () => Promise<boolean>,
): Promise<boolean> {
  const timing = { everyMs: POLL_MS, limitMs: what.limitSeconds * 1000, signal };
  const held = await pollUntil(answered(holds), timing);
  if (!held && signal.aborted)
    throw new DevloopError('interrupted', `Interrupted while waiting for ${what.for}.`);
  return held;
}
