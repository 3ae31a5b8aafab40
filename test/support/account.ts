import type { TestCluster } from '../cluster/cluster.ts';

export interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/** A user of the cluster who may do just that, everywhere. Returns the path of a kubeconfig. */
export async function account(
  cluster: Pick<TestCluster, 'kubectl' | 'kubeconfigFor'>,
  name: string,
  rules: Rule[],
): Promise<string> {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  };
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(role) });
  await cluster.kubectl(['create', 'clusterrolebinding', name, `--clusterrole=${name}`, `--user=${name}`]);
  return await cluster.kubeconfigFor(name);
}
