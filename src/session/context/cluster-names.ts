import { type ClusterApi, connect } from '../../cluster/api/client.ts';
import type { Kind } from '../../cluster/api/kinds.ts';
import { loadKubeconfig } from '../../cluster/api/kubeconfig.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { NAMESPACE, OBJECT_NAME } from '../../config/forms.ts';
import type { Io } from './options.ts';
import { loadSettings } from './settings.ts';

/** What somebody has typed before and at the cursor. */
export interface Asked {
  /** What is there of the word. */
  typed: string;
  /** The values of the options before it, by their long names. */
  given: Partial<Record<string, string>>;
  io: Pick<Io, 'env' | 'cwd' | 'signal'>;
}

/** The names of namespaces. Rejects if the cluster does not answer. */
export async function namespaceNames(asked: Asked): Promise<string[]> {
  await using cluster = await clusterOf(asked);
  return namesOf(await cluster.list('Namespace', undefined), true);
}

/**
 * The names of objects of these kinds, with their namespaces; if a namespace is set and `isShort`, without. Kinds that cannot be listed are
 * left out.
 */
export async function objectNames(kinds: Kind[], asked: Asked, isShort = true): Promise<string[]> {
  await using cluster = await clusterOf(asked);
  const [first = '', ...rest] = asked.typed.split('/');
  const set = isShort ? cluster.namespace : undefined;
  const inside = rest.length > 0 ? first : set;
  if (inside !== undefined && !NAMESPACE.fits(inside)) return [];
  const lists = kinds.map((kind) => cluster.list(kind, inside).catch(() => []));
  return namesOf((await Promise.all(lists)).flat(), rest.length === 0 && set !== undefined);
}

interface Cluster extends AsyncDisposable {
  /** The namespace that is set. */
  namespace: string | undefined;
  list(kind: Kind, inside: string | undefined): Promise<KubeObject[]>;
}

async function clusterOf({ given, io }: Asked): Promise<Cluster> {
  const { context, namespace, kubeconfig } = given;
  const flags = { ...(context && { context }), ...(namespace && { namespace }) };
  const { settings } = await loadSettings(flags, { ...io, emit() {} }, 'optional');
  const choice = { context: settings.context.value, ...(kubeconfig && { kubeconfig }) };
  const selected = await loadKubeconfig(choice, io.env, io.cwd);
  // A login takes longer than anybody waits here, may open a browser, and must not be cut off while it renews its tokens.
  if (selected.user.exec || selected.user.authProvider) throw new Error('needs a login');
  const api = await connect(selected);
  return {
    namespace: settings.namespace.value,
    async list(kind, inside) {
      const found = listed(api, kind, inside, io.signal);
      // Somebody who is not allowed to see all namespaces may see that of the context.
      if (kind === 'Namespace' || inside !== undefined) return await found;
      return await found.catch(() => listed(api, kind, api.namespace, io.signal));
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  };
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const MOST = '500';

async function listed(
  api: ClusterApi,
  kind: Kind,
  inside: string | undefined,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  return await api.list(kind, inside, { query: { limit: MOST }, accept: METADATA_ONLY, signal });
}

/** Only names as Kubernetes allows them: whatever answers at that address could send anything else. */
function namesOf(objects: KubeObject[], isShort: boolean): string[] {
  return objects
    .map(({ metadata: { name, namespace } }) => (isShort ? name : `${namespace}/${name}`))
    .filter((name) => OBJECT_NAME.fits(name));
}
