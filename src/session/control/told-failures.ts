import { isOfStack, levelOf } from '../../controller/log-level.ts';
import type { DevloopEvent } from '../../report/events.ts';

type Line = Extract<DevloopEvent, { type: 'controller.output' }>;

/** What the logger of a reconcile adds; older versions of controller-runtime name none. */
const OF_RECONCILE = /"reconcileID"\s*:|\breconcileID=|\bReconciler error\b/;
/** What controller-runtime logs when a Reconcile function returns an error. */
const RETURNED = /\bReconciler error\b/;
/** Its stack trace is all that tells where it was. */
const PANIC = /\bpanic\b/i;

/** What client-go logs of a list or watch that RBAC refuses, each time that it tries again. */
const NOT_FOLLOWED = /\bfailed to (?:list|watch)\b.*?([^\s"\\]+ is forbidden\b.*)/i;
/** A controller follows fewer kinds. */
const MOST = 1_000;
const LONGEST = 2_000;

/** Which lines of one process repeat what is said already. */
export interface ToldFailures {
  isTold(line: Line): boolean;
  /** From now on, a row tells of each reconcile that fails. */
  reportsReconciles(): void;
}

/**
 * Finds the lines that repeat what the row of a failed reconcile says, which are controller-runtime's own, or an earlier line about the same
 * forbidden list or watch; and the stack traces of all errors of these two kinds, which would bury what is said about their cause.
 */
export function createToldFailures(): ToldFailures {
  /** Whether a stack trace in this stream would be that of such an error. */
  const isAfterError = { stdout: false, stderr: false };
  const refusals = new Set<string>();
  let hasRows = false;
  const isRepeated = (refusal: string): boolean => {
    if (refusals.has(refusal)) return true;
    if (refusals.size < MOST) refusals.add(refusal);
    return false;
  };
  return {
    isTold({ stream, line }) {
      const level = levelOf(line);
      if (level === undefined && isOfStack(line)) return isAfterError[stream];
      const isInReconcile = OF_RECONCILE.test(line);
      const refusal = level && !isInReconcile ? NOT_FOLLOWED.exec(line.slice(0, LONGEST))?.[1] : undefined;
      const isOfReconcile = hasRows && level === 'error' && isInReconcile && !PANIC.test(line);
      isAfterError[stream] = refusal !== undefined || isOfReconcile;
      return refusal === undefined ? isOfReconcile && RETURNED.test(line) : isRepeated(refusal);
    },
    reportsReconciles() {
      hasRows = true;
    },
  };
}
