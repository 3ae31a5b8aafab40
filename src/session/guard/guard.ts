import { backOff, sleep } from '../../async.ts';
import { describe, type ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { type Permission, permissionsOn } from '../../cluster/api/permissions.ts';
import { watchObjects } from '../../cluster/api/watch.ts';
import { type FieldChange, sessionOf } from '../../cluster/marks/marks.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import type { Work } from '../../cluster/work.ts';
import { type DevloopError, messageOf } from '../../errors.ts';
import { type Guarded, type Memory, react } from './react.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

const OVERWRITES = {
  why: 'notice what others change',
  without: 'devloop does not notice when somebody overwrites its changes',
};

export function guardPermissions(objects: ObjectRef[]): Permission[] {
  return objects.flatMap(({ kind, namespace }) =>
    permissionsOn(kind, 'watch', { ...(namespace === undefined ? {} : { namespace }), ...OVERWRITES }),
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

async function guardOne(work: Work, guarded: Guarded, end: (error: DevloopError) => void): Promise<void> {
  const { ref, onObject, isOptional } = guarded;
  const { api, emit, signal, sessionId } = work;
  const states = newest<KubeObject | undefined>();
  const memory: Memory = { changes: undefined, writes: [], tries: [], isHalfDone: false };
  const onObjects = ([object]: KubeObject[]): void => {
    if (object !== undefined) {
      memory.changes ??= changesIn(object, guarded, sessionId);
      onObject?.(object);
    }
    states.put(object);
  };
  const watching = watchObjects(api, ref, { signal, onObjects });
  const reporting = watching.catch((error) => emit({ type: 'warning', message: notWatched(ref, error) }));
  let failures = 0;
  for (let state = await states.next(signal); state; state = await states.next(signal)) {
    // After a write that did not last, each next one is later.
    await sleep(pauseMs(memory), signal);
    state = states.take() ?? state;
    if (signal.aborted) break;
    try {
      const cause = await react(work, guarded, memory, state.value);
      if (cause !== undefined && isOptional && cause.code === 'session.overwritten') {
        emit({ type: 'warning', message: cause.message });
        break;
      }
      if (cause !== undefined) end(cause);
      failures = 0;
    } catch (error) {
      if (failures === 0) emit({ type: 'warning', message: notWritten(ref, error) });
      await sleep(backOff(failures++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), signal);
      states.put((states.take() ?? state).value);
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

/** Hands over the newest value only: what comes while the reader is busy replaces what came before it. */
interface Newest<T> {
  put(value: T): void;
  /** The newest value that was not taken yet, without waiting. */
  take(): { value: T } | undefined;
  /** The same, waiting for one; undefined once the signal has aborted. */
  next(signal: AbortSignal): Promise<{ value: T } | undefined>;
}

function newest<T>(): Newest<T> {
  let waiting: { value: T } | undefined;
  let wake = (): void => {};
  const take = (): { value: T } | undefined => {
    const taken = waiting;
    waiting = undefined;
    return taken;
  };
  return {
    take,
    put(value) {
      waiting = { value };
      wake();
    },
    async next(signal) {
      while (waiting === undefined && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wake = () => {
            signal.removeEventListener('abort', wake);
            resolve();
          };
          signal.addEventListener('abort', wake, { once: true });
        });
      }
      return signal.aborted ? undefined : take();
    },
  };
}
