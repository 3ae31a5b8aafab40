import { backOff, sleep } from '../../async.ts';
import { describe } from '../../report/object-name.ts';
import { type ClusterApi, itemsOf } from './client.ts';
import { ApiError, isForbidden } from './errors.ts';
import { collectionPath, type Kind, refOf } from './kinds.ts';
import type { KubeObject, List } from './objects.ts';
import { askedPauseMs } from './while-away.ts';

/** One object, or all objects of a kind; without a namespace, those of the whole cluster. */
export interface Scope {
  kind: Kind;
  namespace?: string;
  name?: string;
  /** Only objects with these labels: `app=shop`. */
  labelSelector?: string;
}

export interface ListWatch<T> {
  signal: AbortSignal;
  /** Receives all objects, first after the list and then after each change. */
  onObjects(objects: T[]): void;
  /** The part of an object to remember; by default all of it. */
  keep?: (object: T) => T;
  /** The accepted format of objects; `METADATA_ONLY` leaves out their contents. */
  accept?: string;
}

/** After this time the API server ends a watch, and the next one continues where it ended. */
const WATCH_SECONDS = 300;
/** The API server sends a bookmark about once a minute; without one for this long, the connection counts as dead. */
const SILENCE_MS = 100_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** Replacing a RoleBinding removes its permissions for a moment, so a refusal counts only once it has lasted this long. */
const FORBIDDEN_MS = 60_000;

/**
 * Follows objects with one list and one watch until the signal aborts. A watch that ends continues at its last version; after an error, or
 * if that version is too old (410), the objects are listed again. Rejects only if listing or watching is forbidden: immediately at the
 * start, later only once that has lasted for a minute.
 */
export async function watchObjects<T extends KubeObject>(
  api: Pick<ClusterApi, 'call' | 'openStream'>,
  scope: Scope,
  watching: ListWatch<T>,
): Promise<void> {
  const { signal } = watching;
  let known: KnownObjects<T> | undefined;
  // A proxy can end each watch as soon as it is open, so only an event shows that a watch works.
  let pauses = 0;
  const onEvent = (): void => {
    pauses = 0;
  };
  let forbiddenSince: number | undefined = Number.NEGATIVE_INFINITY;
  const onOpen = (): void => {
    forbiddenSince = undefined;
  };
  while (!signal.aborted) {
    let askedMs = 0;
    try {
      known ??= await listAll(api, scope, watching);
      await follow(api, scope, { ...watching, onOpen, onEvent }, known);
    } catch (error) {
      if (signal.aborted) return;
      if (isForbidden(error)) {
        forbiddenSince ??= performance.now();
        if (performance.now() - forbiddenSince >= FORBIDDEN_MS) throw error;
      }
      known = undefined;
      askedMs = askedPauseMs(error);
    }
    await sleep(Math.max(backOff(pauses++, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), askedMs), signal);
  }
}

/** The objects by name, and the resourceVersion at which they were read. */
interface KnownObjects<T> {
  objects: Map<string, T>;
  resourceVersion: string;
}

async function listAll<T extends KubeObject>(
  api: Pick<ClusterApi, 'call'>,
  scope: Scope,
  { signal, accept, onObjects, keep = same }: ListWatch<T>,
): Promise<KnownObjects<T>> {
  const asList = accept?.replace('PartialObjectMetadata', 'PartialObjectMetadataList');
  const objects = new Map<string, T>();
  let list: List<T>;
  let next: string | undefined;
  do {
    list = await api.call<List<T>>('GET', pathOf(scope), undefined, {
      signal,
      query: { ...queryOf(scope), limit: PAGE, ...(next ? { continue: next } : {}) },
      ...(asList === undefined ? {} : { accept: asList }),
    });
    for (const object of itemsOf(list, scope.kind)) objects.set(nameOf(scope, object), keep(object));
    next = list.metadata?.continue;
  } while (next);
  onObjects([...objects.values()]);
  return { objects, resourceVersion: list.metadata?.resourceVersion ?? '' };
}

/** Lists are read in pages, because a big cluster has tens of megabytes of CRDs. */
const PAGE = '100';

function same<T>(object: T): T {
  return object;
}

/** Requests only the metadata of objects, without their contents. */
export const METADATA_ONLY = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

/** Follows one watch to its end, and updates `known`. */
async function follow<T extends KubeObject>(
  api: Pick<ClusterApi, 'openStream'>,
  scope: Scope,
  {
    signal,
    accept,
    onObjects,
    onOpen,
    onEvent,
    keep = same,
  }: ListWatch<T> & { onOpen(): void; onEvent(): void },
  known: KnownObjects<T>,
): Promise<void> {
  const stream = await api.openStream(pathOf(scope), {
    signal,
    silenceMs: SILENCE_MS,
    ...(accept === undefined ? {} : { accept }),
    query: {
      ...queryOf(scope),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: known.resourceVersion,
      timeoutSeconds: String(WATCH_SECONDS),
    },
  });
  onOpen();
  for await (const line of linesOf(stream)) {
    const { type, object } = JSON.parse(line) as WatchEvent<T>;
    if (type === 'ERROR') throw watchError(object);
    onEvent();
    known.resourceVersion = object.metadata.resourceVersion ?? known.resourceVersion;
    if (type === 'BOOKMARK') continue;
    if (type === 'DELETED') known.objects.delete(nameOf(scope, object));
    else known.objects.set(nameOf(scope, object), keep(object));
    onObjects([...known.objects.values()]);
  }
}

function watchError(status: unknown): ApiError {
  const {
    message = '',
    code = 0,
    reason = '',
  } = status as {
    message?: string;
    code?: number;
    reason?: string;
  };
  return new ApiError(message, code, reason);
}

async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}

function pathOf({ kind, namespace }: Scope): string {
  return collectionPath(kind, namespace);
}

function queryOf({ name, labelSelector }: Scope): Record<string, string> {
  return {
    ...(name === undefined ? {} : { fieldSelector: `metadata.name=${name}` }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  };
}

function nameOf({ kind }: Scope, { metadata }: KubeObject): string {
  return describe(refOf(kind, metadata));
}
