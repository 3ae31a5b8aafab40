import type { ApiCall } from '../api-proxy/api-call.ts';
import type { ServedCall } from '../api-proxy/observed.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import { type CallSummary, hasFailed, type ReconcileSummary } from '../report/call.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import type { ObjectName } from '../report/object-name.ts';
import { isSame, ownersOf, type Reconciled } from './causes.ts';
import { keepNewest } from './newest.ts';
import { managerOf } from './own-changes.ts';
import type { Begun } from './reconciles.ts';
import { Repetitions } from './repetitions.ts';

/** So long nothing has happened to a deleted object that only its controller can release. */
const STILL_MS = 60_000;
const HOUR_MS = 3_600_000;
const MOST = 1_000;
const MOST_NAMES = 20;

type Last = Pick<ReconcileSummary, 'result' | 'requeueAfterMs'>;

interface Known {
  /** `group/resource` */
  resource: string;
  /** The watch that has its events; absent if it was only in a list or an answer. */
  watch: ApiCall | undefined;
}

/** A deleted object that waits for the controller. */
interface Waiting extends Known {
  object: ObjectName;
  finalizers: string[];
  /** As the API server says, in milliseconds since 1970. */
  deletedAt: number;
  /** When its deletion was seen, and when something happened last, in milliseconds since 1970. */
  since: number;
  lastAt: number;
  reconciles: number;
  /** The last result of each controller that has reconciled it since; undefined while a reconcile runs. */
  last: Map<string, Last | undefined>;
  /** The controller has written it since, so it knows that it waits. */
  isReported: boolean;
  isTold: boolean;
}

/** A deleted object that is still there. */
interface Ending extends Known {
  /** The uids of those that own it, and the object whose reconcile deleted it. */
  owners: string[];
  deletedFor: Begun | undefined;
}

/**
 * Finds deleted objects with a finalizer of the controller that it has done with, and that are still there. A controller that waits for
 * something says so: with an error or a timer, in the status, or by deleting what has to go first.
 */
