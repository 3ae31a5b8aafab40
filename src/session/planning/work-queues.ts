import { keepNewest } from '../../calls/newest.ts';
import type { Begun, Ended } from '../../calls/reconciles.ts';
import type { ReportedHooks } from '../../calls/reported.ts';

/** More reconciles than run at once, and more objects than fail at once. */
const MOST = 10_000;
/** What is reconciled again later than this is not waited for. */
const SOON_MS = 60_000;

/** Whether something is in the work queues of a controller that reports its reconciles: one runs, or will be tried again soon. */
export class WorkQueues implements ReportedHooks {
  #running = new Map<string, string>();
  /** Objects that the controller itself has put back. */
  #again = new Map<string, true>();
  #endedAt: number | undefined;

  begun({ reconcile, controller, namespace = '', name }: Begun): void {
    const object = `${controller} ${namespace}/${name}`;
    this.#again.delete(object);
    keepNewest(this.#running, MOST, reconcile, object);
  }

  ended({ reconcile, result, requeueAfterMs = 0 }: Ended): void {
    const object = this.#running.get(reconcile);
    this.#running.delete(reconcile);
    this.#endedAt = performance.now();
    const isLater = result === 'success' || (result === 'requeue_after' && requeueAfterMs > SOON_MS);
    if (object !== undefined && !isLater) keepNewest(this.#again, MOST, object, true);
  }

  /** For how long they have been empty; 0 if they are not, or if nothing is known of them. */
  get emptyMs(): number {
    if (this.#endedAt === undefined || this.#running.size > 0 || this.#again.size > 0) return 0;
    return performance.now() - this.#endedAt;
  }
}
