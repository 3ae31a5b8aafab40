import { backOff, sleep } from '../../async.ts';
import { messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ClusterApi } from '../api/client.ts';
import { isForbidden, noneIfForbidden, noneIfRefused, refusalOf } from '../api/errors.ts';
import type { ObjectRef } from '../api/kinds.ts';
import type { DisruptionBudget, LabelSelector, OwnerReference, Service } from '../api/objects.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { watchObjects } from '../api/watch.ts';
import type { Container, Pod } from '../api/workloads.ts';
import { createMarked } from '../marks/change.ts';
import { originalSelector } from '../marks/selector.ts';
import { ANY_SESSION, standInName } from '../names.ts';
import type { PlannedChange, Step } from '../step.ts';
import type { Work } from '../work.ts';
import type { Manager } from './pause/pause.ts';
import { runningPods } from './pause/pods.ts';
import { LEAST_RESOURCES, standInPod } from './stand-in-pod.ts';

/** A manager that reads its own Pod, and the container that it runs in. */
export interface PodReader extends Manager {
  container: Container;
}

/** The stand-in Pod, which devloop recreates when somebody deletes it. Disposing ends this, and leaves the Pod in place. */
export interface StandIn extends AsyncDisposable {
  /** The uid of the current Pod; undefined if there is none. */
  uid(): string | undefined;
}

/** Creates the Pod, and creates it again when somebody deletes it, until the StandIn is disposed. */
export type StandInStep = Step<(work: Work) => Promise<StandIn>>;

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

const WITHOUT = 'a controller that reads its own Pod may fail';

function permissions(namespace: string): Permission[] {
  const why = 'create the Pod that the controller reads as its own';
  const counted = 'a Service or PodDisruptionBudget may count that Pod';
  return [
    ...permissionsOn('Pod', 'get list create delete', { namespace, why, without: WITHOUT }),
    ...permissionsOn('Pod', 'watch', {
      namespace,
      why,
      without: 'devloop does not create that Pod again when somebody deletes it',
    }),
    ...permissionsOn('Service', 'list', { namespace, why, without: counted }),
    ...permissionsOn('PodDisruptionBudget', 'list', { namespace, why, without: counted }),
  ];
}

/**
 * Creates a Pod that never runs, with the name that the controller receives as its own Pod's, because programs read the labels and owners
 * of their Pod. The Pod has the session's label from the start, and is deleted with everything else. If it cannot be created, `apply` warns
 * and goes on.
 */
export function createStandIn(reader: PodReader): StandInStep {
  const refFor = (sessionId: string): ObjectRef => standInRef(reader, sessionId);
  const detail = 'stands in for the Pod that the controller reads as its own';
  const change: PlannedChange = { action: 'create', object: refFor(ANY_SESSION), detail };
  return {
    changes: [change],
    permissions: permissions(reader.ref.namespace!),
    async apply(work) {
      const ref = refFor(work.sessionId);
      const pods = await podsFor(work, reader, ref);
      const created = await create(work, ref, pods);
      if (created === undefined) return { uid: () => undefined, async [Symbol.asyncDispose]() {} };
      work.emit({ type: 'change', ...change, object: ref });
      return keep(work, created, ref, pods);
    },
  };
}

export function standInRef({ ref, object }: Manager, sessionId: string): ObjectRef {
  const { start } = (object.spec as { ordinals?: { start?: number } }).ordinals ?? {};
  return { kind: 'Pod', namespace: ref.namespace!, name: standInName(ref, sessionId, start) };
}

/**
 * The manifests to try, in this order: a LimitRange may require more than the least resources, but not more than the manager's own
 * container has.
 */
async function podsFor({ api, sessionId }: Work, reader: PodReader, { name }: ObjectRef): Promise<Pod[]> {
  const [owners, selectors] = await Promise.all([ownersIn(api, reader), selectorsIn(api, reader)]);
  const own = reader.container.resources ?? {};
  const all = [LEAST_RESOURCES, ...(own.requests || own.limits ? [own] : [])];
  return all.map((resources) =>
    standInPod(reader, reader.container, { name, sessionId, owners, selectors, resources }),
  );
}

async function ownersIn(api: ClusterApi, reader: Manager): Promise<OwnerReference[]> {
  const [pod] = await runningPods(api, reader).catch(noneIfForbidden);
  return pod?.metadata.ownerReferences ?? [];
}

/** The selectors of all objects that the account is allowed to list. */
async function selectorsIn(api: ClusterApi, { ref, object }: Manager): Promise<LabelSelector[]> {
  const [services, budgets] = await Promise.all([
    api.list<Service>('Service', ref.namespace).catch(noneIfForbidden),
    api.list<DisruptionBudget>('PodDisruptionBudget', ref.namespace).catch(noneIfRefused),
  ]);
  return [
    object.spec.selector,
    ...services.map((service) => ({ matchLabels: originalSelector(service) })),
    ...budgets.flatMap(({ spec }) => spec.selector ?? []),
  ];
}

/** Creates the Pod; undefined, after a warning, if the API server refuses it. */
async function create(work: Work, ref: ObjectRef, pods: Pod[]): Promise<Pod | undefined> {
  const [first, ...others] = pods;
  try {
    return await createMarked({ ...work, emit: () => {} }, ref, first!);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    if (isForbidden(refusal) && others.length > 0) return await create(work, ref, others);
    work.emit(notice('stand-in.missing', { pod: ref, cause: refusal.message }));
    return undefined;
  }
}

/** Creates the Pod again when it is deleted. If that happens repeatedly, devloop waits longer before each attempt. */
function keep(work: Work, first: Pod, ref: ObjectRef, pods: Pod[]): StandIn {
  const ending = new AbortController();
  const signal = AbortSignal.any([work.signal, ending.signal]);
  let losses = 0;
  let current = first;
  let creating = Promise.resolve();
  const again = async (): Promise<void> => {
    if (!(await sleep(backOff(losses++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), signal))) return;
    const created = await create(work, ref, pods);
    // The watch can report one loss twice. Then the Pod has been created again already.
    if (created === undefined || created.metadata.uid === current.metadata.uid) return;
    current = created;
    work.emit({ type: 'change', action: 'create', object: ref, detail: 'somebody had deleted it' });
  };
  const warn = (error: unknown): void => {
    work.emit(notice('stand-in.missing', { pod: ref, cause: messageOf(error) }));
  };
  const onObjects = (found: Pod[]): void => {
    if (found.length === 0) creating = creating.then(again).catch(warn);
  };
  // Rejects if the account is not allowed to watch Pods.
  const watching = watchObjects(work.api, ref, { signal, onObjects }).catch(() => {});
  return {
    uid: () => current.metadata.uid,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all([watching, creating]);
    },
  };
}
