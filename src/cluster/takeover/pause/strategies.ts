import type { Permission } from '../../api/permissions.ts';
import { byReplicas } from './deployment.ts';
import type { Pause, Workload } from './pause.ts';

/** In the order in which they are asked whether they fit. */
export const PAUSES: Pause[] = [byReplicas];

export function pauseFor(workload: Workload): Pause | undefined {
  return PAUSES.find((pause) => pause.fits(workload));
}

export function pausePermissions(namespace: string): Permission[] {
  return PAUSES.flatMap((pause) => pause.permissions(namespace));
}
