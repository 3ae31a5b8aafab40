import type { ClusterApi } from '../../cluster/api/client.ts';
import { isForbidden, noneIfForbidden } from '../../cluster/api/errors.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { similarNames } from '../../similar.ts';
import type { CommandContext } from './context.ts';

type NamespaceContext = Pick<CommandContext, 'api' | 'wanted'>;

/**
 * The result of work in the namespaces that the user named. Checks at the same time that these exist. If one does not, the error is
 * `target.not-found`, whatever else failed because of that.
 */
export async function inNamedNamespaces<T>(context: NamespaceContext, work: Promise<T>): Promise<T> {
  // Awaited below; until then its failure must not count as unhandled.
  work.catch(() => {});
  await Promise.all(namedNamespaces(context).map((name) => requireNamespace(context.api, name)));
  return await work;
}

/** The namespace that the user named, alone or in the name of an object: `shop` in `shop/webhook`. */
export function namespaceOf(wanted: CommandContext['wanted']): string | undefined {
  return namedNamespaces({ wanted })[0];
}

function namedNamespaces({
  wanted: { namespace, services, deployment },
}: Pick<NamespaceContext, 'wanted'>): string[] {
  const objects = deployment === undefined ? services : [...services, deployment];
  const named = objects.filter((name) => name.includes('/')).map((name) => name.slice(0, name.indexOf('/')));
  return [...new Set(namespace === undefined ? named : [namespace, ...named])];
}

/**
 * Whether the namespace may exist. True if the account is not allowed to read namespaces: the errors of other calls then show which
 * permissions are missing.
 */
export async function mayExist(api: ClusterApi, name: string): Promise<boolean> {
  try {
    return (await api.get<KubeObject>({ kind: 'Namespace', name })) !== undefined;
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}

async function requireNamespace(api: ClusterApi, name: string): Promise<void> {
  if (await mayExist(api, name)) return;
  const all = await api.list<KubeObject>('Namespace', undefined).catch(noneIfForbidden);
  const names = all.map(({ metadata }) => metadata.name);
  const similar = similarNames(name, names).map((one) => `${AGAIN} -n ${shellWord(one)}`);
  throw new DevloopError(
    'target.not-found',
    `Namespace ${name} does not exist in the cluster of context ${api.context}.`,
    { hint: similar.join('\n') || 'kubectl get namespaces' },
  );
}
