import type { ClusterApi } from './api.ts';
import { ApiError } from './api-errors.ts';
import { SESSION_LABEL, sessionOf } from './marks.ts';
import type { KubeObject } from './objects.ts';
import { type Kind, kindInfo, type ObjectRef, refOf } from './resources.ts';

/** Kinds that can carry a mark. */
const MARKED_KINDS: Kind[] = [
  'Deployment',
  'Service',
  'Endpoints',
  'EndpointSlice',
  'ValidatingWebhookConfiguration',
  'Lease',
];

export interface Marked {
  ref: ObjectRef;
  session: string;
  object: KubeObject;
}

/**
 * Everything in the cluster that carries a mark; of one session, or of all. Where listing the whole cluster is forbidden, the
 * given namespaces are searched, and what could not be searched is returned, so that nobody takes silence for a clean cluster.
 */
export async function findMarked(
  api: ClusterApi,
  namespaces: string[],
  session?: string,
): Promise<{ marked: Marked[]; unseen: string[] }> {
  const selector = session === undefined ? SESSION_LABEL : `${SESSION_LABEL}=${session}`;
  const unseen: string[] = [];
  const list = async (kind: Kind, namespace: string | undefined): Promise<Marked[]> => {
    const objects = await api.list<KubeObject>(kind, namespace, { query: { labelSelector: selector } });
    return objects.map((object) => ({
      ref: refOf(kind, object.metadata),
      session: sessionOf(object)!,
      object,
    }));
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
  return { marked, unseen };
}
