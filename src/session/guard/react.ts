import { ApiError } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { patchSeen } from '../../cluster/marks/change.ts';
import { type FieldChange, markedPatch, type OwnChange } from '../../cluster/marks/marks.ts';
import { changesAfter } from '../../cluster/marks/observe.ts';
import type { Work } from '../../cluster/work.ts';
import type { DevloopError } from '../../errors.ts';
import { fought, gone, restoredElsewhere, takenBy } from './causes.ts';
import { hasUndo, type Judgement, judge } from './judge.ts';

/** An object that the session changes. */
export interface Guarded {
  ref: ObjectRef;
  own: OwnChange;
  /** What has to follow when the object itself is written again: the endpoints of a Service. */
  again?: () => Promise<void>;
  /** Has the gateways answer the reviews of what is written here, until it is disposed. */
  answerOwn?: () => Disposable | undefined;
  /** The session goes on where the object is gone, and where somebody else does not give in. */
  isOptional?: true;
  /** Sees every version of the object. */
  onObject?: (object: KubeObject) => void;
}

/** What the guard remembers of one object. */
export interface Memory {
  /** What this session changed, as it was when its mark appeared. What the mark says later may be somebody else's. */
  changes: FieldChange[] | undefined;
  /** The same after a write whose answer may have been lost. */
  sent?: FieldChange[];
  /** When it was written again, and when that was tried: within the last minute, on the clock of performance.now(). */
  writes: number[];
  tries: number[];
  /** The object was written again, but not what has to follow. */
  isHalfDone: boolean;
}

/** After so many writes within a minute, somebody else will not give in. */
const MOST_WRITES = 5;
/** A try fails when somebody writes in between, often a controller to the status. */
const MOST_TRIES = 25;
const ROUNDS_MS = 60_000;

/** Deals with one version of an object; returns why the session has to end, if it has to. */
export async function react(
  work: Work,
  guarded: Guarded,
  memory: Memory,
  object: KubeObject | undefined,
): Promise<DevloopError | undefined> {
  const { ref, own } = guarded;
  if (object !== undefined && memory.sent !== undefined && hasUndo(object, own, memory.sent))
    memory.changes = memory.sent;
  const judgement = judge(object, { sessionId: work.sessionId, own, changes: memory.changes });
  switch (judgement.is) {
    case 'intact':
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

type Overwriting = Extract<Judgement, { is: 'overwritten' }> & { object: KubeObject };

/** Writes the object again, or gives up after some rounds. */
async function resist(
  work: Work,
  guarded: Guarded,
  memory: Memory,
  { object, fields, observed }: Overwriting,
): Promise<DevloopError | undefined> {
  const { ref, own } = guarded;
  const { api, sessionId, emit } = work;
  const now = performance.now();
  memory.writes = memory.writes.filter((at) => now - at < ROUNDS_MS);
  memory.tries = memory.tries.filter((at) => now - at < ROUNDS_MS);
  if (memory.writes.length >= MOST_WRITES || memory.tries.length >= MOST_TRIES)
    return await fought(api, ref, object, fields[0]!);
  memory.tries.push(now);
  const changes = changesAfter(memory.changes!, observed);
  const patch = markedPatch(object, sessionId, changes, own.store);
  memory.sent = changes;
  memory.isHalfDone = true;
  using _answering = guarded.answerOwn?.();
  // Whoever wrote in between is seen next.
  if (!(await unlessConflict(patchSeen(api, ref, object, patch)))) return undefined;
  memory.writes.push(performance.now());
  memory.changes = changes;
  for (const { path, ours, now: theirs, by } of fields)
    emit({
      type: 'guard.overwritten',
      object: ref,
      field: path.join('.'),
      from: JSON.stringify(ours ?? null),
      to: JSON.stringify(theirs ?? null),
      by: by ?? NOBODY,
    });
  emit({ type: 'change', action: 'update', object: ref, detail: 'as devloop had left it' });
  return await followUp(guarded, memory);
}

/** Nothing is recorded. */
export const NOBODY = { manager: 'unknown', operation: '' };

async function followUp({ again, answerOwn }: Guarded, memory: Memory): Promise<undefined> {
  if (!memory.isHalfDone) return;
  using _answering = answerOwn?.();
  await again?.();
  memory.isHalfDone = false;
}

async function unlessConflict<T>(writing: Promise<T>): Promise<T | undefined> {
  try {
    return await writing;
  } catch (error) {
    if (error instanceof ApiError && error.isConflict) return undefined;
    throw error;
  }
}
