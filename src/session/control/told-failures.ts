import { isOfStack, levelOf } from '../../controller/log-level.ts';
import type { DevloopEvent } from '../../report/events.ts';

type Line = Extract<DevloopEvent, { type: 'controller.output' }>;

/** What the logger of a reconcile adds; older versions of controller-runtime name none. */
const OF_RECONCILE = /"reconcileID"\s*:|\breconcileID=|\bReconciler error\b/;
/** What controller-runtime logs when a Reconcile function returns an error. */
const RETURNED = /\bReconciler error\b/;
/** Its stack trace is all that tells where it was. */
const PANIC = /\bpanic\b/i;

/**
 * Finds the lines that repeat what the row of a failed reconcile says: controller-runtime's own, and the stack traces of all errors of
 * reconciles, which would bury what is said about their cause.
 */
export function createToldFailures(): { isTold(line: Line): boolean } {
  /** Whether a stack trace in this stream would be that of such an error. */
  const isAfterError = { stdout: false, stderr: false };
  return {
    isTold({ stream, line }) {
      const level = levelOf(line);
      if (level === undefined && isOfStack(line)) return isAfterError[stream];
      const isError = level === 'error' && OF_RECONCILE.test(line) && !PANIC.test(line);
      isAfterError[stream] = isError;
      return isError && RETURNED.test(line);
    },
  };
}
