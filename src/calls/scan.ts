import { isLater } from '../report/review.ts';
import { linesOf } from '../reviews/scan.ts';
import { recordIn } from './read.ts';
import { CALLS_VERSION, type CallRecord, isCall, type ReconcileRecord } from './record.ts';

type Recorded = CallRecord | ReconcileRecord;

/** The ids of the last call and the last reconcile that somebody has; empty if none. */
export interface LastIds {
  call: string;
  reconcile: string;
}

/**
 * The calls and reconciles of a recording after these, in parts, without objects, so that a session does not keep others waiting while it
 * reads its own recording. `isWanted`: whether a line is looked at.
 */
export async function* scanCalls(
  directory: string,
  { call, reconcile }: LastIds,
  isWanted: (line: string) => boolean = () => true,
): AsyncGenerator<Recorded[]> {
  for await (const lines of linesOf(directory, 'calls')) {
    const records = lines.split('\n').filter(isWanted).flatMap(recordIn);
    const fresh = records.filter((one) => isLater(one.id, isCall(one) ? call : reconcile));
    if (fresh.length > 0) yield fresh.map(withoutObjects);
  }
}

/** One call or reconcile of a recording; undefined if it does not exist, or no longer does. Parses no other. */
export async function findCall(directory: string, id: string): Promise<Recorded | undefined> {
  const start = `{"v":${CALLS_VERSION},"id":${JSON.stringify(id)},`;
  for await (const lines of linesOf(directory, 'calls')) {
    const at = lines.startsWith(start) ? 0 : lines.indexOf(`\n${start}`) + 1;
    if (at > 0 || lines.startsWith(start)) return recordIn(lines.slice(at, lines.indexOf('\n', at)))[0];
  }
  return undefined;
}

function withoutObjects(record: Recorded): Recorded {
  if (!isCall(record)) return record;
  const { objectBefore, objectAfter, ...rest } = record;
  return rest;
}
