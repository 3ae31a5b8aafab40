import { backOff, sleep } from '../../async.ts';
import { ApiError } from '../../cluster/api/errors.ts';
import { describe, type ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { type Permission, permissionsOn } from '../../cluster/api/permissions.ts';
import { watchObjects } from '../../cluster/api/watch.ts';
import { patchSeen } from '../../cluster/marks/change.ts';
import { type FieldChange, markedPatch, type OwnChange, sessionOf } from '../../cluster/marks/marks.ts';
import { changesAfter } from '../../cluster/marks/observe.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import type { Work } from '../../cluster/work.ts';
import { type DevloopError, messageOf } from '../../errors.ts';
import { fought, gone, restoredElsewhere, takenBy } from './causes.ts';
import { type Judgement, judge } from './judge.ts';
import { type Newest, newest } from './newest.ts';

/** An object that the session changes. */
export interface Guarded {
  ref: ObjectRef;
  own: OwnChange;
  /** What has to follow when the object itself is written again: the endpoints of a Service. */
  again?: () => Promise<void>;
  /** Sees every version of the object. */
  onObject?: (object: KubeObject) => void;
}

/** After so many writes within a minute, somebody else will not give in. */
const MOST_WRITES = 5;
/** Of which most were too late, because somebody wrote in between. */
const MOST_TRIES = 25;
const ROUNDS_MS = 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

const OVERWRITES = {
  why: 'notice what others change',
  without: 'devloop does not notice when somebody overwrites its changes',
};

export function guardPermissions(objects: ObjectRef[]): Permission[] {
  return objects.flatMap(({ kind, namespace = '' }) =>
    permissionsOn(kind, 'watch', { namespace, ...OVERWRITES }),
  );
}

/**
 * Watches the objects that the session changes. What somebody else overwrites is written again; `end` is called where they do not
 * give in, and where an object is gone. Disposing waits for a write that is under way, and never rejects.
 */
export function startGuard(work: Work, objects: Guarded[], end: (error: unknown) => void): AsyncDisposable {
  const ending = new AbortController();
  const guard = { ...work, signal: AbortSignal.any([work.signal, ending.signal]) };
  const guarding = objects.map((guarded) => guardOne(guard, guarded, end).catch(end));
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.allSettled(guarding);
    },
  };
}

/** What the guard remembers of one object. */
interface Memory {
  states: Newest<KubeObject | undefined>;
  /** What this session changed, as it was when its mark appeared. What the mark says later may be somebody else's. */
  changes: FieldChange[] | undefined;
  /** When it was written again, and when that was tried: within the last minute, on the clock of performance.now(). */
  writes: number[];
  tries: number[];
  /** The object was written again, but not what has to follow. */
  isHalfDone: boolean;
}

async function guardOne(work: Work, guarded: Guarded, end: (error: DevloopError) => void): Promise<void> {
  const { ref, onObject } = guarded;
  const { api, emit, signal, sessionId } = work;
  const memory: Memory = { states: newest(), changes: undefined, writes: [], tries: [], isHalfDone: false };
  const onObjects = ([object]: KubeObject[]): void => {
    if (object !== undefined) {
      memory.changes ??= changesIn(object, guarded, sessionId);
      onObject?.(object);
    }
    memory.states.put(object);
  };
  const watching = watchObjects(api, ref, { signal, onObjects });
  const reporting = watching.catch((error) => emit({ type: 'warning', message: notWatched(ref, error) }));
  let failures = 0;
  for (let state = await memory.states.next(signal); state; state = await memory.states.next(signal)) {
    // After a write that did not last, each next one is later.
    await sleep(pauseMs(memory), signal);
    state = memory.states.take() ?? state;
    if (signal.aborted) break;
    try {
      const cause = await react(work, guarded, memory, state.value);
      if (cause !== undefined) end(cause);
      failures = 0;
    } catch (error) {
      if (failures === 0) emit({ type: 'warning', message: notWritten(ref, error) });
      await sleep(backOff(failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), signal);
      memory.states.put((memory.states.take() ?? state).value);
    }
  }
  await reporting;
}

function changesIn(object: KubeObject, { own }: Guarded, sessionId: string): FieldChange[] | undefined {
  if (sessionOf(object) !== sessionId) return undefined;
  const changes = undoOf(object, own);
  return 'fault' in changes ? undefined : changes;
}

function notWatched(ref: ObjectRef, error: unknown): string {
  return `devloop does not notice when somebody overwrites its changes to ${describe(ref)}: ${messageOf(error)}`;
}

function notWritten(ref: ObjectRef, error: unknown): string {
  return `${describe(ref)} could not be written again: ${messageOf(error)} devloop keeps trying.`;
}

function pauseMs({ writes }: Memory): number {
  const last = writes.at(-1);
  if (last === undefined) return 0;
  const elapsedMs = performance.now() - last;
  return Math.max(0, backOff(writes.length - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS) - elapsedMs);
}

/** Deals with one version of an object; returns why the session has to end, if it has to. */
async function react(
  work: Work,
  guarded: Guarded,
  memory: Memory,
  object: KubeObject | undefined,
): Promise<DevloopError | undefined> {
  const { ref, own } = guarded;
  const judgement = judge(object, { sessionId: work.sessionId, own, changes: memory.changes });
  switch (judgement.is) {
    case 'intact':
      return await followUp(guarded, memory);
    case 'gone':
      return await gone(work.api, ref);
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
  // Whoever wrote in between is seen next.
  if (!(await unlessConflict(patchSeen(api, ref, object, patch)))) return undefined;
  memory.writes.push(performance.now());
  memory.changes = changes;
  memory.isHalfDone = true;
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

async function followUp({ again }: Guarded, memory: Memory): Promise<undefined> {
  if (memory.isHalfDone) await again?.();
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
