import { byReplicas } from './deployment.ts';
import type { Pause, Workload } from './pause.ts';

/** In the order in which they are asked whether they fit. */
export const PAUSES: Pause[] = [byReplicas];

export function pauseFor(workload: Workload): Pause | undefined {
  return PAUSES.find((pause) => pause.fits(workload));
}
