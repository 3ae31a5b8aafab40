import type { ClusterApi } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { type Kind, kindInfo, type ObjectRef, refOf } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { isOurs, relaySecretRef, SESSION_LABEL } from '../names.ts';
import { sessionOf } from './marks.ts';

/** Kinds that can carry a mark. */
const MARKED_KINDS: Kind[] = [
  'Deployment',
  'Service',
  'Endpoints',
  'EndpointSlice',
  'Pod',
  'ValidatingWebhookConfiguration',
  'Lease',
];

const RELAY_KINDS = new Set<Kind>(['Pod', 'Secret']);

/** Names and labels without the contents, which nobody needs to see here. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const ONE_METADATA_ONLY = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

export interface Marked {
  ref: ObjectRef;
  sessionId: string;
  object: KubeObject;
}

/**
 * Everything in the cluster that carries a mark; of one session, or of all. Where listing the whole cluster is forbidden, the
 * given namespaces are searched, and what could not be searched is returned, so that nobody takes silence for a clean cluster.
 * Secrets cost another round of calls, and never stand alone: a Lease or a Pod of their session stands beside them.
 */
export async function findMarked(
  api: ClusterApi,
  namespaces: string[],
  { sessionId, secrets = true }: { sessionId?: string; secrets?: boolean } = {},
): Promise<{ marked: Marked[]; unseen: string[] }> {
  const selector = sessionId === undefined ? SESSION_LABEL : `${SESSION_LABEL}=${sessionId}`;
  const unseen: string[] = [];
  const list = async (kind: Kind, namespace: string | undefined): Promise<Marked[]> => {
    const objects = await api.list<KubeObject>(kind, namespace, {
      query: { labelSelector: selector },
      ...(RELAY_KINDS.has(kind) ? { accept: METADATA_ONLY } : {}),
    });
    const found = objects.map((object) => ({
      ref: refOf(kind, object.metadata),
      sessionId: sessionOf(object)!,
      object,
    }));
    return found.filter(isAlive).filter((one) => isOurs(one.ref, one.object, one.sessionId));
  };
  const everywhere = async (kind: Kind): Promise<Marked[]> => {
    try {
      return await list(kind, undefined);
    } catch (error) {
      if (!(error instanceof ApiError && error.isForbidden)) throw error;
    }
    if (!kindInfo(kind).namespaced) {
      unseen.push(kind);
      return [];
    }
    return (await Promise.all(namespaces.map((namespace) => inNamespace(kind, namespace)))).flat();
  };
  const inNamespace = async (kind: Kind, namespace: string): Promise<Marked[]> => {
    try {
      return await list(kind, namespace);
    } catch (error) {
      if (!(error instanceof ApiError && error.isForbidden)) throw error;
      unseen.push(`${kind} in ${namespace}`);
      return [];
    }
  };
  const marked = (await Promise.all(MARKED_KINDS.map(everywhere))).flat();
  if (!secrets) return { marked, unseen };
  const sessions = new Set(marked.map((one) => one.sessionId));
  if (sessionId !== undefined) sessions.add(sessionId);
  const named = async (namespace: string): Promise<Marked[]> =>
    (await Promise.all([...sessions].map((one) => relaySecret(api, namespace, one)))).flat();
  return { marked: [...marked, ...(await relaySecrets(list, named, marked, namespaces))], unseen };
}

/** A relay's Pod takes seconds to terminate, and there is nothing left to do about it. */
function isAlive({ ref, object }: Marked): boolean {
  return !RELAY_KINDS.has(ref.kind) || object.metadata.deletionTimestamp === undefined;
}

/**
 * A relay's Secret lies beside its Pod, its Service and its Lease, so that nobody has to be allowed to read the Secrets of the
 * whole cluster. Where even a namespace's may not be listed, which no command needs, its name tells: a session that was killed
 * may have left the Secret without a Pod.
 */
async function relaySecrets(
  list: (kind: Kind, namespace: string) => Promise<Marked[]>,
  named: (namespace: string) => Promise<Marked[]>,
  marked: Marked[],
  namespaces: string[],
): Promise<Marked[]> {
  const beside = marked.flatMap(({ ref }) => ref.namespace ?? []);
  const places = [...new Set([...namespaces, ...beside])];
  const found = places.map((namespace) =>
    list('Secret', namespace).catch((error): Promise<Marked[]> => {
      if (error instanceof ApiError && error.isForbidden) return named(namespace);
      throw error;
    }),
  );
  return (await Promise.all(found)).flat();
}

/** The Secret of one session, by its name; none where it may not be read. */
async function relaySecret(api: ClusterApi, namespace: string, sessionId: string): Promise<Marked[]> {
  const ref = relaySecretRef(namespace, sessionId);
  try {
    const object = await api.get<KubeObject>(ref, { accept: ONE_METADATA_ONLY });
    return object !== undefined && sessionOf(object) === sessionId ? [{ ref, sessionId, object }] : [];
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return [];
    throw error;
  }
}
