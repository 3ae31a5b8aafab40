import type { TestCluster } from '../cluster/cluster.ts';

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const GROUP = 'rbac.authorization.k8s.io';
const apiVersion = `${GROUP}/v1`;

/** Creates a user who is allowed to do just this, in the whole cluster. Returns the path of a kubeconfig. */
export async function account(
  cluster: Pick<TestCluster, 'apply' | 'kubeconfigFor'>,
  name: string,
  rules: Rule[],
): Promise<string> {
  await cluster.apply(roleFor(name, rules));
  return await cluster.kubeconfigFor(name);
}

/** The objects that allow a user to do this, in one namespace or everywhere. */
export function roleFor(user: string, rules: Rule[], namespace?: string) {
  const [role, metadata] =
    namespace === undefined ? ['ClusterRole', { name: user }] : ['Role', { name: user, namespace }];
  const roleRef = { apiGroup: GROUP, kind: role, name: user };
  const subjects = [{ apiGroup: GROUP, kind: 'User', name: user }];
  return [
    { apiVersion, kind: role, metadata, rules },
    { apiVersion, kind: `${role}Binding`, metadata, roleRef, subjects },
  ];
}
