/** The waits of `kubectl wait` and `kubectl rollout status`, without starting a process for each. */
import type { TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';

type Readable = Pick<TestCluster, 'read'>;
export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet';

const LIMIT_MS = 120_000;

interface Conditioned {
  status?: { conditions?: { type: string; status: string }[] };
}

/** Fails if the object at the path does not get this condition in time. */
export async function condition(cluster: Readable, path: string, type: string): Promise<void> {
  await eventually(async () => {
    const { status } = (await cluster.read(path)) as Conditioned;
    if (!status?.conditions?.some((one) => one.type === type && one.status === 'True'))
      throw new Error(`${path} is not ${type}: ${JSON.stringify(status)}`);
  }, LIMIT_MS);
}

/** Waits until the CRD with this name is served. */
export function established(cluster: Readable, crd: string): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}`;
  return condition(cluster, path, 'Established');
}

interface Counted {
  metadata: { generation: number };
  spec: { replicas?: number };
  status: Record<string, number | undefined>;
}

/** Waits until all Pods of the workload are of its latest template and ready, and no other Pod is left. `name`: namespace/name. */
export async function rolledOut(cluster: Readable, kind: WorkloadKind, name: string): Promise<void> {
  const [namespace, own] = name.split('/');
  const path = `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${own}`;
  await eventually(async () => {
    const { metadata, spec, status } = (await cluster.read(path)) as Counted;
    const { observedGeneration = 0, replicas = 0 } = status;
    const wanted = kind === 'DaemonSet' ? status.desiredNumberScheduled : (spec.replicas ?? 1);
    const counts =
      kind === 'DaemonSet'
        ? [status.updatedNumberScheduled, status.numberAvailable]
        : [replicas, status.updatedReplicas, status.availableReplicas];
    if (observedGeneration < metadata.generation || counts.some((count = 0) => count !== wanted))
      throw new Error(`${kind} ${name} is not rolled out: ${JSON.stringify(status)}`);
  }, LIMIT_MS);
}
