import { notice } from '../../../report/notices/catalogue.ts';
import type { Manager, PauseStep, PausingManager } from './pause.ts';

/** Leaves the manager running, because the user wants that. */
export function leaveRunning({ ref }: Manager): PauseStep {
  return {
    changes: [],
    permissions: [],
    answersReviews: true,
    async apply({ emit }) {
      emit(notice('pause.none', { manager: ref }));
      return podsStay(Promise.resolve());
    },
  };
}

/** The result of a pause that ends no Pod. */
export function podsStay(idle: Promise<void>): PausingManager {
  idle.catch(() => {});
  return { idle, terminating: Promise.resolve(), ended: Promise.resolve(true) };
}
