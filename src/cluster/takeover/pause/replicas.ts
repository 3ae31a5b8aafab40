import { UNANSWERED_WEBHOOK } from '../../api/errors.ts';
import type { Workload } from '../../api/workloads.ts';
import { byScaling } from './scale.ts';
import { followPods, waitUntilReady } from './waits.ts';

/** Starting the controller takes longer than it takes until the Pods start to terminate. */
export const deploymentPause = byScaling('Deployment', {
  follow: async (work, manager) => ({ idle: Promise.resolve(), ...followPods(work, manager) }),
  waitUntilResumed: (observer, ref, limitSeconds) => waitUntilReady(observer, ref, limitSeconds, blockedBy),
  blockedBy,
});

function blockedBy({ status }: Workload): string | undefined {
  const failed = (status?.conditions ?? []).filter(
    (one) => one.type === 'ReplicaFailure' && one.status === 'True',
  );
  return failed.find(({ message }) => UNANSWERED_WEBHOOK.test(message ?? ''))?.message;
}

/** A StatefulSet ends its Pods one after the other unless it is configured otherwise, and any of them may be the leader. */
const TERMINATING_SECONDS = 60;

export const statefulSetPause = byScaling('StatefulSet', {
  async follow(work, manager) {
    const following = followPods(work, manager, TERMINATING_SECONDS);
    return { idle: following.terminating, ...following };
  },
  waitUntilResumed: waitUntilReady,
});
