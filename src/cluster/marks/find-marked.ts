import type { ClusterApi } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { type Kind, kindInfo, type ObjectRef, refOf } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { isRelayObject, relaySecretRef } from '../relay/manifest.ts';
import { isOurEndpoints, isOurSlice } from '../takeover/endpoints.ts';
import { isLeaseOf, LEASED_KINDS } from '../takeover/lease.ts';
import { isProbe } from '../takeover/probe.ts';
import { SESSION_LABEL, sessionOf } from './marks.ts';

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
  session: string;
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
  session?: string,
  options: { secrets: boolean } = { secrets: true },
): Promise<{ marked: Marked[]; unseen: string[] }> {
  const selector = session === undefined ? SESSION_LABEL : `${SESSION_LABEL}=${session}`;
  const unseen: string[] = [];
  const list = async (kind: Kind, namespace: string | undefined): Promise<Marked[]> => {
    const objects = await api.list<KubeObject>(kind, namespace, {
      query: { labelSelector: selector },
      ...(RELAY_KINDS.has(kind) ? { accept: METADATA_ONLY } : {}),
    });
    const found = objects.map((object) => ({
      ref: refOf(kind, object.metadata),
      session: sessionOf(object)!,
      object,
    }));
    return found.filter(isOurs);
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
  if (!options.secrets) return { marked, unseen };
  const sessions = new Set(marked.map((one) => one.session));
  if (session !== undefined) sessions.add(session);
  const named = async (namespace: string): Promise<Marked[]> =>
    (await Promise.all([...sessions].map((one) => relaySecret(api, namespace, one)))).flat();
  return { marked: [...marked, ...(await relaySecrets(list, named, marked, namespaces))], unseen };
}

/** Whether it carries the label because of the session, and not because a controller or a person copied it. */
function isOurs({ ref, session, object }: Marked): boolean {
  if (ref.kind === 'EndpointSlice') return isOurSlice(object);
  if (ref.kind === 'Endpoints') return isOurEndpoints(object);
  if (ref.kind === 'ValidatingWebhookConfiguration') return isProbe(ref, session);
  if (ref.kind === 'Lease') return LEASED_KINDS.some((kind) => isLeaseOf(ref, kind));
  // A Pod that is told to end needs seconds for it, and nobody has to do anything about it any more.
  if (RELAY_KINDS.has(ref.kind))
    return isRelayObject(ref, session) && object.metadata.deletionTimestamp === undefined;
  return true;
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
async function relaySecret(api: ClusterApi, namespace: string, session: string): Promise<Marked[]> {
  const ref = relaySecretRef({ session, namespace });
  try {
    const object = await api.get<KubeObject>(ref, { accept: ONE_METADATA_ONLY });
    return object !== undefined && sessionOf(object) === session ? [{ ref, session, object }] : [];
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return [];
    throw error;
  }
}
