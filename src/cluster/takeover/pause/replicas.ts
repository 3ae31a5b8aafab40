import { refusedByCondition, refusedByEvents } from './refusals.ts';
import { byScaling } from './scale.ts';
import { followPods } from './waits.ts';

/** The manager counts as idle at once, because its Pods start to terminate before the controller can start. */
export const deploymentPause = byScaling('Deployment', {
  follow: async (work, manager) => ({ idle: Promise.resolve(), ...followPods(work, manager) }),
  refusedBy: refusedByCondition,
});

/** A StatefulSet ends its Pods one after the other unless it is configured otherwise, and any of them may be the leader. */
const TERMINATING_SECONDS = 60;

export const statefulSetPause = byScaling('StatefulSet', {
  async follow(work, manager) {
    const following = followPods(work, manager, TERMINATING_SECONDS);
    return { idle: following.terminating, ...following };
  },
  refusedBy: refusedByEvents,
});
