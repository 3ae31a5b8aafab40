import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { isReadyPod } from '../../cluster/api/workloads.ts';
import type { MarkedObject } from '../../cluster/takeover/find-marked.ts';
import { type RestoreResult, waitForControllerSlices } from '../../cluster/takeover/restore-steps.ts';
import { CATCH_UP_MS, slicesCommand } from '../../cluster/takeover/slices.ts';
import type { Work } from '../../cluster/work.ts';
import { selectedPods } from '../../operator/manager.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** What the session had taken over, what of it was found, and the managers that were resumed. */
interface RestoredObjects {
  taken: ObjectRef[];
  marked: MarkedObject[];
  resumed: RestoreResult[];
}

/**
 * Waits until Kubernetes has written the endpoints of the restored Services, as far as there are Pods that could answer. A controller that
 * has just lost the API server can take a minute for that. devloop's own slices keep answering until then.
 */
export async function slicesBack(
  work: Work,
  { taken, marked, resumed }: RestoredObjects,
  wasEmpty: (ref: ObjectRef) => boolean,
): Promise<void> {
  const services = taken.filter(({ kind }) => kind === 'Service');
  const missing = await waitForControllerSlices(work, services, marked, slicesLimitMs(resumed, wasEmpty));
  const areDue = await Promise.all(missing.map((ref) => hasReadyPod(work, ref)));
  const due = missing.filter((_, index) => areDue[index]);
  for (const ref of await waitForControllerSlices(work, due, marked, CATCH_UP_MS))
    work.emit(notice('restore.no-endpoints', { service: ref, command: slicesCommand(ref) }));
}

/**
 * How long to wait for the slices of Kubernetes' controller, in ms. If the manager is ready, they will be written, perhaps late, and until
 * then only devloop's own slices have an endpoint that answers. Without a ready Pod, none will be written.
 */
export function slicesLimitMs(resumed: RestoreResult[], wasEmpty: (ref: ObjectRef) => boolean): number {
  const isReady = ({ ref, isLate, isBlocked }: RestoreResult): boolean =>
    !isLate && !isBlocked && !wasEmpty(ref);
  return resumed.length > 0 && resumed.every(isReady) ? 10_000 : 3_000;
}

/** False if the account is not allowed to list Pods. */
async function hasReadyPod({ api }: Work, ref: ObjectRef): Promise<boolean> {
  const service = await api.get<Service>(ref);
  const pods = service && (await selectedPods(api, service).catch(undefinedIfForbidden));
  return (pods ?? []).some(isReadyPod);
}
