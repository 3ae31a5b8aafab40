import { describe } from '../../report/object-name.ts';
import type { ClusterApi } from '../api/client.ts';
import { GarbledAnswer, isNotFound, undefinedIfForbidden } from '../api/errors.ts';
import {
  isWorkload,
  type Kind,
  kindInfo,
  type ObjectRef,
  refOf,
  WEBHOOK_KINDS,
  WORKLOAD_KINDS,
} from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Workload } from '../api/workloads.ts';
import { sessionOf } from '../marks/marks.ts';
import { isOurs, relaySecretRef, SESSION_LABEL } from '../names.ts';
import { leasedBy } from './lease.ts';
import { PAUSES } from './pause/strategies.ts';
import { standInRef } from './stand-in.ts';

/** Kinds that can carry a mark. */
const MARKED_KINDS: Kind[] = [
  ...new Set<Kind>(PAUSES.map(({ kind }) => kind)),
  'Service',
  'Endpoints',
  'EndpointSlice',
  'Pod',
  ...WEBHOOK_KINDS,
  'Lease',
];

const RELAY_KINDS = new Set<Kind>(['Pod', 'Secret']);

/** Requests only the metadata of objects, since their contents are not needed here. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const ONE_METADATA_ONLY = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

export interface MarkedObject {
  ref: ObjectRef;
  sessionId: string;
  object: KubeObject;
}

export interface SearchResult {
  marked: MarkedObject[];
  /** What the account is not allowed to list. */
  unseen: UnseenKind[];
  /** The only namespaces that were searched; absent if the whole cluster was. */
  only?: string[];
  /** Set if the account is not allowed to list anything. */
  blind?: true;
}

export interface UnseenKind {
  kind: Kind;
  /** If absent, the whole cluster is meant. */
  namespace?: string;
}

/** The resources with the names that kubectl lists. */
export function resourcesOf(unseen: UnseenKind[]): { resource: string; namespace?: string }[] {
  return unseen.map(({ kind, ...where }) => ({ resource: kindInfo(kind).plural, ...where }));
}

/**
 * Finds everything in the cluster that carries the mark of one session, or of any session. If the account is not allowed to list the whole
 * cluster, only the given namespaces are searched. Finding all Secrets takes a second round of calls, so a caller that only looks for
 * sessions (`secrets: false`) gets only the Secrets of the given namespaces. It needs those, because a session that was killed before it
 * created the relay's Pod may have left nothing else.
 */
export async function findMarked(
  api: ClusterApi,
  namespaces: string[],
  { sessionId, secrets = true }: { sessionId?: string; secrets?: boolean } = {},
): Promise<SearchResult> {
  const list = lister(api, sessionId);
  const secretsIn = async (places: Iterable<string>, sessions: Iterable<string>): Promise<MarkedObject[]> => {
    const found = [...places].map((namespace) => relaySecrets(api, list, namespace, sessions));
    return (await Promise.all(found)).flat();
  };
  // If the session is known, the names of its Secrets are known, too, so they are looked up at the same time.
  const known = sessionId === undefined ? [] : [sessionId];
  const atOnce = new Set(secrets && sessionId === undefined ? [] : namespaces);
  const [all, first] = await Promise.all([
    Promise.all(MARKED_KINDS.map((kind) => everywhere(list, kind, namespaces))),
    secretsIn(atOnce, known),
  ]);
  const unseen = all.flatMap((one) => one.unseen);
  const listed = all.flatMap((one) => one.marked);
  const marked = [...listed, ...(await hiddenStandIns(api, listed, unseen))];
  const isBlind = all.every((one) => one.unseen.length === (one.only?.length ?? 1));
  const limits = {
    ...(all.some(({ only }) => only !== undefined) ? { only: namespaces } : {}),
    ...(isBlind ? { blind: true as const } : {}),
  };
  if (!secrets) return { marked: [...marked, ...first], unseen, ...limits };
  const sessions = new Set([...marked.map((one) => one.sessionId), ...known]);
  const places = new Set([...namespaces, ...marked.flatMap(({ ref }) => ref.namespace ?? [])]);
  const others = await secretsIn(
    [...places].filter((place) => !atOnce.has(place)),
    sessions,
  );
  return { marked: [...marked, ...first, ...others], unseen, ...limits };
}

