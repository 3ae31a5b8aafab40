import { type CallRecord, isCall, type ReconcileRecord } from '../../calls/record.ts';
import type { ObjectName } from '../../report/object-name.ts';
import type { PlanWait } from '../../report/planned-write.ts';

/** A controller that only looks once again has other reasons. */
const OFTEN = 3;
/** With these, a reconcile asks to be run again. Work that is done ends with success. */
const UNFINISHED = new Set<ReconcileRecord['result']>(['error', 'requeue', 'requeue_after', 'panic']);

/**
 * At which writes the controller waits for what nothing has stored, by the ids of their calls. `again`: how often a write was repeated. The
 * newest write of an object is where its controller has got to.
 */
export function waitsOf(
  records: (CallRecord | ReconcileRecord)[],
  writes: CallRecord[],
  again: (write: CallRecord) => number,
): Map<string, PlanWait> {
  const found = new Map<string, PlanWait>();
  const last = new Map<string, CallRecord>();
  const reconciled = reconciledBy(records);
  for (const write of writes) {
    const at = records.indexOf(write);
    const reads = records.slice(at + 1).filter((one) => isCall(one) && isReadOf(one, write)).length;
    if (reads >= OFTEN) found.set(write.id, { for: 'object', times: reads });
    const of = reconciled.get(write.reconcile ?? '');
    if (of !== undefined) last.set(of, write);
    else if (again(write) >= OFTEN) found.set(write.id, { for: 'repeated', times: again(write) });
  }
  for (const [of, write] of last) {
    const later = records.slice(records.indexOf(write)).flatMap((one) => {
      return !isCall(one) && objectOf(one) === of && one.reconcile !== write.reconcile ? [one] : [];
    });
    const newest = later.at(-1);
    if (newest === undefined || later.length < OFTEN || !UNFINISHED.has(newest.result)) continue;
    const { error } = newest;
    found.set(write.id, {
      for: 'reconcile',
      times: later.length,
      of: nameOf(newest),
      ...(error && { error }),
    });
  }
  return found;
}

/** A reconcile that fails, and whose object has no write that shows why. */
export interface FailedReconcile {
  of: ObjectName;
  error: string;
}

/** The objects whose newest reconcile has failed. `shown`: the calls that say why. */
export function failedReconciles(
  records: (CallRecord | ReconcileRecord)[],
  shown: CallRecord[],
): FailedReconcile[] {
  const reconciled = reconciledBy(records);
  const explained = new Set(shown.map(({ reconcile = '' }) => reconciled.get(reconcile)));
  const newest = new Map(records.flatMap((one) => (isCall(one) ? [] : [[objectOf(one), one] as const])));
  return [...newest].flatMap(([object, one]) => {
    const hasFailed = one.result === 'error' || one.result === 'panic';
    return hasFailed && !explained.has(object) ? [{ of: nameOf(one), error: one.error ?? one.result }] : [];
  });
}

function nameOf({ controller, kind = controller, namespace, name }: ReconcileRecord): ObjectName {
  return { kind, name, ...(namespace !== undefined && { namespace }) };
}

/** The object of each reconcile. */
function reconciledBy(records: (CallRecord | ReconcileRecord)[]): Map<string, string> {
  return new Map(records.flatMap((one) => (isCall(one) ? [] : [[one.reconcile, objectOf(one)] as const])));
}

function objectOf({ controller, namespace, name }: ReconcileRecord): string {
  return `${controller} ${namespace}/${name}`;
}

function isReadOf(read: CallRecord, write: CallRecord): boolean {
  const isSame = (key: 'group' | 'namespace' | 'name'): boolean => read[key] === write[key];
  const plural = (resource = ''): string => resource.split('/')[0]!;
  if (read.verb !== 'get' || write.name === undefined) return false;
  return (
    plural(read.resource) === plural(write.resource) &&
    (['group', 'namespace', 'name'] as const).every(isSame)
  );
}
