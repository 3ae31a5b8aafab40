import { type CallRecord, isCall, type ReconcileRecord } from './record.ts';

/** The record as it is stored; that of a reconcile with its calls as they are stored, also those that only read. */
export function exportedRecord(record: CallRecord | ReconcileRecord, recorded: CallRecord[]): unknown {
  if (isCall(record)) return record;
  const own = recorded.filter(({ reconcile }) => reconcile === record.reconcile);
  // The oldest ones may no longer be recorded.
  const gone = record.calls.filter((call) => !own.some(({ id }) => id === call.id));
  return { ...record, calls: [...gone, ...own] };
}
