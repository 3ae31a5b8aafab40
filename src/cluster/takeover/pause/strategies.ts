import type { Kind } from '../../api/kinds.ts';
import { daemonSetPause } from './daemon-set.ts';
import type { Manager, Pause } from './pause.ts';
import { deploymentPause, statefulSetPause } from './replicas.ts';

/** All ways to pause a manager with a mark. The first one that fits is used. */
export const PAUSES: Pause[] = [deploymentPause, statefulSetPause, daemonSetPause];

/** The pause whose marks are on objects of this kind. */
export function pauseOf(kind: Kind): Pause | undefined {
  return PAUSES.find((pause) => pause.kind === kind);
}

export function pauseFor(manager: Manager): Pause | undefined {
  return PAUSES.find((pause) => pause.fits(manager));
}
