import { describe } from '../../api/kinds.ts';
import type { Manager, PauseStep, Pausing } from './pause.ts';

export const STAYS_UP =
  'Its Pods stay up, and kube-apiserver can keep calling them over connections that are already open.';

/** The user wants the manager to keep running. */
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

/** For pauses that end no Pod. */
export function podsStay(idle: Promise<void>): Pausing {
  idle.catch(() => {});
  return { idle, terminating: Promise.resolve(), ended: Promise.resolve(true) };
}
