import { describe } from '../../../report/object-name.ts';
import type { Manager, PauseStep, Pausing } from './pause.ts';

export const STAYS_UP =
  'Its Pods stay up, and kube-apiserver can keep calling them over connections that are already open.';

/** Leaves the manager running, because the user wants that. */
export function leaveRunning({ ref }: Manager): PauseStep {
  return {
    changes: [],
    permissions: [],
    answersReviews: true,
    async apply({ emit }) {
      const message = `${describe(ref)} is not paused (pause: none), so it works on the same objects as the controller here. ${STAYS_UP}`;
      emit({ type: 'warning', message });
      return podsStay(Promise.resolve());
    },
  };
}

/** The result of a pause that ends no Pod. */
export function podsStay(idle: Promise<void>): Pausing {
  idle.catch(() => {});
  return { idle, terminating: Promise.resolve(), ended: Promise.resolve(true) };
}
