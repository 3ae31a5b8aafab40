import type { ApiCall } from '../api-proxy/api-call.ts';
import type { KubeObject } from '../cluster/api/objects.ts';
import { latest } from '../cluster/marks/observe.ts';
import type { PathStep } from '../config/json-path.ts';
import type { CauseEvent } from '../report/call.ts';
import type { PatchOperation } from '../reviews/patch.ts';
import { differences, inWords } from './changes.ts';
import { managedFieldsOf, ownersOf } from './own-changes.ts';
import { isOfSecrets, withoutSecrets } from './redacted.ts';
import { jsonIn, objectIn, type Versions } from './versions.ts';

/** An object that is older than this when its watch names it for the first time was there before the watch. */
const NEW_MS = 10_000;
const WORDS = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const;

export interface WatchedEvent {
  object: KubeObject;
  event: CauseEvent;
}

/** What passed in a watch. */
export interface PassedEvent {
  type: unknown;
  /** As it was sent: an object, or the status of an error. */
  object: unknown;
}

/** What an event of a watch says; undefined for one that nothing happened with. */
export function watchedEvent(
  { passed, at, call }: { passed: PassedEvent; at: number; call: ApiCall },
  { versions, paths }: { versions: Versions; paths: PathStep[][] },
): WatchedEvent | undefined {
  const object = objectIn(passed.object);
  const what = WORDS[passed.type as keyof typeof WORDS];
  if (object === undefined || what === undefined) return undefined;
  const before = what === 'deleted' ? undefined : versions.add({ of: call.resource, object, at });
  // The answer to a call can have passed before, with the same version.
  const other = before && versions.besides({ of: call.resource, object });
  const { metadata } = object;
  const isOld = Date.now() - Date.parse(metadata.creationTimestamp ?? '') > NEW_MS;
  // A watch that begins again names all objects.
  if (what === 'created' && (before !== undefined || isOld)) return undefined;
  const changed = other && differences(other, object);
  // What is under status is written by those who report, after somebody else has asked for something.
  const asked = changed?.find(({ path }) => !/^\/(?:status|metadata)\//.test(path)) ?? changed?.[0];
  // Nothing in an object says who has deleted it.
  const by = what === 'deleted' ? undefined : nameOfWriter(object, asked);
  const shown = changed?.length ? withoutSecrets(object, isOfSecrets(call), paths) : undefined;
  return {
    object,
    event: {
      ...{ at: new Date(at).toISOString(), kind: object.kind!, name: metadata.name, what },
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      ...(by === undefined ? {} : { by }),
      ...(changed && inWords(changed, shown)),
    },
  };
}

/** Who wrote the changed field, or an object without one, as far as managedFields say: of some fields, such as the node of a Pod, they do not. */
function nameOfWriter(object: KubeObject, change: PatchOperation | undefined): string | undefined {
  const writers = change && change.op !== 'remove' ? ownersOf(object, change.path) : managedFieldsOf(object);
  return latest(writers)?.manager;
}

/** The event in a line of a watch. Never throws. */
export function passedEvent(line: Buffer): PassedEvent {
  const { type, object } = (jsonIn(line) ?? {}) as Partial<PassedEvent>;
  return { type, object };
}
