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
    const needed = neededAfter(write, records);
    if (needed) found.set(write.id, needed);
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

/** What the controller does with the object after a write that nothing has stored. */
function neededAfter(write: CallRecord, records: (CallRecord | ReconcileRecord)[]): PlanWait | undefined {
  const calls = records.slice(records.indexOf(write) + 1).filter(isCall);
  const later = calls.filter((one) => isOfSame(one, write));
  const reads = later.filter(({ verb }) => verb === 'get').length;
  if (reads >= OFTEN) return { for: 'object', times: reads };
  const writes = later.filter(isOfMissing).length;
  return writes > 0 && isCreation(write) ? { for: 'written', times: writes } : undefined;
}

/** A reconcile that ended only after devloop had begun to end its process, in milliseconds since 1970, says nothing: it was cut off. */
export function cutOff(
  records: (CallRecord | ReconcileRecord)[],
  sinceMs: number,
): (CallRecord | ReconcileRecord)[] {
  return records.map((one) => {
    if (isCall(one) || Date.parse(one.at) + one.ms <= sinceMs) return one;
    const { error: _, ...others } = one;
    return { ...others, result: 'ended' };
  });
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

/** Whether a write fails only because nothing has stored what these writes have created. */
export function isConsequence(call: CallRecord, writes: CallRecord[]): boolean {
  return isOfMissing(call) && writes.some((write) => isCreation(write) && isOfSame(call, write));
}

function isOfMissing({ isDryRun, code }: CallRecord): boolean {
  return isDryRun === true && code === 404;
}

function isCreation({ verb, objectBefore }: CallRecord): boolean {
  return (verb === 'create' || verb === 'apply') && objectBefore === undefined;
}

function isOfSame(call: CallRecord, write: CallRecord): boolean {
  const isSame = (key: 'group' | 'namespace' | 'name'): boolean => call[key] === write[key];
  const plural = (resource = ''): string => resource.split('/')[0]!;
  return (
    write.name !== undefined &&
    plural(call.resource) === plural(write.resource) &&
    (['group', 'namespace', 'name'] as const).every(isSame)
  );
}
