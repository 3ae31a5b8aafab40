import { describe, type ObjectName } from '../object-name.ts';
import { note, warning } from './notice.ts';

/** What happens at the end of a session, and when a dead one is restored. */
export const RESTORE = {
  /** Another session on these objects is dead, or is being taken over, so it is restored first. */
  'restore.other-session': note<{ session: string }>(
    ({ session }) => `Session ${session} is dead, or is being taken over; restoring what it changed.`,
  ),
  /** Another session of this machine is asked to restore everything. `isEnding`: it does so already. */
  'restore.asked': note<{ session: string; pid: number; isEnding: boolean }>(({ session, pid, isEnding }) => {
    const what = isEnding ? 'is already restoring' : 'is running on this machine; asking it to restore';
    return `Session ${session} (pid ${pid}) ${what} everything.`;
  }),
  /** In a dry run: a session of this machine is running, and would be asked to restore everything. */
  'restore.would-ask': note<{ session: string; pid?: number }>(
    ({ session, pid }) =>
      `Session ${session} is running on this machine (pid ${pid}); devloop down would ask it to restore everything.`,
  ),
  /** Another session of this machine cannot be stopped, so devloop takes over while it runs. */
  'restore.cannot-stop': warning<{ session: string; holder: string; pid?: number }>(
    ({ session, holder }) =>
      `Session ${session} of ${holder} is running on this machine, but devloop cannot stop it, so devloop takes over while it runs. That session ends when it notices.`,
    ({ pid }) => `If its controller uses a port that this session needs: sudo kill ${pid}`,
  ),
  /** The operator's own webhooks block the restore, so devloop answers them until it is done. */
  'restore.answers-instead': note<{ webhooks: string }>(
    ({ webhooks }) =>
      `The operator's own webhooks block its restore while nothing answers them, so devloop answers them until it is restored: ${webhooks}.`,
  ),
  /** The route over which devloop answers reviews of a dead session. */
  'restore.route': note<{ session: string; route: string }>(
    ({ session, route }) => `Reviews of session ${session} are answered over the ${route} route.`,
  ),
  /** Kubernetes has not written the endpoints of a restored Service in time. `command` shows them. */
  'restore.no-endpoints': warning<{ service: ObjectName; command: string }>(
    ({ service }) =>
      `${describe(service)} is restored, but Kubernetes has not written its endpoints yet, so kube-apiserver cannot call it.`,
    ({ command }) => `To see them: ${command}\nIf they do not appear, restart kube-controller-manager.`,
  ),
  /** A Service could not be restored. Until it is, its endpoints point to the manager's ready Pods. */
  'restore.handed-over': note<{ service: ObjectName }>(
    ({ service }) =>
      `${describe(service)} is not restored. Until it is, devloop's endpoints point it to the manager's Pods that are ready now.`,
  ),
  /** A Service could not be restored, and no Pod of the manager is ready, so its reviews get no answer. */
  'restore.not-handed-over': warning<{ service: ObjectName }>(
    ({ service }) =>
      `${describe(service)} is not restored, and devloop sees no ready Pod of the manager, so its endpoints still point to the session. Reviews get no answer until it is restored.`,
  ),
  /** The Lease that paused the manager was not released, so a Pod of the manager waits until it expires. */
  'restore.lease-not-released': warning<{ cause: string }>(
    ({ cause }) =>
      `The manager's Lease was not released: ${cause} A Pod of the manager can take it when it expires.`,
  ),
  /** The cluster does not answer at the end of a session. devloop keeps trying. `isFailure`: the session ends because of an error. */
  'restore.delayed': warning<{ cause: string; isFailure: boolean }>(
    ({ cause }) =>
      `The cluster is not restored yet. devloop keeps trying, and reviews are still answered here. ${cause}`,
    ({ isFailure }) => {
      const leave = isFailure ? 'Press Ctrl-C twice to exit at once' : 'A second Ctrl-C exits at once';
      return `${leave}; then, to restore the rest: devloop down`;
    },
  ),
  /** devloop could not verify that the in-cluster webhooks answer again. */
  'restore.unverified': warning<{ cause: string }>(
    ({ cause }) => `devloop could not verify that the in-cluster webhook answers again: ${cause}`,
  ),
  /** The manager was not ready before the session, for the `cause`, so devloop does not wait for it at the end. */
  'manager.unready-before': warning<{ manager: ObjectName; cause: string }>(
    ({ manager, cause }) =>
      `${describe(manager)} is not ready, so devloop will not expect it to be ready after the session: ${cause}`,
  ),
  /** A Pod of the in-cluster manager ends slowly, and may still be called. */
  'manager.still-terminating': warning(
    () =>
      'A Pod of the in-cluster manager is still terminating; kube-apiserver may keep calling it over open connections.',
  ),
  /** devloop cannot see whether the Pods of the in-cluster manager have ended. */
  'manager.unseen': warning<{ cause: string }>(
    ({ cause }) => `devloop cannot see whether the Pods of the in-cluster manager have ended: ${cause}`,
  ),
};
