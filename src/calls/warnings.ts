import type { CallSummary, CauseEvent, ReconcileCall, ReconcileSummary } from '../report/call.ts';
import type { FieldTimes } from '../report/notices/calls.ts';
import { notice, type Told } from '../report/notices/catalogue.ts';
import { describe, type ObjectName } from '../report/object-name.ts';
import { Conflicts, type Often } from './conflicts.ts';
import { keepNewest } from './newest.ts';
import { Repetitions } from './repetitions.ts';

interface Subject {
  controller?: string;
  object: ObjectName;
}

/** What is no fault as long as it does not repeat. */
interface Sign<Values> {
  subject: Subject;
  /** What is counted by itself; by default, all that concerns the subject. */
  about?: string;
  /** What the warning can name. */
  fields?: string[];
  values: Values;
}

interface Rule<Seen, Values> {
  /** It is a fault if it happens so often within this time. */
  least: number;
  withinMs: number;
  signs(seen: Seen): Sign<Values>[];
  warning(
    often: Subject & Values & { last: string; times: number; seconds: number },
    fields: FieldTimes[],
  ): Told<'warning'>;
}

interface SeenCall {
  call: CallSummary;
  controller: string | undefined;
  /** The events that a write of the same fields has followed: they count once. */
  answered: WeakSet<CauseEvent>;
  isOthers: IsOthers;
  /** How often writes of its object were refused with a conflict, if that is a fault. */
  refused: Often | undefined;
}

/** Whether somebody else has written what the event is about. */
type IsOthers = (event: CauseEvent) => boolean;

interface SeenReconcile {
  reconcile: ReconcileSummary;
  isOthers: IsOthers;
  /** The one before it of the same object by the same controller. */
  previous: ReconcileSummary | undefined;
}

const MINUTE_MS = 60_000;

const UNCHANGED: Rule<SeenCall, { verb: string }> = {
  ...{ least: 10, withinMs: MINUTE_MS },
  signs: ({ call, controller }) =>
    isNeedless(call, call.after) && !(call.verb === 'apply' && call.reconcile !== undefined)
      ? ofCall(call, controller).map((subject) => ({ subject, values: { verb: call.verb } }))
      : [],
  warning: (often) => notice('calls.unchanged', often),
};

/** Only at its end, the reconcile of an apply tells what came before it. */
const APPLIED_UNCHANGED: Rule<SeenReconcile, { verb: string }> = {
  ...{ least: UNCHANGED.least, withinMs: UNCHANGED.withinMs },
  signs: ({ reconcile: { controller, calls, after } }) =>
    calls
      .filter((call) => call.verb === 'apply' && isNeedless(call, after))
      .flatMap((call) => ofCall(call, controller))
      .map((subject) => ({ subject, values: { verb: 'apply' } })),
  warning: (often) => notice('calls.unchanged', often),
};

const CONFLICTS: Rule<SeenCall, { verb: string; cause: string; refused: Often }> = {
  // They were counted already.
  ...{ least: 1, withinMs: MINUTE_MS },
  signs({ call, controller, refused }) {
    if (refused === undefined) return [];
    const values = { verb: call.verb, cause: call.message ?? '', refused };
    return ofCall(call, controller).map((subject) => ({ subject, values }));
  },
  warning: ({ refused, ...often }) => notice('calls.conflicts', { ...often, ...refused }),
};

const WAKES_ITSELF: Rule<SeenReconcile, object> = {
  ...{ least: 10, withinMs: 30_000 },
  signs: wokeItself,
  warning: (often, fields) => notice('reconciles.wake-themselves', { ...often, fields }),
};

const CONTESTED: Rule<SeenReconcile, { by: string }> = {
  // An autoscaler looks every 15 seconds.
  ...{ least: 3, withinMs: 2 * MINUTE_MS },
  signs: putBack,
  warning: (often, fields) => notice('calls.contested', { ...often, fields }),
};

/** Without reconciles, time alone tells. A program that reports its progress writes often, too, but not for as long as this. */
const AFTER_OWN: Rule<SeenCall, object> = {
  ...{ least: 30, withinMs: 30_000 },
  signs: followsItself,
  warning: (often, fields) => notice('calls.after-own', { ...often, fields }),
};

