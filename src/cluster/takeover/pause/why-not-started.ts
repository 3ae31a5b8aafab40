import type { ClusterApi } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { describe, type ObjectRef, refOf } from '../../api/kinds.ts';
import type { ContainerStatus, Pod, Workload } from '../../api/workloads.ts';
import { runningPods } from './pods.ts';
import { lastEvent } from './refusals.ts';
import { pauseOf } from './strategies.ts';
import { isReady } from './waits.ts';

/** A manager that is resumed, but cannot start. */
export interface NotStarted {
  ref: ObjectRef;
  cause: string;
  /** What to look at: its Pod, or the manager if there is none. */
  look: ObjectRef;
}

/** Undefined if the manager is ready, or nothing shows that it will not be: it may only be slow. */
export async function whyNotStarted(api: ClusterApi, ref: ObjectRef): Promise<NotStarted | undefined> {
  const object = await api.get<Workload>(ref);
  if (object === undefined || isReady(object)) return undefined;
  const refusal = await pauseOf(ref.kind)?.refusedBy(api, object);
  if (refusal !== undefined) return { ref, look: ref, cause: `its Pods are refused: ${refusal}` };
  const pods = await runningPods(api, { ref, object }).catch((error) => {
    if (error instanceof ApiError && error.isForbidden) return undefined;
    throw error;
  });
  if (pods?.length === 0) return { ref, look: ref, cause: 'Kubernetes has created none of its Pods' };
  for (const pod of pods ?? []) {
    const fault = podFault(pod) ?? (await mountFault(api, pod));
    const look = refOf('Pod', pod.metadata);
    if (fault !== undefined) return { ref, look, cause: `${describe(look)}: ${fault}` };
  }
  return undefined;
}

/** The reasons that each Pod waits for on its way to a running container. */
const STARTING = ['ContainerCreating', 'PodInitializing'];
/** A container that ended once may have waited for something that is there now. */
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

/** A Secret or a ConfigMap that is missing shows in no status. */
async function mountFault(api: ClusterApi, pod: Pod): Promise<string | undefined> {
  const isStarted = pod.status?.containerStatuses?.some(({ state }) => state?.running) ?? false;
  if (isStarted) return undefined;
  return (await lastEvent(api, pod, ['FailedMount', 'FailedAttachVolume']))?.message;
}
