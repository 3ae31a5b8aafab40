import { describe } from '../../../report/object-name.ts';
import type { ClusterApi } from '../../api/client.ts';
import { undefinedIfForbidden } from '../../api/errors.ts';
import { type ObjectRef, refOf } from '../../api/kinds.ts';
import type { ContainerStatus, Pod, Workload } from '../../api/workloads.ts';
import type { Manager } from './pause.ts';
import { runningPods } from './pods.ts';
import { lastEvent } from './refusals.ts';
import { pauseOf } from './strategies.ts';
import { isReady } from './waits.ts';

/** A manager that was resumed, but cannot start. */
export interface NotStarted {
  ref: ObjectRef;
  cause: string;
  /** The object to look at: the Pod at fault, or the manager if no Pod is. */
  look: ObjectRef;
}

/** Finds out why a resumed manager does not start. Resolves to undefined if it is ready, or may only be slow. */
export async function whyNotStarted(api: ClusterApi, ref: ObjectRef): Promise<NotStarted | undefined> {
  const object = await api.get<Workload>(ref);
  if (object === undefined || isReady(object)) return undefined;
  const refusal = await pauseOf(ref.kind)?.refusedBy(api, object);
  if (refusal !== undefined) return { ref, look: ref, cause: `its Pods are refused: ${refusal}` };
  const pods = await runningPods(api, { ref, object }).catch(undefinedIfForbidden);
  if (pods?.length === 0) return { ref, look: ref, cause: 'Kubernetes has created none of its Pods' };
  return await faultyPod(api, { ref, object }, pods);
}

/** Finds the Pod of a manager that cannot start, such as one whose image cannot be pulled. Waiting does not help such a Pod. */
export async function whichPodIsFaulty(api: ClusterApi, ref: ObjectRef): Promise<NotStarted | undefined> {
  const object = await api.get<Workload>(ref);
  return object && (await faultyPod(api, { ref, object }));
}

async function faultyPod(
  api: ClusterApi,
  { ref, object }: Manager,
  seen?: Pod[] | undefined,
): Promise<NotStarted | undefined> {
  const pods = seen ?? (await runningPods(api, { ref, object }).catch(undefinedIfForbidden));
  for (const pod of pods ?? []) {
    const fault = podFault(pod) ?? (await mountFault(api, pod));
    const look = refOf('Pod', pod.metadata);
    if (fault !== undefined) return { ref, look, cause: `${describe(look)}: ${fault}` };
  }
  return undefined;
}

/** The reasons for waiting that every container has before it runs. */
const STARTING = ['ContainerCreating', 'PodInitializing'];
/** A container that exited once may have needed something that is available now. */
const RESTARTS = 2;

function podFault({ status = {} }: Pod): string | undefined {
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const fault = containers.map(containerFault).find((one) => one !== undefined);
  const unscheduled = status.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'False');
  return fault ?? (unscheduled && `it is not scheduled: ${unscheduled.message ?? unscheduled.reason}`);
}

function containerFault(container: ContainerStatus): string | undefined {
  const { name, ready, restartCount = 0, state, lastState } = container;
  const { reason, message } = state?.waiting ?? {};
  const text = message === undefined ? reason : `${reason}: ${message}`;
  if (reason !== undefined && !STARTING.includes(reason)) return `container ${name}: ${text}`;
  const ended = state?.terminated ?? lastState?.terminated;
  if (ready || restartCount < RESTARTS || ended === undefined || ended.exitCode === 0) return undefined;
  return `container ${name} has been restarted ${restartCount} times; it exits with code ${ended.exitCode}`;
}

/** The Pod's status does not report a missing Secret or ConfigMap; only events do. */
async function mountFault(api: ClusterApi, pod: Pod): Promise<string | undefined> {
  const isStarted = pod.status?.containerStatuses?.some(({ state }) => state?.running) ?? false;
  if (isStarted) return undefined;
  return (await lastEvent(api, pod, ['FailedMount', 'FailedAttachVolume']))?.message;
}
