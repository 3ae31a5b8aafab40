import { linesOf } from '../reviews/scan.ts';
import { CALLS_VERSION, type CallRecord, type ReconcileRecord } from './record.ts';

/** The recorded calls and reconciles of a session, oldest first. Lines that this version cannot read are left out. */
export async function readCalls(directory: string): Promise<(CallRecord | ReconcileRecord)[]> {
  const records: (CallRecord | ReconcileRecord)[] = [];
  for await (const lines of linesOf(directory, 'calls'))
    for (const line of lines.split('\n')) records.push(...recordIn(line));
  return records;
}

/** The record in a line; none if this version cannot read it. */
export function recordIn(line: string): [CallRecord | ReconcileRecord] | [] {
  try {
    const record = JSON.parse(line) as CallRecord | ReconcileRecord;
    return record.v === CALLS_VERSION && typeof record.id === 'string' ? [record] : [];
  } catch {
    return [];
  }
}