/** Resolves to undefined if listing is forbidden. */
type List = (kind: Kind, namespace: string | undefined) => Promise<MarkedObject[] | undefined>;

function lister(api: ClusterApi, sessionId: string | undefined): List {
  const labelSelector = sessionId === undefined ? SESSION_LABEL : `${SESSION_LABEL}=${sessionId}`;
  return async (kind, namespace) => {
    const accept = RELAY_KINDS.has(kind) ? { accept: METADATA_ONLY } : {};
    const options = { query: { labelSelector }, ...accept };
    const listed = api.list<KubeObject>(kind, namespace, options).catch(unlessMissing);
    const objects = await listed.catch(undefinedIfForbidden);
    return objects
      ?.map((object) => ({ ref: refOf(kind, object.metadata), sessionId: sessionOf(object)!, object }))
      .filter((one) => !isEnding(one) && isOurs(one.ref, one.object, one.sessionId));
  };
}

async function everywhere(list: List, kind: Kind, namespaces: string[]): Promise<SearchResult> {
  const all = await list(kind, undefined);
  if (all !== undefined) return { marked: all, unseen: [] };
  if (!kindInfo(kind).namespaced) return { marked: [], unseen: [{ kind }] };
  const found = await Promise.all(namespaces.map((namespace) => list(kind, namespace)));
  const unseen = namespaces.filter((_, index) => found[index] === undefined);
  return {
    marked: found.flatMap((one) => one ?? []),
    unseen: unseen.map((namespace) => ({ kind, namespace })),
    only: namespaces,
  };
}

/**
 * The relay's Secret is in the namespace of its Pod, its Service and its Lease, so no permission on the Secrets of the whole cluster is
 * needed. If Secrets cannot be listed at all, they are read by name: a session that was killed may have left a Secret without a Pod.
 */
async function relaySecrets(
  api: ClusterApi,
  list: List,
  namespace: string,
  sessions: Iterable<string>,
): Promise<MarkedObject[]> {
  const listed = await list('Secret', namespace);
  if (listed !== undefined) return listed;
  const refs = [...sessions].map((sessionId) => ({ ref: relaySecretRef(namespace, sessionId), sessionId }));
  return await readMarked(api, refs);
}

/** If Pods cannot be listed, a stand-in is read by its name, which follows from its manager's name. */
async function hiddenStandIns(
  api: ClusterApi,
  marked: MarkedObject[],
  unseen: UnseenKind[],
): Promise<MarkedObject[]> {
  const hidden = unseen.filter(({ kind }) => kind === 'Pod').map(({ namespace }) => namespace);
  const standIns = marked.flatMap((one) => {
    const { ref, sessionId, object } = one;
    const manager = isWorkload(ref.kind) ? ref : leasedBy(one, [...WORKLOAD_KINDS]);
    if (manager === undefined || !hidden.includes(manager.namespace)) return [];
    return [{ ref: standInRef({ ref: manager, object: object as Workload }, sessionId), sessionId }];
  });
  // A manager with both a mark and a Lease is in the list twice; the Map keeps one of them.
  return await readMarked(api, new Map(standIns.map((one) => [describe(one.ref), one])).values());
}

/** Reads these objects, and returns those that exist and have their session's label. */
async function readMarked(
  api: ClusterApi,
  refs: Iterable<{ ref: ObjectRef; sessionId: string }>,
): Promise<MarkedObject[]> {
  const read = [...refs].map(async ({ ref, sessionId }): Promise<MarkedObject[]> => {
    const object = await api.get<KubeObject>(ref, { accept: ONE_METADATA_ONLY }).catch(undefinedIfForbidden);
    const isIts = object !== undefined && sessionOf(object) === sessionId;
    return isIts && !isEnding({ ref, object, sessionId }) ? [{ ref, sessionId, object }] : [];
  });
  return (await Promise.all(read)).flat();
}

/**
 * Whether a Pod or a relay's Secret is already being deleted: a relay's Pod takes seconds to terminate, and there is nothing left to do.
 */
function isEnding({ ref, object }: MarkedObject): boolean {
  return RELAY_KINDS.has(ref.kind) && object.metadata.deletionTimestamp !== undefined;
}

/** Every API server has these kinds, so a 404 comes from a proxy in front of it that cannot reach it. */
function unlessMissing(error: unknown): never {
  if (isNotFound(error)) throw new GarbledAnswer(`"${error.message}"`);
  throw error;
}
