import { allDone, pollUntil } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';
import { isDenied, isTransient, LET_IT_PASS, refusalOf, undefinedIfForbidden } from '../api/errors.ts';
import { isWebhookKind, type Kind, type ObjectRef } from '../api/kinds.ts';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../api/objects.ts';
import { answered } from '../api/while-away.ts';
import type { Workload } from '../api/workloads.ts';
import { restoreChange } from '../marks/change.ts';
import { type OwnChange, same, sessionOf } from '../marks/marks.ts';
import { SELECTOR } from '../marks/selector.ts';
import type { Remainder } from '../marks/undo.ts';
import { isOwnService, isProbeConfiguration, isRelayPod, relaySecretRef } from '../names.ts';
import type { Work } from '../work.ts';
import type { MarkedObject } from './find-marked.ts';
import { assertNotHandMade, handMadeChange, isHandMade } from './hand-made.ts';
import type { Pause } from './pause/pause.ts';
import { isUnansweredWebhook } from './pause/refusals.ts';
import { pauseOf } from './pause/strategies.ts';
import { waitUntilReady } from './pause/waits.ts';
import { type NotStarted, whichPodIsFaulty, whyNotStarted } from './pause/why-not-started.ts';
import { isControllerSlice, isReadySlice, slicesOf } from './slices.ts';
import { restoreWebhooks, WEBHOOKS } from './webhook-time.ts';

const POLL_MS = 20;
const ENDPOINTS_LIMIT_MS = 3_000;
const UNBLOCKED_LIMIT_MS = 30_000;

/** The result of restoring one object. `kept`: what was left as it is, because somebody else changed it. */
export interface RestoreResult {
  ref: ObjectRef;
  kept: Remainder[];
  /** Whether only the object's mark is left, because the patch that removes the mark is refused, or a webhook that does not answer yet blocks it. */
  isMarked?: boolean;
  /** Whether the manager's Pods were refused because a webhook did not answer. */
  isBlocked?: boolean;
  /** Whether the manager was not ready in time. */
  isLate?: boolean;
}

/** What devloop itself changes in the user's objects of a kind; undefined for kinds that it creates and deletes as a whole. */
export function ownChangeOf(kind: Kind): OwnChange | undefined {
  if (isWebhookKind(kind)) return WEBHOOKS;
  return kind === 'Service' ? SELECTOR : (handMadeChange(kind) ?? pauseOf(kind)?.own);
}

/** Whether the object is the user's, changed by the session, and not one of devloop's own; for endpoints, `isHandMade` decides. */
export function isChanged(ref: ObjectRef, sessionId: string): boolean {
  const isOwn = isWebhookKind(ref.kind) ? isProbeConfiguration(ref, sessionId) : isOwnService(ref, sessionId);
  return ownChangeOf(ref.kind) !== undefined && handMadeChange(ref.kind) === undefined && !isOwn;
}

/** How to wait for resumed managers. */
export interface ManagerWait {
  /** With 0, devloop does not wait. */
  seconds: number;
  /** Whether they were not ready before the session either. Then a Pod that cannot start ends the wait. */
  wasUnready?: boolean;
}

const of = (marked: MarkedObject[], kind: Kind): MarkedObject[] =>
  marked.filter((one) => one.ref.kind === kind);

/**
 * The first step: resumes the in-cluster managers among the `taken` objects, while reviews are still answered here. It also waits for
 * managers without a mark, which may have been resumed a moment ago.
 */
export async function resumeManagers(
  work: Work,
  taken: ObjectRef[],
  wait: ManagerWait,
  marked: MarkedObject[] = [],
): Promise<RestoreResult[]> {
  const managers = taken.filter(({ kind }) => pauseOf(kind) !== undefined);
  const seen = new Map(marked.map(({ ref, object }) => [describe(ref), object]));
  const resumed = await allDone(
    managers.map(async (ref) => {
      const object = seen.get(describe(ref));
      return await resume(work, ref, wait, object).catch((error) => {
        // An object that the account is not allowed to read is reported at the end.
        if (object === undefined && error instanceof DevloopError && error.code === 'cluster.forbidden')
          return undefined;
        throw error;
      });
    }),
  );
  return resumed.filter((one) => one !== undefined);
}

/** Removes the marks that were blocked, once the webhooks answer again. */
export async function removeMarks(work: Work, left: RestoreResult[]): Promise<RestoreResult[]> {
  return await allDone(
    left
      .filter(({ isMarked }) => isMarked)
      .map(async ({ ref }) => ({ ref, kept: await pauseOf(ref.kind)!.restore(work, ref) })),
  );
}

