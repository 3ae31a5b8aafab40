import { type CauseEvent, hasFailed, type ReconcileCall, type ReconcileSummary } from '../report/call.ts';
import { keepNewest } from './newest.ts';
import { CALLS_VERSION, type CallRecord, type ReconcileRecord } from './record.ts';

/** The begin of a reconcile, as the controller reports it. */
export interface Begun {
  /** controller-runtime's ID. */
  reconcile: string;
  /** In milliseconds since 1970. */
  at: number;
  controller: string;
  kind?: string | undefined;
  namespace?: string | undefined;
  name: string;
}

export interface Ended {
  reconcile: string;
  at: number;
  result: ReconcileSummary['result'];
  error?: string | undefined;
  requeueAfterMs?: number | undefined;
}

interface Open {
  begun: Begun;
  after: CauseEvent[];
  build: string | undefined;
  calls: ReconcileCall[];
  counts: ReconcileSummary['counts'];
  log: string[];
}

/** A controller runs few reconciles at once; those that never end are forgotten. */
const MOST_OPEN = 1_000;
const MOST_CALLS = 30;
const MOST_LINES = 100;
const LONGEST_LINE = 2_000;
const LONGEST_ERROR = 2_000;
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The reconciles that run now, with their calls and log lines. */
export class Reconciles {
  #open = new Map<string, Open>();

  begin(begun: Begun, after: CauseEvent[], build: string | undefined): void {
    const counts = { writes: 0, reads: 0, failed: 0 };
    const open = { begun, after, build, calls: [], counts, log: [] };
    keepNewest(this.#open, MOST_OPEN, begun.reconcile, open);
  }

  /** Returns the reconcile that runs and that the call is one of, if there is one. */
  called(record: CallRecord): Begun | undefined {
    const open = this.#open.get(record.reconcile ?? '');
    if (open === undefined) return undefined;
    const { counts, calls } = open;
    if (hasFailed(record)) counts.failed += 1;
    else if (record.isWrite) counts.writes += 1;
    else counts.reads += 1;
    if ((record.isWrite || hasFailed(record)) && calls.length < MOST_CALLS) calls.push(shownOf(record));
    return open.begun;
  }

  /** A line of the controller's log belongs to the reconcile whose ID it contains. */
  logged(line: string): void {
    for (const [id] of line.matchAll(ID)) {
      const { log } = this.#open.get(id) ?? {};
      if (log && log.length < MOST_LINES) log.push(line.slice(0, LONGEST_LINE));
    }
  }

  /** Undefined if no such reconcile is running. */
  end({ reconcile, at, result, error, requeueAfterMs }: Ended, id: string): ReconcileRecord | undefined {
    const open = this.#open.get(reconcile);
    if (open === undefined) return undefined;
    this.#open.delete(reconcile);
    const { begun, after, build, calls, counts, log } = open;
    const { at: begunAt, kind, namespace, ...what } = begun;
    return {
      v: CALLS_VERSION,
      id,
      ...what,
      at: new Date(begunAt).toISOString(),
      ...(kind ? { kind } : {}),
      ...(namespace ? { namespace } : {}),
      result,
      ...(error === undefined ? {} : { error: error.slice(0, LONGEST_ERROR) }),
      ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }),
      ...{ calls, counts, after },
      ms: Math.max(0, Math.round((at - begunAt) * 10) / 10),
      ...(build === undefined ? {} : { build }),
      ...(log.length > 0 ? { log } : {}),
    };
  }

  /** The IDs of those that ran at this time and have not ended, as when the process ends before they do. */
  runningSince(at: number): string[] {
    return [...this.#open].filter(([, { begun }]) => begun.at <= at).map(([id]) => id);
  }
}

/** Whether a line of a log has what can be the ID of a reconcile. */
export function namesReconcile(line: string): boolean {
  return line.search(ID) >= 0;
}

function shownOf(record: CallRecord): ReconcileCall {
  const { id, verb, group, resource, kind, namespace, name, code, message } = record;
  const { changes, more, isUnchanged, warnings, reviews, faults } = record;
  const what = { id, verb, group, resource, kind, namespace, name };
  return { ...what, code, message, changes, more, isUnchanged, warnings, reviews, faults };
}
