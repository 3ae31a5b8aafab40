import { type CallRecord, isCall, type ReconcileRecord } from '../../calls/record.ts';
import type { PlannedWrite } from '../../report/planned-write.ts';
import { objectDiff, yaml } from '../../reviews/objects.ts';
import { type FailedReconcile, failedReconciles, isConsequence, waitsOf } from './waits.ts';

/** A write of a plan, and the object after it without what the API server sets. */
export interface Planned {
  write: PlannedWrite;
  object?: unknown;
  /** The uid that a new object got, which is another one each time. */
  uid?: string;
}

const NOT_SENT = 405;
/** Others need the object, also if it was not known before. */
const MAY_CREATE = new Set(['create', 'apply']);
const DELETES = new Set(['delete', 'deletecollection']);
/** What the API server sets, which says nothing about the controller. */
const SET_BY_SERVER = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields'];

/** What a dry run has recorded. */
export interface PlannedRun {
  writes: Planned[];
  /** Reconciles that fail for another reason than a write of the plan. */
  failed: FailedReconcile[];
}

/** The writes of a dry run in their order, without those that change nothing. `again`: how often a write was repeated. */
export function plannedRun(
  records: (CallRecord | ReconcileRecord)[],
  again: (record: CallRecord) => number,
): PlannedRun {
  const written = new Set<string>();
  const calls = records.filter(isCall);
  const sent = calls.filter((one) => one.isDryRun && !isRefused(one) && !one.isUnchanged);
  const waits = waitsOf(records, sent, again);
  const writes = calls.flatMap((record) => {
    const write = plannedWrite(record);
    if (write === undefined) return [];
    if (write.action === 'refused' && (isAcceptedIn(sent, record) || isConsequence(record, sent))) return [];
    const object = [record.group, record.resource?.split('/')[0], record.namespace, record.name].join(' ');
    const isLater = written.has(object);
    written.add(object);
    const more = defined({ isLater: isLater ? (true as const) : undefined, waits: waits.get(record.id) });
    return [{ write: { ...write, ...more }, ...objectOf(record) }];
  });
  const explaining = calls.filter((one) => waits.has(one.id) || (isPlanned(one) && isRefused(one)));
  return { writes, failed: failedReconciles(records, explaining) };
}

function isPlanned({ isDryRun, isOwn, code }: CallRecord): boolean {
  return isDryRun === true || (isOwn === true && code === NOT_SENT);
}

/** A conflict is refused, and the same write accepted a moment later. */
function isAcceptedIn(sent: CallRecord[], { verb, group, resource, namespace, name }: CallRecord): boolean {
  return (
    name !== undefined &&
    sent.some(
      (one) =>
        one.verb === verb &&
        one.group === group &&
        one.resource === resource &&
        one.namespace === namespace &&
        one.name === name,
    )
  );
}

function isRefused({ code = 0 }: CallRecord): boolean {
  return code >= 400 || code === 0;
}

function plannedWrite(record: CallRecord): PlannedWrite | undefined {
  const { verb, resource = record.path ?? '', group, namespace, name, message } = record;
  const { kind = kindIn(record.objectBefore) } = record;
  const isSent = record.isDryRun === true;
  if (!isPlanned(record)) return undefined;
  const what = { verb, resource, ...defined({ group, kind, namespace, name }) };
  if (!isSent) return { action: 'not-sent', ...what };
  if (isRefused(record)) return { action: 'refused', ...what, ...defined({ message }) };
  if (record.isUnchanged) return undefined;
  const { changes, objectBefore, objectAfter } = record;
  const action = DELETES.has(verb)
    ? 'delete'
    : objectBefore === undefined && MAY_CREATE.has(verb)
      ? 'create'
      : 'change';
  return { action, ...what, ...defined({ changes, diff: diffOf(objectBefore, objectAfter) }) };
}

function objectOf({ objectBefore, objectAfter }: CallRecord): Pick<Planned, 'object' | 'uid'> {
  if (objectAfter === undefined) return {};
  const { metadata } = objectAfter as { metadata?: { uid?: unknown } };
  const isNew = objectBefore === undefined && typeof metadata?.uid === 'string';
  return { object: withoutServerFields(objectAfter), ...(isNew ? { uid: metadata.uid as string } : {}) };
}

/** The answer to a deletion may not say of what kind the object was. */
function kindIn(object: unknown): string | undefined {
  const { kind } = (object ?? {}) as { kind?: unknown };
  return typeof kind === 'string' ? kind : undefined;
}

function diffOf(before: unknown, after: unknown): string | undefined {
  if (after === undefined) return undefined;
  const shown = withoutServerFields(after);
  return before === undefined ? yaml(shown) : objectDiff(withoutServerFields(before), shown);
}

function withoutServerFields(object: unknown): unknown {
  const { metadata = {}, ...rest } = (object ?? {}) as { metadata?: object };
  const { apiVersion, kind, ...fields } = rest as { apiVersion?: unknown; kind?: unknown };
  const kept = Object.entries(metadata).filter(([key]) => !SET_BY_SERVER.includes(key));
  return { apiVersion, kind, metadata: Object.fromEntries(kept), ...fields };
}

function defined<T extends object>(fields: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
