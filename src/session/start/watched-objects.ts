import { isDeepStrictEqual } from 'node:util';
import { sleep } from '../../async.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { ConfigMap, KubeObject, Secret } from '../../cluster/api/objects.ts';
import { watchObjects } from '../../cluster/api/watch.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import type { ConfigurationSource } from '../../operator/configuration.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';

type Contents = KubeObject & Pick<Secret & ConfigMap, 'data' | 'binaryData'>;

interface Watched {
  source: ConfigurationSource;
  ending: AbortController;
  listed: Promise<void>;
  /** The last copy; absent before the object exists. */
  object?: Contents | undefined;
  isGone: boolean;
}

/** Each has a connection of its own to the API server. */
const MOST_WATCHED = 20;

/** The last copies of ConfigMaps and Secrets that are watched until the signal aborts. */
export class WatchedObjects {
  /** Reads the watched objects from these copies, also after they were deleted. */
  readonly api: ClusterApi;
  readonly #work: Work;
  readonly #watched = new Map<string, Watched>();
  readonly #changed = new Map<string, ObjectRef>();
  #waiting = new AbortController();

  constructor(work: Work) {
    this.#work = work;
    const { api } = work;
    const get: ClusterApi['get'] = async (ref, options) =>
      (this.#watched.get(describe(ref))?.object as never) ?? api.get(ref, options);
    this.api = { ...api, get };
  }

  /** Watches these objects, and no others any more. Resolves when each has been read once, or cannot be. */
  async watch(sources: ConfigurationSource[]): Promise<void> {
    const now = new Map(sources.slice(0, MOST_WATCHED).map((one) => [describe(one.ref), one]));
    for (const [key, { ending }] of this.#watched) {
      if (now.has(key)) continue;
      ending.abort();
      this.#watched.delete(key);
    }
    for (const [key, source] of now) {
      const known = this.#watched.get(key);
      if (known) known.source = source;
      else this.#watched.set(key, this.#begin(source));
    }
    await Promise.all([...this.#watched.values()].map(({ listed }) => listed));
  }

  /** Waits at most `ms` until an object changes. */
  async next(ms: number): Promise<void> {
    if (!this.isChanged) await sleep(ms, AbortSignal.any([this.#work.signal, this.#waiting.signal]));
    this.#waiting = new AbortController();
  }

  /** Whether an object has changed since the last `take`. */
  get isChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** The objects that have changed since the last call. */
  take(): ObjectRef[] {
    const all = [...this.#changed.values()];
    this.#changed.clear();
    return all;
  }

  put(refs: ObjectRef[]): void {
    for (const ref of refs) this.#changed.set(describe(ref), ref);
    this.#waiting.abort();
  }

  #begin(source: ConfigurationSource): Watched {
    const { api, emit, signal } = this.#work;
    const ending = new AbortController();
    const { promise: listed, resolve } = Promise.withResolvers<void>();
    const watched: Watched = { source, ending, listed, isGone: false };
    const watching = watchObjects<Contents>(api, source.ref, {
      signal: AbortSignal.any([signal, ending.signal]),
      onObjects: ([object]) => {
        this.#seen(watched, object);
        resolve();
      },
    });
    const values = { object: source.ref };
    void watching
      .catch((error) => emit(notice('configuration.not-watched', { ...values, cause: messageOf(error) })))
      .then(resolve);
    return watched;
  }

  #seen(watched: Watched, object: Contents | undefined): void {
    const { source, isGone, object: before } = watched;
    watched.isGone = object === undefined && before !== undefined;
    if (watched.isGone && !source.isOptional) {
      if (!isGone) this.#work.emit(notice('configuration.deleted', { object: source.ref }));
      return;
    }
    watched.object = object;
    if (!isDeepStrictEqual(contentsOf(before), contentsOf(object))) this.put([source.ref]);
  }
}

/** What a container sees of an object. */
function contentsOf(object: Contents | undefined) {
  return object && [object.data ?? {}, object.binaryData ?? {}];
}
