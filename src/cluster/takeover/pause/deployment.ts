import { setTimeout as sleep } from 'node:timers/promises';
import { DevloopError } from '../../../errors.ts';
import type { ClusterApi } from '../../api/client.ts';
import { describe, type ObjectRef, refOf } from '../../api/kinds.ts';
import type { Deployment, Pod } from '../../api/objects.ts';
import { applyChange } from '../../marks/change.ts';
import type { Observer, Work } from '../../work.ts';

const POLL_MS = 50;

/** Scales the in-cluster manager to nothing, so that two managers never work on the same objects. */
export async function pause(work: Work, deployment: Deployment): Promise<void> {
  const before = deployment.spec.replicas ?? 1;
  const ref = refOf('Deployment', deployment.metadata);
  const fields = [{ path: ['spec', 'replicas'], value: 0 }];
  await applyChange(work, { ref, fields, detail: `replicas ${before} -> 0` });
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
  observer: Observer,
  deployment: Deployment,
  limitSeconds: number,
): Promise<void> {
  const what = `the Pods of ${describe(refOf('Deployment', deployment.metadata))} to be told to end`;
  await waitFor(observer, { for: what, limitSeconds }, async () => {
    const running = await runningPods(observer.api, deployment, { terminating: false });
    return running.length === 0;
  });
}

/** Open connections of kube-apiserver to the old Pod end only with the Pod, so the cut-over is complete when it has gone. */
export async function waitUntilGone(
  observer: Observer,
  deployment: Deployment,
  limitSeconds: number,
): Promise<boolean> {
  const what = `the Pods of ${describe(refOf('Deployment', deployment.metadata))} to end`;
  return await waitFor(observer, { for: what, limitSeconds }, async () => {
    const left = await runningPods(observer.api, deployment, { terminating: true });
    return left.length === 0;
  });
}

/**
 * Waits until the woken manager is ready. `blocked` is the text of kube-apiserver when its Pods cannot be made because a webhook
 * that leads nowhere refuses them: then waiting is of no use, and the Service has to go back first.
 */
export async function waitUntilReady(
  observer: Observer,
  ref: ObjectRef,
  limitSeconds: number,
): Promise<{ ready: boolean; blocked?: string }> {
  let blocked: string | undefined;
  const what = { for: `${describe(ref)} to become ready`, limitSeconds };
  const ready = await waitFor(observer, what, async () => {
    const deployment = await observer.api.get<Deployment>(ref);
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
  { emit, signal }: Observer,
  what: { for: string; limitSeconds: number },
  done: () => Promise<boolean>,
): Promise<boolean> {
  const started = Date.now();
  for (let told = 0; ; ) {
    if (await done()) return true;
    const seconds = Math.floor((Date.now() - started) / 1000);
    if (seconds >= what.limitSeconds) return false;
    if (seconds > told) emit({ type: 'waiting', ...what, seconds });
    told = seconds;
    await sleep(POLL_MS);
    if (signal.aborted)
      throw new DevloopError('interrupted', `Interrupted while waiting for ${what.for}.`, {
        hint: 'devloop down puts everything back',
      });
  }
}
