import {
  type CauseEvent,
  hasFailed,
  type ReconcileCall,
  type ReconcileSummary,
  type RetriedReconcile,
} from '../report/call.ts';
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
  /** Some of what it did may be missing, perhaps its end, too. */
  isIncomplete?: true;
}

/** How the last reconcile of an object ended, in milliseconds since 1970. */
interface Last {
  id: string;
  result: Ended['result'];
  at: number;
  requeueAfterMs: number | undefined;
}

/** A controller runs few reconciles at once; those that never end are forgotten. */
const MOST_OPEN = 1_000;
const MOST_LAST = 10_000;
/** The clocks of two processes, and what their timers may be early. */
const DUE_MS = 50;
const MOST_CALLS = 30;
const MOST_LINES = 100;
const LONGEST_LINE = 2_000;
const LONGEST_ERROR = 2_000;
const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The reconciles that run now, with their calls and log lines. */
export class Reconciles {
  #open = new Map<string, Open>();
  #last = new Map<string, Last>();

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
    for (const id of idsIn(line)) {
      const { log } = this.#open.get(id) ?? {};
      if (log && log.length < MOST_LINES) log.push(line.slice(0, LONGEST_LINE));
    }
  }

  /** Some of what those that run now do was not recorded. */
  lost(): void {
    for (const open of this.#open.values()) open.isIncomplete = true;
  }

  /** Whether all that it did so far is known. */
  isComplete(reconcile: string): boolean {
    return this.#open.get(reconcile)?.isIncomplete !== true;
  }

  /** Undefined if no such reconcile is running. */
  end({ reconcile, at, result, error, requeueAfterMs }: Ended, id: string): ReconcileRecord | undefined {
    const open = this.#open.get(reconcile);
    if (open === undefined) return undefined;
    this.#open.delete(reconcile);
    const { begun, after, build, calls, counts, log } = open;
    const { at: begunAt, kind, namespace, ...what } = begun;
    const retryOf = this.#retried(begun);
    keepNewest(this.#last, MOST_LAST, keyOf(begun), { id, result, at, requeueAfterMs });
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
      ...(retryOf && { retryOf }),
      ms: Math.max(0, Math.round((at - begunAt) * 10) / 10),
      ...(build === undefined ? {} : { build }),
      ...(log.length > 0 ? { log } : {}),
    };
  }

  #retried(begun: Begun): RetriedReconcile | undefined {
    const last = this.#last.get(keyOf(begun));
    if (last === undefined || last.result === 'success' || last.result === 'ended') return undefined;
    const { id, result, at, requeueAfterMs = 0 } = last;
    return begun.at >= at + requeueAfterMs - DUE_MS ? { id, result } : undefined;
  }

  /** The IDs of those that the end of the process cuts off. Those whose end can have been lost are forgotten: they may have ended long before. */
  cutOffAt(at: number): string[] {
    // The next process reconciles everything anyway.
    this.#last.clear();
    const ran = [...this.#open].filter(([, { begun }]) => begun.at <= at);
    for (const [id, { isIncomplete }] of ran) if (isIncomplete) this.#open.delete(id);
    return ran.filter(([, { isIncomplete }]) => !isIncomplete).map(([id]) => id);
  }
}

function keyOf({ controller, kind, namespace, name }: Begun): string {
  return JSON.stringify([controller, kind, namespace, name]);
}

/** What can be IDs of reconciles in a line of a log. */
export function idsIn(line: string): string[] {
  return [...line.matchAll(ID)].map(([id]) => id);
}

function shownOf(record: CallRecord): ReconcileCall {
  const { id, verb, group, resource, kind, namespace, name, code, message } = record;
  const { changes, more, isUnchanged, warnings, reviews, faults } = record;
  const what = { id, verb, group, resource, kind, namespace, name };
  return { ...what, code, message, changes, more, isUnchanged, warnings, reviews, faults };
}
