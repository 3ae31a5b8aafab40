import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { patchSeen } from '../../cluster/marks/change.ts';
import { type FieldChange, markedPatch, type OwnChange, sessionOf } from '../../cluster/marks/marks.ts';
import { changesAfter } from '../../cluster/marks/observe.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import type { Work } from '../../cluster/work.ts';
import type { DevloopError } from '../../errors.ts';
import { fought, gone, restoredElsewhere, takenBy } from './causes.ts';
import type { GuardedScope } from './guard.ts';
import { hasUndo, type Judgement, judge, type OverwrittenField } from './judge.ts';
import { type Callable, noticeObstacle } from './obstacles.ts';
import { isFight, noRounds, type Rounds, wroteFirst } from './rounds.ts';

/** An object that the session changes. */
export interface GuardedObject {
  ref: ObjectRef;
  own: OwnChange;
  /** Called after the object itself was written again: writes the endpoints of a Service again. */
  again?: () => Promise<void>;
  /** Set if the session continues even when the object is gone, or when somebody else keeps overwriting it. */
  isOptional?: true;
  /** Called for every version of the object. */
  onObject?: (object: KubeObject) => void;
}

/** What the guard remembers of one object. */
export interface Memory extends Rounds, Callable {
  /** What this session changed, according to its mark when that was first seen. A later mark may be somebody else's. */
  changes: FieldChange[] | undefined;
  /** The changes of a write whose answer may have been lost. */
  sent?: FieldChange[];
  /** Whether the object was written again, but `again` has not run yet. */
  isHalfDone: boolean;
}

/** The object in the form that the guard watches. */
export function watchedObject(guarded: GuardedObject, sessionId: string): GuardedScope {
  const { ref, own, isOptional, onObject } = guarded;
  const memory: Memory = { changes: undefined, ...noRounds(), isHalfDone: false };
  return {
    ref,
    isOptional,
    rounds: memory,
    onObject(object) {
      memory.changes ??= changesIn(object, own, sessionId);
      onObject?.(object);
    },
    react: (work, [object]) => react(work, guarded, memory, object),
  };
}

function changesIn(object: KubeObject, own: OwnChange, sessionId: string): FieldChange[] | undefined {
  if (sessionOf(object) !== sessionId) return undefined;
  const changes = undoOf(object, own);
  return 'fault' in changes ? undefined : changes;
}

/** Deals with one version of an object. If the session has to end, returns the reason. */
export async function react(
  work: Work,
  guarded: GuardedObject,
  memory: Memory,
  object: KubeObject | undefined,
): Promise<DevloopError | undefined> {
  const { ref, own } = guarded;
  if (object !== undefined && memory.sent !== undefined && hasUndo(object, own, memory.sent))
    memory.changes = memory.sent;
  const judgement = judge(object, { sessionId: work.sessionId, own, changes: memory.changes });
  switch (judgement.is) {
    case 'intact':
      if (ref.kind === 'Service' && object !== undefined && memory.changes !== undefined)
        noticeObstacle(work, memory, object);
      return await followUp(guarded, memory);
    case 'gone':
      // Some managers delete their webhook configurations when they stop, and create them again.
      return guarded.isOptional ? undefined : await gone(work.api, ref);
    case 'restored':
      return restoredElsewhere(ref);
    case 'taken':
      return takenBy(ref, judgement.by);
    case 'overwritten':
      return await resist(work, guarded, memory, { ...judgement, object: object! });
    default:
      return judgement satisfies never;
  }
}

type OverwrittenJudgement = Extract<Judgement, { is: 'overwritten' }> & { object: KubeObject };

/** Writes the object again, or gives up after some rounds. */
async function resist(
  work: Work,
  guarded: GuardedObject,
  memory: Memory,
  { object, fields, observed }: OverwrittenJudgement,
): Promise<DevloopError | undefined> {
  const { ref, own } = guarded;
  const { api, sessionId, emit } = work;
  if (isFight(memory)) return await fought(api, ref, object, fields[0]!);
  const changes = asStored(own, changesAfter(memory.changes!, observed));
  const patch = markedPatch(object, sessionId, changes, own.store);
  memory.sent = changes;
  memory.isHalfDone = true;
  if (!(await wroteFirst(memory, () => patchSeen(api, ref, object, patch)))) return undefined;
  memory.changes = changes;
  reportOverwritten(work, ref, fields);
  emit({ type: 'change', action: 'update', object: ref, detail: 'as devloop had left it' });
  return await followUp(guarded, memory);
}

/** The changes as the mark can store them: a label has room only for the ids of owners. */
function asStored({ store }: OwnChange, fields: FieldChange[]): FieldChange[] {
  return store.read(store.write({ v: 1, fields }))?.fields ?? fields;
}

export function reportOverwritten({ emit }: Work, object: ObjectRef, fields: OverwrittenField[]): void {
  for (const { path, ours, now, by = NOBODY } of fields) {
    const [from, to] = [ours, now].map((value) => JSON.stringify(value ?? null)) as [string, string];
    emit({ type: 'guard.overwritten', object, field: path.join('.'), from, to, by });
  }
}

/** The writer that is shown if none is recorded. */
export const NOBODY = { manager: 'unknown', operation: '' };

async function followUp({ again }: GuardedObject, memory: Memory): Promise<undefined> {
  if (!memory.isHalfDone) return;
  await again?.();
  memory.isHalfDone = false;
}
