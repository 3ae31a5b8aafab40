import { isLater } from '../report/review.ts';
import { linesOf } from '../reviews/scan.ts';
import { recordIn } from './read.ts';
import { CALLS_VERSION, type CallRecord, isCall, type ReconcileRecord } from './record.ts';

type Recorded = CallRecord | ReconcileRecord;

/** How each record begins. */
const BEGINNING = /^\{"v":\d+,"id":"(([ck])-\d+)"/;

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
  // To parse what somebody has already would take longer than to read it.
  const isFresh = (line: string): boolean => {
    const [, id = '', letter] = BEGINNING.exec(line) ?? [];
    return isLater(id, letter === 'c' ? call : reconcile);
  };
  for await (const lines of linesOf(directory, 'calls')) {
    const fresh = lines
      .split('\n')
      .filter((line) => isFresh(line) && isWanted(line))
      .flatMap(recordIn);
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