export class Finalizers {
  #waiting = new Map<string, Waiting>();
  #ending = new Map<string, Ending>();
  #gone = new Map<string, true>();
  /** How managedFields name the controller, and the finalizers that it has set on any object: others may have been set in the cluster. */
  #managers = new Map<string, true>();
  #own = new Map<string, true>();
  #repetitions = new Repetitions({ least: 1, withinMs: HOUR_MS });

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** `by`: the reconcile that made the call. */
  called({ call, headers }: ServedCall, record: CallSummary, by: Begun | undefined): void {
    const manager = managerOf(call, headers);
    if (manager) keepNewest(this.#managers, MOST_NAMES, manager, true);
    const key = `${record.group}/${record.resource?.split('/')[0]}`;
    if (call.verb === 'watch' && !record.isOpen) this.#forget(key, call);
    const isChange = record.isWrite && !hasFailed(record) && !record.isUnchanged;
    if (!isChange) return;
    const at = Date.parse(record.at) + record.ms;
    const { namespace, name = '' } = record;
    for (const one of this.#waiting.values()) {
      // Not every answer names the kind.
      const isWritten = one.resource === key && isOf(one, { namespace, name });
      if (isWritten) one.isReported = true;
      if (isWritten || (by && isOf(one, by))) one.lastAt = Math.max(one.lastAt, at);
    }
  }

  /** A version of an object has passed. `deletedFor`: the reconcile that has just deleted it. */
  passed(
    object: KubeObject,
    call: ApiCall,
    { at, deletedFor }: { at: number; deletedFor?: Begun | undefined },
  ): void {
    const { uid, finalizers = [], deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata;
    if (uid === undefined) return;
    this.#happened(object, at);
    for (const one of this.#setIn(object)) keepNewest(this.#own, MOST_NAMES, one, true);
    const isThere =
      deletionTimestamp !== undefined && (finalizers.length > 0 || deletionGracePeriodSeconds > 0);
    if (!isThere || this.#gone.has(uid)) {
      this.#release(uid);
      return;
    }
    const owners = ownersOf(object.metadata).map((one) => one.uid);
    const before = this.#ending.get(uid);
    const resource = `${call.resource?.group}/${call.resource?.resource}`;
    const from = { resource, watch: call.verb === 'watch' ? call : before?.watch };
    keepNewest(this.#ending, MOST, uid, { ...from, owners, deletedFor: deletedFor ?? before?.deletedFor });
    // The controller may let others finish first.
    if (finalizers.length === 0 || !finalizers.every((one) => this.#own.has(one))) {
      this.#waiting.delete(uid);
      return;
    }
    const known = this.#waiting.get(uid) ?? {
      ...{ since: at, lastAt: at, reconciles: 0, last: new Map(), isReported: false, isTold: false },
    };
    keepNewest(this.#waiting, MOST, uid, {
      ...{ ...known, ...from, object: nameOf(object), finalizers },
      deletedAt: Date.parse(deletionTimestamp) || at,
    });
  }

  /** An older version of it can still pass, in the answer to a call. */
  gone(object: KubeObject, at: number): void {
    const { uid = '' } = object.metadata;
    this.#happened(object, at);
    keepNewest(this.#gone, MOST, uid, true);
    this.#release(uid);
  }

  begun(begun: Begun): void {
    for (const one of this.#waiting.values())
      if (isOf(one, begun) && begun.at >= one.since) one.last.set(begun.controller, undefined);
  }

  reconciled(reconcile: ReconcileSummary): void {
    const { at, ms, controller, result, requeueAfterMs } = reconcile;
    for (const one of this.#waiting.values()) {
      // A reconcile that began before may not have known.
      if (!isOf(one, reconcile) || Date.parse(at) < one.since) continue;
      one.last.set(controller, { result, ...(requeueAfterMs === undefined ? {} : { requeueAfterMs }) });
      one.reconciles += 1;
      one.lastAt = Math.max(one.lastAt, Date.parse(at) + ms);
    }
  }

  /** What is to be told now, in milliseconds since 1970. */
  due(now: number): Told<'warning'>[] {
    return [...this.#waiting].flatMap(([uid, one]) => {
      if (one.isTold || one.isReported || now - one.lastAt < STILL_MS || !isDone(one)) return [];
      if ([...this.#ending].some(([other, ending]) => other !== uid && isFor(ending, uid, one))) return [];
      one.isTold = true;
      return this.#warning(one, now);
    });
  }

  #warning(
    { object, finalizers, since, deletedAt, reconciles, last }: Waiting,
    now: number,
  ): Told<'warning'>[] {
    const [controller, ...others] = [...last.keys()];
    const subject = JSON.stringify([controller, finalizers]);
    // A clean-up that forgets it does so for each object.
    if (!this.#repetitions.add({ about: subject, subject, at: now, details: [] })) return [];
    // What ends gracefully is deleted in the future.
    const deletedMs = now - Math.min(since, deletedAt);
    return [
      notice('reconciles.finalizer-left', {
        ...(others.length === 0 && controller ? { controller } : {}),
        ...{ object, finalizers, reconciles, seconds: Math.round(deletedMs / 1_000) },
      }),
    ];
  }

  #release(uid: string): void {
    this.#waiting.delete(uid);
    this.#ending.delete(uid);
  }

  /** Something has happened to an object, and so to those that own it. */
  #happened({ metadata }: KubeObject, at: number): void {
    for (const uid of [metadata.uid, ...ownersOf(metadata).map((one) => one.uid)]) {
      const one = this.#waiting.get(uid ?? '');
      if (one) one.lastAt = Math.max(one.lastAt, at);
    }
  }

  /** A watch has ended: what happens to its objects until the next one is not known. */
  #forget(resource: string, ended: ApiCall): void {
    for (const all of [this.#waiting, this.#ending])
      for (const [uid, one] of all)
        if (one.watch ? one.watch === ended : one.resource === resource) all.delete(uid);
  }

  /** The finalizers that the controller has set on an object. */
  #setIn({ metadata: { finalizers = [], managedFields = [] } }: KubeObject): string[] {
    if (finalizers.length === 0) return [];
    const own = managedFields.filter(({ manager }) => this.#managers.has(manager));
    return finalizers.filter((one) => own.some(({ fieldsV1 }) => hasSet(fieldsV1, one)));
  }
}

function hasSet(fields: unknown, finalizer: string): boolean {
  const { 'f:metadata': metadata } = (fields ?? {}) as { 'f:metadata'?: { 'f:finalizers'?: object } };
  return Object.hasOwn(metadata?.['f:finalizers'] ?? {}, `v:${JSON.stringify(finalizer)}`);
}

/** Each controller has reconciled it to the end, and none of them will come back by itself. */
function isDone({ last }: Waiting): boolean {
  const results = [...last.values()];
  return results.length > 0 && results.every((one) => one?.result === 'success' && !one.requeueAfterMs);
}

function isFor({ owners, deletedFor }: Ending, uid: string, waiting: Waiting): boolean {
  return owners.includes(uid) || (deletedFor !== undefined && isOf(waiting, deletedFor));
}

function isOf({ object }: Waiting, of: Reconciled): boolean {
  return isSame(object, of);
}

function nameOf({ kind = '', metadata: { namespace, name } }: KubeObject): ObjectName {
  return { kind, ...(namespace ? { namespace } : {}), name };
}