async function resume(
  work: Work,
  ref: ObjectRef,
  { seconds, wasUnready = false }: ManagerWait,
  seen?: KubeObject,
): Promise<RestoreResult> {
  const pause = pauseOf(ref.kind)!;
  const left = await restoreOrResume(work, pause, ref, seen);
  if (seconds === 0) return left;
  const faultOf = async (): Promise<string | undefined> => (await whichPodIsFaulty(work.api, ref))?.cause;
  const { ready, blocked, fault } = await waitUntilReady(work, ref, {
    limitSeconds: seconds,
    refusedBy: pause.refusedBy,
    faultOf: wasUnready ? faultOf : undefined,
  });
  if (blocked !== undefined) {
    work.emit(notice('restore.service-first', { manager: ref, cause: blocked }));
    return { ...left, isBlocked: true };
  }
  if (ready) return left;
  if (fault !== undefined) {
    work.emit(notice('manager.unready-as-before', { manager: ref, cause: fault }));
    return { ...left, isLate: true };
  }
  work.emit(notice('manager.not-ready', { manager: ref, seconds }));
  return { ...left, isLate: true };
}

/**
 * Waits until Kubernetes can create the Pods of blocked managers, because a manager that cannot start does not count as restored.
 * Kubernetes has just tried to create the Pods, and tries again soon.
 */
export async function waitUntilUnblocked({ api, signal }: Work, left: RestoreResult[]): Promise<void> {
  const waiting = left.filter(({ isBlocked }) => isBlocked);
  await allDone(
    waiting.map(async ({ ref }) => {
      const pause = pauseOf(ref.kind);
      let blocked: string | undefined;
      const isOver = async (): Promise<boolean> => {
        const object = await api.get<Workload>(ref);
        blocked = object && (await pause?.refusedBy(api, object));
        return !isUnansweredWebhook(blocked);
      };
      if (await pollUntil(isOver, { everyMs: 250, limitMs: UNBLOCKED_LIMIT_MS, signal })) return;
      const message = `${describe(ref)} is restored, but cannot create Pods: ${blocked}`;
      throw new DevloopError('restore.blocked', message, { hint: LET_IT_PASS });
    }),
  );
}

/** Finds the managers that were late or blocked, and still cannot start now that everything is restored. */
export async function findNotStarted({ api }: Work, left: RestoreResult[]): Promise<NotStarted[]> {
  const late = left.filter(({ isLate, isBlocked }) => isLate || isBlocked);
  const causes = await allDone(late.map(({ ref }) => whyNotStarted(api, ref)));
  return causes.filter((one) => one !== undefined);
}

async function restoreOrResume(
  work: Work,
  pause: Pause,
  ref: ObjectRef,
  seen?: KubeObject,
): Promise<RestoreResult> {
  try {
    return { ref, kept: await pause.restore(work, ref, seen) };
  } catch (error) {
    // What refuses the change of the object itself, such as a policy or a webhook, may not know the subresource.
    const isRefused = refusalOf(error) !== undefined && (isDenied(error) || !isTransient(error));
    if (!isRefused || pause.resumeMarked === undefined) throw error;
    await pause.resumeMarked(work, ref).catch(() => {
      throw error;
    });
    return { ref, kept: [], isMarked: true };
  }
}

/** The second step: the Services get their selectors back, and Kubernetes recreates their endpoints; hand-made endpoints are restored. */
export async function restoreServices(work: Work, marked: MarkedObject[]): Promise<RestoreResult[]> {
  const restored = marked.filter((one) => one.ref.kind === 'Service' || isHandMade(one));
  return await allDone(
    restored.map(async (one) => {
      const { ref, object } = one;
      if (!isOwnService(ref, work.sessionId))
        return { ref, kept: await restoreChange(work, ref, ownChangeOf(ref.kind)!, object) };
      await remove(work, one);
      return { ref, kept: [] };
    }),
  );
}

/**
 * Waits until each Service has a ready slice from Kubernetes' controller, and none of the controller's slices points to a Pod of the relay.
 * Then devloop's own slices can be deleted. The wait is bounded, because without a ready Pod there is no such slice. Resolves to the Services
 * that still have none.
 */
