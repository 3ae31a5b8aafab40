import type { CallSummary, ReconcileSummary } from '../report/call.ts';

/**
 * The recording of a session's calls is NDJSON: one `CallRecord` or `ReconcileRecord` per line. This version is increased when a field is
 * removed or changes its meaning; readers ignore fields that they do not know.
 */
export const CALLS_VERSION = 1;

/** A call, and for a write the object before and after it, without secrets. */
export interface CallRecord extends CallSummary {
  v: typeof CALLS_VERSION;
  /** Absent if it was not known, or too large. */
  objectBefore?: unknown;
  objectAfter?: unknown;
}

/** A reconcile, and the lines that the controller logged with its ID. */
export interface ReconcileRecord extends ReconcileSummary {
  v: typeof CALLS_VERSION;
  log?: string[];
}

export function isCall(record: CallSummary | ReconcileSummary): record is CallSummary;
export function isCall(record: CallRecord | ReconcileRecord): record is CallRecord;
export function isCall(record: CallSummary | ReconcileSummary): boolean {
  return 'verb' in record;
}

/** The summary in a record. */
export function callSummary({ v, objectBefore, objectAfter, ...summary }: CallRecord): CallSummary {
  return summary;
}

export function summaryOf(record: CallRecord | ReconcileRecord): CallSummary | ReconcileSummary {
  return isCall(record) ? callSummary(record) : reconcileSummary(record);
}

export function reconcileSummary({ v, log, ...summary }: ReconcileRecord): ReconcileSummary {
  return summary;
}
