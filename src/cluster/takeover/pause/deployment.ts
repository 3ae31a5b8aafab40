import { setTimeout as pause } from 'node:timers/promises';
import { DevloopError } from '../../../errors.ts';
import type { Emit } from '../../../report/events.ts';
import type { ClusterApi } from '../../api/client.ts';
import { describe, type ObjectRef, refOf } from '../../api/kinds.ts';
import type { Deployment, Pod } from '../../api/objects.ts';
import { applyChange } from '../../marks/change.ts';

const POLL_MS = 50;

/** Scales the in-cluster manager to nothing, so that two managers never work on the same objects. */
export async function quiet(
  api: ClusterApi,
  session: string,
  deployment: Deployment,
  emit: Emit,
): Promise<void> {
  const before = deployment.spec.replicas ?? 1;
  const ref = refOf('Deployment', deployment.metadata);
  await applyChange(
    api,
    session,
    { ref, fields: [{ path: ['spec', 'replicas'], value: 0 }], detail: `replicas ${before} -> 0` },
    emit,
  );
}

/** Pods of the Deployment that still run. Terminating ones count until they are gone when `terminating` is set. */
export async function runningPods(
  api: ClusterApi,
  deployment: Deployment,
  options: { terminating: boolean },
): Promise<Pod[]> {
  const labels = Object.entries(deployment.spec.selector.matchLabels ?? {}).map(
    ([key, value]) => `${key}=${value}`,
  );
  const pods = await api.list<Pod>('Pod', deployment.metadata.namespace, {
    query: { labelSelector: labels.join(',') },
  });
  const own = pods.filter(
    (pod) =>
      pod.metadata.ownerReferences?.some((owner) => owner.name.startsWith(`${deployment.metadata.name}-`)) ??
      false,
  );
  return own.filter(
    (pod) =>
      !['Succeeded', 'Failed'].includes(pod.status?.phase ?? '') &&
      (options.terminating || pod.metadata.deletionTimestamp === undefined),
  );
}

/** Waits until every Pod has been told to end; one that has not within the limit is waited for by `waitUntilGone`. */
export async function waitUntilTold(
  api: ClusterApi,
  deployment: Deployment,
  limitSeconds: number,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  const what = `the Pods of ${describe(refOf('Deployment', deployment.metadata))} to be told to end`;
  await waitFor(what, limitSeconds, emit, signal, async () => {
    const running = await runningPods(api, deployment, { terminating: false });
    return running.length === 0;
  });
}

/** Open connections of kube-apiserver to the old Pod end only with the Pod, so the cut-over is complete when it has gone. */
export async function waitUntilGone(
  api: ClusterApi,
  deployment: Deployment,
  limitSeconds: number,
  emit: Emit,
  signal: AbortSignal,
): Promise<boolean> {
  return await waitFor(
    `the Pods of ${describe(refOf('Deployment', deployment.metadata))} to end`,
    limitSeconds,
    emit,
    signal,
    async () => {
      const left = await runningPods(api, deployment, { terminating: true });
      return left.length === 0;
    },
  );
}

/**
 * Waits until the woken manager is ready. `blocked` is the text of kube-apiserver when its Pods cannot be made because a webhook
 * that leads nowhere refuses them: then waiting is of no use, and the Service has to go back first.
 */
export async function waitUntilReady(
  api: ClusterApi,
  ref: ObjectRef,
  limitSeconds: number,
  emit: Emit,
  signal: AbortSignal,
): Promise<{ ready: boolean; blocked?: string }> {
  let blocked: string | undefined;
  const ready = await waitFor(`${describe(ref)} to become ready`, limitSeconds, emit, signal, async () => {
    const deployment = await api.get<Deployment>(ref);
    if (deployment === undefined || (deployment.spec.replicas ?? 1) === 0) return true;
    const failure = deployment.status?.conditions?.find(
      (one) => one.type === 'ReplicaFailure' && one.status === 'True',
    );
    if (failure?.message?.includes('failed calling webhook')) {
      blocked = failure.message;
      return true;
    }
    return isReady(deployment);
  });
  return blocked === undefined ? { ready } : { ready: false, blocked };
}

export function isReady({ spec, status, metadata }: Deployment): boolean {
  const generation = (metadata as { generation?: number }).generation ?? 0;
  const wanted = spec.replicas ?? 1;
  return (
    (status?.observedGeneration ?? 0) >= generation && (status?.readyReplicas ?? 0) >= Math.min(wanted, 1)
  );
}

async function waitFor(
  what: string,
  limitSeconds: number,
  emit: Emit,
  signal: AbortSignal,
  done: () => Promise<boolean>,
): Promise<boolean> {
  const started = Date.now();
  for (let told = 0; ; ) {
    if (await done()) return true;
    const seconds = Math.floor((Date.now() - started) / 1000);
    if (seconds >= limitSeconds) return false;
    if (seconds > told) emit({ type: 'waiting', for: what, seconds, limitSeconds });
    told = seconds;
    await pause(POLL_MS);
    if (signal.aborted)
      throw new DevloopError('interrupted', `Interrupted while waiting for ${what}.`, {
        hint: 'devloop down puts everything back',
      });
  }
}