export async function waitForControllerSlices(
  { api, signal }: Work,
  services: ObjectRef[],
  marked: MarkedObject[],
  limitMs: number,
): Promise<ObjectRef[]> {
  const relays = new Set(relayPods(marked).map(({ ref }) => `${ref.namespace}/${ref.name}`));
  const pointsToRelay = ({ endpoints, metadata }: EndpointSlice): boolean =>
    (endpoints ?? []).some(({ targetRef }) => relays.has(`${metadata.namespace}/${targetRef?.name}`));
  const isBack = async (ref: ObjectRef): Promise<boolean> => {
    const [service, all] = await Promise.all([api.get<Service>(ref), slicesOf(api, { metadata: ref })]);
    // A Service that had no selector before the session has hand-made endpoints, which are already restored.
    if (service === undefined || same(service.spec.selector, undefined)) return true;
    const slices = all.filter(isControllerSlice);
    return slices.some(isReadySlice) && !slices.some(pointsToRelay);
  };
  const options = { everyMs: POLL_MS, limitMs, signal };
  const waiting = allDone(
    services.map((ref) =>
      pollUntil(
        answered(() => isBack(ref)),
        options,
      ),
    ),
  );
  // Without permission on EndpointSlices, which the relay route does not need, there is no wait.
  const areBack = await waiting.catch(undefinedIfForbidden);
  return services.filter((_, index) => areBack?.[index] === false);
}

/** The third step: deletes everything that the session created for its endpoints and probes. */
export async function removeCreated(work: Work, marked: MarkedObject[]): Promise<void> {
  const probes = webhooksIn(marked).filter((one) => isProbeConfiguration(one.ref, work.sessionId));
  const own = marked.filter((one) => !isHandMade(one));
  const created = [...of(own, 'EndpointSlice'), ...probes];
  await allDone([
    ...created.map((one) => assertNotHandMade(work.api, one).then(() => remove(work, one))),
    ...of(own, 'Endpoints').map((one) => restoreEndpoints(work, one)),
  ]);
}

/** Restores the timeouts and the failurePolicy of the webhooks, once they answer in the cluster again. */
export async function restoreWebhookTimes(work: Work, marked: MarkedObject[]): Promise<RestoreResult[]> {
  const changed = webhooksIn(marked).filter((one) => !isProbeConfiguration(one.ref, work.sessionId));
  return await allDone(changed.map(async ({ ref }) => ({ ref, kept: await restoreWebhooks(work, ref) })));
}

function webhooksIn(marked: MarkedObject[]): MarkedObject[] {
  return marked.filter(({ ref }) => isWebhookKind(ref.kind));
}

/** The endpoints controller overwrites our Endpoints, label included, once the Service has its selector again. */
async function restoreEndpoints(work: Work, one: MarkedObject): Promise<void> {
  const { api, sessionId, emit } = work;
  const isOverwritten = async (): Promise<boolean> => {
    const now = await api.get<Endpoints>(one.ref);
    return now === undefined || sessionOf(now) !== sessionId;
  };
  if (await pollUntil(answered(isOverwritten), { everyMs: POLL_MS, limitMs: ENDPOINTS_LIMIT_MS }))
    emit({ type: 'change', action: 'restore', object: one.ref, detail: 'recreated by Kubernetes' });
  // Otherwise, the Service has no selector, or is gone.
  else await assertNotHandMade(api, one).then(() => remove(work, one, 'not recreated by Kubernetes'));
}

/** Deletes the relays. This comes after the restore of the Services, because a relay carries reviews until its Service points elsewhere. */
export async function removeRelays(work: Work, marked: MarkedObject[]): Promise<void> {
  const pods = relayPods(marked);
  // If Secrets cannot be listed, their names follow from the session's id.
  const secrets = new Map(of(marked, 'Secret').map(({ ref }) => [describe(ref), ref]));
  for (const { ref } of pods) {
    const secret = relaySecretRef(ref.namespace!, work.sessionId);
    secrets.set(describe(secret), secret);
  }
  // The Secrets go first: as long as one exists, a session that is still running would replace a deleted Pod.
  await allDone([...secrets.values()].map((ref) => removeRef(work, ref)));
  await allDone(pods.map(({ ref }) => removeRef(work, ref)));
}

export function relayPods(marked: MarkedObject[]): MarkedObject[] {
  return marked.filter(({ ref, sessionId }) => isRelayPod(ref, sessionId));
}

export async function removeStandIns(work: Work, marked: MarkedObject[]): Promise<void> {
  const relays = relayPods(marked);
  await allDone(
    of(marked, 'Pod')
      .filter((one) => !relays.includes(one))
      .map((one) => remove(work, one)),
  );
}

export async function removeLeases({ api }: Work, marked: MarkedObject[], before = () => {}): Promise<void> {
  before();
  await allDone(of(marked, 'Lease').map(({ ref, object }) => api.remove(ref, object.metadata.uid)));
}

/** Deletes only the object that was found; a newer object with the same name is left alone. */
async function remove(work: Work, { ref, object }: MarkedObject, detail = ''): Promise<void> {
  if (await work.api.remove(ref, object.metadata.uid))
    work.emit({ type: 'change', action: 'delete', object: ref, detail });
}

async function removeRef({ api, emit }: Work, ref: ObjectRef): Promise<void> {
  if (await api.remove(ref)) emit({ type: 'change', action: 'delete', object: ref, detail: '' });
}
