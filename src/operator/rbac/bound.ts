import type { ClusterApi } from '../../cluster/api/client.ts';
import type { KubeObject } from '../../cluster/api/objects.ts';
import { type ServiceAccountName, usernameOf } from '../../cluster/api/service-account.ts';
import type { Grant } from '../manifests/granting.ts';
import type { PolicyRule } from '../manifests/rules.ts';

/** The rules that an account has in the cluster. */
export interface ClusterGrant extends Grant {
  /** Whether the account itself is bound, and not a group that it belongs to. */
  isOwn: boolean;
}

interface Subject {
  kind?: string;
  name?: string;
  namespace?: string;
}

interface Binding extends KubeObject {
  subjects?: Subject[] | null;
  roleRef: { kind: string; name: string };
}

interface Role extends KubeObject {
  rules?: PolicyRule[] | null;
}

/**
 * What RBAC grants an account in the whole cluster, as bindings and roles are now. The rules of an aggregated ClusterRole are in it. Throws the
 * API server's refusal if one of them cannot be read.
 */
export async function clusterGrants(api: ClusterApi, account: ServiceAccountName): Promise<ClusterGrant[]> {
  const [everywhere, inNamespaces] = await Promise.all([
    api.list<Binding>('ClusterRoleBinding', undefined),
    api.list<Binding>('RoleBinding', undefined),
  ]);
  const bound = [...everywhere, ...inNamespaces].flatMap((binding) => {
    const how = boundBy(binding, account);
    return how === undefined ? [] : [{ binding, isOwn: how === 'itself' }];
  });
  const read = new Map<string, Promise<Role | undefined>>();
  const granted = bound.map(async ({ binding, isOwn }): Promise<ClusterGrant[]> => {
    const { namespace } = binding.metadata;
    const { name } = binding.roleRef;
    const kind = binding.roleRef.kind === 'Role' ? 'Role' : 'ClusterRole';
    const role = { kind, name, ...(kind === 'Role' && namespace ? { namespace } : {}) } as const;
    const key = JSON.stringify(role);
    const reading = read.get(key) ?? api.get<Role>(role);
    read.set(key, reading);
    const found = await reading;
    // A binding can name a role that does not exist.
    if (found === undefined) return [];
    return [{ role, isOwn, rules: found.rules ?? [], ...(namespace ? { namespace } : {}) }];
  });
  return (await Promise.all(granted)).flat();
}

/** Undefined if the binding is about others. */
function boundBy(
  { subjects, metadata }: Binding,
  account: ServiceAccountName,
): 'itself' | 'its group' | undefined {
  const { namespace, name } = account;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const isItself = (one: Subject): boolean =>
    one.kind === 'User'
      ? one.name === usernameOf(account)
      : one.kind === 'ServiceAccount' &&
        one.name === name &&
        (one.namespace || metadata.namespace) === namespace;
  const all = subjects ?? [];
  if (all.some(isItself)) return 'itself';
  return all.some((one) => one.kind === 'Group' && groups.includes(one.name ?? '')) ? 'its group' : undefined;
}
