import { byScaling } from './scale.ts';
import { followPods, waitUntilReady } from './waits.ts';

/** A StatefulSet ends its Pods one after the other unless it is configured otherwise, and any of them may be the leader. */
const TERMINATING_SECONDS = 60;

export const statefulSetPause = byScaling('StatefulSet', {
  async follow(work, manager) {
    const following = followPods(work, manager, TERMINATING_SECONDS);
    return { idle: following.terminating, ...following };
  },
  waitUntilResumed: waitUntilReady,
});