const CONTESTED_BY_TIME: Rule<SeenCall, { by: string }> = {
  ...{ least: CONTESTED.least, withinMs: CONTESTED.withinMs },
  signs({ call, answered, isOthers, controller }) {
    if (call.reconcile !== undefined || !hasWritten(call)) return [];
    const after = (call.after ?? []).filter((event) => !answered.has(event) && isOthers(event));
    return putBackBy([call], after, controller).map(({ event, ...sign }) => {
      answered.add(event);
      return sign;
    });
  },
  warning: (often, fields) => notice('calls.contested', { ...often, fields }),
};

const OF_CALLS = [UNCHANGED, CONFLICTS, AFTER_OWN, CONTESTED_BY_TIME];
const OF_RECONCILES = [WAKES_ITSELF, CONTESTED, APPLIED_UNCHANGED];
/** They need no rate: each of them is worth a warning. */
const RARE = new Set<object>([CONFLICTS, CONTESTED, CONTESTED_BY_TIME]);

/** An event wakes a controller at once; what comes later has another cause. */
const SOON_MS = 1_000;
/** The first few say little about how often it happens. */
const MEASURE_MS = 3_000;
const MOST_FIELDS = 3;
const MOST = 1_000;
const MOST_MANAGERS = 100;

/** Finds what is wrong with a controller in what it does again and again. Its only clock is that of the records. */
export class Warnings {
  #repetitions = new Map<object, Repetitions>(
    [...OF_CALLS, ...OF_RECONCILES].map((rule) => {
      const measureMs = RARE.has(rule) ? 0 : MEASURE_MS;
      return [rule, new Repetitions({ ...rule, measureMs })];
    }),
  );
  #previous = new Map<string, ReconcileSummary>();
  #answered = new WeakSet<CauseEvent>();
  #conflicts = new Conflicts();
  #managers: Map<string, true>;

  constructor(managers = new Map<string, true>()) {
    this.#managers = managers;
  }

  /** The same without what was counted until now. */
  anew(): Warnings {
    return new Warnings(this.#managers);
  }

  /** A name by which managedFields know the controller: each build has its own, and none of them is somebody else. */
  writesAs(manager: string): void {
    keepNewest(this.#managers, MOST_MANAGERS, manager, true);
  }

  /** `controller`: whose reconcile made it, if that is known. */
  called(call: CallSummary, controller: string | undefined): Told<'warning'>[] {
    const of = JSON.stringify([ofCall(call, controller), call.resource]);
    const refused = this.#conflicts.called(of, call);
    const seen = { call, controller, answered: this.#answered, isOthers: this.#isOthers, refused };
    return OF_CALLS.flatMap((rule) => this.#apply(rule, seen, call));
  }

  reconciled(reconcile: ReconcileSummary): Told<'warning'>[] {
    const { controller, kind, namespace, name } = reconcile;
    const key = JSON.stringify([controller, kind, namespace, name]);
    const seen = { reconcile, isOthers: this.#isOthers, previous: this.#previous.get(key) };
    keepNewest(this.#previous, MOST, key, reconcile);
    return OF_RECONCILES.flatMap((rule) => this.#apply(rule, seen, reconcile));
  }

  #isOthers: IsOthers = ({ isOwn, by }) => !isOwn && by !== undefined && !this.#managers.has(by);

  #apply<Seen, Values>(
    rule: Rule<Seen, Values>,
    seen: Seen,
    { at: time, id, build }: Pick<CallSummary, 'at' | 'id' | 'build'>,
  ): Told<'warning'>[] {
    const at = Date.parse(time);
    return rule.signs(seen).flatMap(({ subject, about = '', fields = [], values }) => {
      // Whether a new build still does it is worth knowing.
      const whom = JSON.stringify([subject, build]);
      const repeated = this.#repetitions
        .get(rule)!
        .add({ subject: whom, about: JSON.stringify([whom, about]), at, details: fields });
      if (repeated === undefined) return [];
      const { times, seconds, details } = repeated;
      const named = [...details].map(([field, count]) => ({ field, times: count }));
      const most = named.sort((one, other) => other.times - one.times).slice(0, MOST_FIELDS);
      return [rule.warning({ ...subject, ...values, last: id, times, seconds }, most)];
    });
  }
}

/** Server-side apply is made to be repeated whenever something has happened. */
function isNeedless({ verb, isUnchanged }: ReconcileCall, after: CauseEvent[] = []): boolean {
  return isUnchanged === true && (verb !== 'apply' || after.length === 0);
}

/** Nothing for a call that names no object. */
function ofCall({ kind, resource = '', namespace, name }: ReconcileCall, controller?: string): Subject[] {
  if (name === undefined) return [];
  const object = objectName({ kind: kind ?? resource.split('/')[0]!, namespace, name });
  return [{ ...(controller ? { controller } : {}), object }];
}

/** A reconcile that changes something, and that only the changes of the one before it can have caused. */
function wokeItself({ reconcile, previous }: SeenReconcile): Sign<object>[] {
  const { controller, after, calls } = reconcile;
  const isAfterOwn = after.length > 0 && after.every(({ isOwn }) => isOwn);
  if (!isAfterOwn || !calls.some(hasWritten) || !canOnlyBeWoken(reconcile, previous)) return [];
  const object = reconciledObject(reconcile);
  const fields = after.flatMap((event) => {
    const changed = objectName(event);
    const of = describe(changed) === describe(object) ? '' : `${describe(changed)} `;
    return fieldsOf(event).map((field) => `${of}${field}`);
  });
  return [{ subject: { controller, object }, fields, values: {} }];
}

/** Neither a retry after an error nor a timer of the one before it. */
function canOnlyBeWoken({ at }: ReconcileSummary, previous: ReconcileSummary | undefined): boolean {
  if (previous === undefined || !['success', 'requeue_after'].includes(previous.result)) return false;
  const idleMs = Date.parse(at) - Date.parse(previous.at) - previous.ms;
  return idleMs < Math.min(SOON_MS, previous.requeueAfterMs ?? SOON_MS);
}

/** A write that follows the event of the one before at once, and nobody else's: the fields of that. */
function followsItself({ call, controller }: SeenCall): Sign<object>[] {
  const [own, ...others] = call.after ?? [];
  if (!own?.isOwn || call.reconcile !== undefined || !hasWritten(call)) return [];
  const since = Date.parse(call.at) - SOON_MS;
  if (others.some((event) => Date.parse(event.at) > since)) return [];
  return ofCall(call, controller).map((subject) => ({ subject, fields: fieldsOf(own), values: {} }));
}

/** The fields that somebody else has changed before the reconcile, and that it has changed after that. */
function putBack({ reconcile, isOthers }: SeenReconcile): Sign<{ by: string }>[] {
  const { controller, after, calls } = reconcile;
  return putBackBy(calls, after.filter(isOthers), controller).map(({ event: _, ...sign }) => sign);
}

function putBackBy(
  calls: ReconcileCall[],
  after: CauseEvent[],
  controller: string | undefined,
): (Sign<{ by: string }> & { event: CauseEvent })[] {
  return after.flatMap((event) => {
    const { by = '' } = event;
    const object = objectName(event);
    const own = calls.filter((call) => hasWritten(call) && isOf(call, object)).flatMap(fieldsOf);
    const both = fieldsOf(event).filter((field) => own.includes(field));
    const subject = { ...(controller ? { controller } : {}), object };
    return both.map((field) => ({ event, subject, about: `${by} ${field}`, fields: both, values: { by } }));
  });
}

function hasWritten({ code, isUnchanged }: Pick<ReconcileCall, 'code' | 'isUnchanged'>): boolean {
  return code !== undefined && code < 400 && !isUnchanged;
}

function isOf({ kind, namespace, name }: ReconcileCall, object: ObjectName): boolean {
  return kind === object.kind && name === object.name && (namespace ?? '') === (object.namespace ?? '');
}

/** `spec.replicas` of `~spec.replicas=2` */
function fieldsOf({ changes = [] }: { changes?: string[] }): string[] {
  return changes.map((one) => /^.((?:[^=[]|\[[^\]]*\])*)/.exec(one)![1]!);
}

function reconciledObject({ controller, kind, namespace, name }: ReconcileSummary): ObjectName {
  return objectName({ kind: kind ?? controller, namespace, name });
}

function objectName({
  kind,
  namespace,
  name,
}: {
  kind: string;
  namespace?: string | undefined;
  name: string;
}): ObjectName {
  return { kind, ...(namespace ? { namespace } : {}), name };
}
