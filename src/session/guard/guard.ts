import { sleep } from '../../async.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { type Scope, watchObjects } from '../../cluster/api/watch.ts';
import type { Work } from '../../cluster/work.ts';
import { type DevloopError, messageOf } from '../../errors.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { pauseMs, type Rounds, retryMs } from './rounds.ts';

/** An object that others may change while the session runs, or all objects of a scope. */
export interface GuardedScope {
  /** Names it in messages; for a scope, the name ends with `*`. */
  ref: ObjectRef;
  /** By default the one object. */
  scope?: Scope;
  rounds: Rounds;
  /** Set if the session continues even when somebody else keeps overwriting the object. */
  isOptional?: true;
  /** Called for every version of the object, whereas `react` is not called for a version if a newer one arrives first. */
  onObject?(object: KubeObject): void;
  /** Deals with one version of the object, or of all objects of the scope. If the session has to end, returns the reason. */
  react(work: Work, objects: KubeObject[]): Promise<DevloopError | undefined>;
}

/**
 * Watches objects of the session. What somebody else overwrites is written again; `end` is called if they keep overwriting it, or if an
 * object is gone that the session cannot create. Disposing waits for a write that is under way, and never rejects.
 */
export function startGuard(
  work: Work,
  objects: GuardedScope[],
  end: (error: unknown) => void,
): AsyncDisposable {
  const ending = new AbortController();
  const guard = { ...work, signal: AbortSignal.any([work.signal, ending.signal]) };
  const guarding = objects.map((watched) => guardOne(guard, watched, end).catch(end));
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.allSettled(guarding);
    },
  };
}

async function guardOne(
  work: Work,
  watched: GuardedScope,
  end: (error: DevloopError) => void,
): Promise<void> {
  const { ref, scope = ref, rounds, isOptional } = watched;
  const { api, emit, signal } = work;
  const states = newest<KubeObject[]>();
  const onObjects = (objects: KubeObject[]): void => {
    for (const object of objects) watched.onObject?.(object);
    states.put(objects);
  };
  const watching = watchObjects(api, scope, { signal, onObjects });
  const reporting = watching.catch((error) =>
    emit(notice('guard.not-watched', { object: ref, cause: messageOf(error) })),
  );
  let failures = 0;
  for (let state = await states.next(signal); state; state = await states.next(signal)) {
    // The more writes were overwritten, the longer the next one waits.
    await sleep(pauseMs(rounds), signal);
    state = states.take() ?? state;
    if (signal.aborted) break;
    try {
      const cause = await watched.react(work, state.value);
      if (cause !== undefined && isOptional && cause.code === 'session.overwritten') {
        emit(notice('guard.gave-up', { object: ref, error: cause.code, cause: cause.message }));
        break;
      }
      if (cause !== undefined) end(cause);
      failures = 0;
    } catch (error) {
      if (failures === 0) emit(notice('guard.not-written', { object: ref, cause: messageOf(error) }));
      await sleep(retryMs(failures++), signal);
      states.put((states.take() ?? state).value);
    }
  }
  await reporting;
}

/** Hands over only the newest value: while the reader is busy, each new value replaces the one that waits. */
interface Newest<T> {
  put(value: T): void;
  /** The newest value that was not taken yet, without waiting. */
  take(): { value: T } | undefined;
  /** Like `take`, but waits for a value; undefined once the signal has aborted. */
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
