import { createHash } from 'node:crypto';
import type { KubeObject } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { established } from './cluster-waits.ts';

const MANAGER = 'olm.install';
const HASH = 'olm.deployment-spec-hash';
const CSVS = 'clusterserviceversions.operators.coreos.com';

interface Csv extends KubeObject {
  spec: { install: { spec: { deployments: { name: string; spec: object }[] } } };
}

export interface OlmStandIn extends AsyncDisposable {
  /** How often it has installed the Deployment since it started. */
  installs(): number;
}

/**
 * Does with one Deployment what OLM 0.42 does (pkg/controller/install): it compares the hash of the ClusterServiceVersion's spec with
 * the one that it wrote to the Deployment's label, and looks whether the Deployment is available. When it is not, twice in a row, or
 * when the hash differs, it writes the Deployment and its Service anew. The real OLM is not here.
 */
export async function startOlm(
  cluster: TestCluster,
  deployment: Workload & { apiVersion: string; kind: string },
  service: object,
): Promise<OlmStandIn> {
  const { name, namespace = '' } = deployment.metadata;
  await cluster.apply([definition()], MANAGER);
  await established(cluster, CSVS);
  const version = { apiVersion: 'operators.coreos.com/v1alpha1', kind: 'ClusterServiceVersion' };
  const install = { strategy: 'deployment', spec: { deployments: [{ name, spec: deployment.spec }] } };
  await cluster.apply(
    [{ ...version, metadata: { name: 'hooks.v1', namespace }, spec: { install } }],
    MANAGER,
  );
  const read = async (): Promise<{ csv: Csv; now: Workload | undefined }> => ({
    csv: (await cluster.read(
      `/apis/operators.coreos.com/v1alpha1/namespaces/${namespace}/clusterserviceversions/hooks.v1`,
    )) as Csv,
    now: (await cluster
      .read(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`)
      .catch(() => undefined)) as Workload | undefined,
  });
  let installs = 0;
  let failed = false;
  const sync = async (): Promise<void> => {
    const { csv, now } = await read();
    const { spec } = csv.spec.install.spec.deployments[0]!;
    const hash = createHash('sha256').update(JSON.stringify(spec)).digest('hex').slice(0, 16);
    const isChanged = now?.metadata.labels?.[HASH] !== hash;
    const isUnhealthy = now === undefined || !isAvailable(now);
    if (isChanged || (isUnhealthy && failed)) {
      installs++;
      const owner = { ...version, name: 'hooks.v1', uid: csv.metadata.uid };
      const labels = { ...deployment.metadata.labels, [HASH]: hash };
      const metadata = { ...deployment.metadata, labels, ownerReferences: [owner] };
      await cluster.apply([{ ...deployment, metadata, spec }, service], MANAGER);
    }
    failed = isUnhealthy;
  };
  await sync();
  const ending = new AbortController();
  const syncing = (async () => {
    while (!ending.signal.aborted) {
      await sync();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  return {
    installs: () => installs,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await syncing;
    },
  };
}

/** Judged as OLM's DeploymentStatus does it. */
function isAvailable({ metadata, spec, status }: Workload): boolean {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return false;
  if ((status?.updatedReplicas ?? 0) < (spec.replicas ?? 1)) return false;
  return status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True') ?? false;
}

function definition(): object {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: CSVS },
    spec: {
      group: 'operators.coreos.com',
      names: { kind: 'ClusterServiceVersion', plural: 'clusterserviceversions' },
      scope: 'Namespaced',
      versions: [{ name: 'v1alpha1', served: true, storage: true, schema }],
    },
  };
}
