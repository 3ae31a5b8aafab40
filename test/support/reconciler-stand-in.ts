import type { Service } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import { PAUSE_IMAGE } from '../cluster/build.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { rolledOut } from './cluster-waits.ts';

/** The name of its program, and so the one by which managedFields calls it. */
const WRITER = 'pause';
const LOOK_EVERY_MS = 100;

export interface ReconcilerStandIn extends AsyncDisposable {
  /** How often it has written the Service. */
  writes(): number;
}

/**
 * A Deployment, and what the program of its Pod would do: as long as the Deployment has a Pod, it gives the Service its selector back, as
 * operators do that create their own webhook server. The Pod itself does nothing.
 */
export async function startReconciler(
  cluster: TestCluster,
  namespace: string,
  service: string,
): Promise<ReconcilerStandIn> {
  const { selector, ports } = (await read(`/api/v1/namespaces/${namespace}/services/${service}`)).spec;
  const wanted = { ...objectOf('v1', 'Service', service), spec: { selector, ports } };
  const labels = { app: 'reconciler' };
  const container = { name: 'reconciler', image: PAUSE_IMAGE, command: [`/${WRITER}`] };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  await cluster.apply([{ ...objectOf('apps/v1', 'Deployment', 'reconciler'), spec }]);
  await rolledOut(cluster, 'Deployment', `${namespace}/reconciler`);
  let writes = 0;
  const write = async (): Promise<void> => {
    writes++;
    await cluster.apply([wanted], WRITER);
  };
  await write();
  const ending = new AbortController();
  const reconciling = (async () => {
    while (!ending.signal.aborted) {
      const { status } = (await cluster.read(
        `/apis/apps/v1/namespaces/${namespace}/deployments/reconciler`,
      )) as Workload;
      const now = (await read(`/api/v1/namespaces/${namespace}/services/${service}`)).spec.selector;
      const runs = ((status as { replicas?: number } | undefined)?.replicas ?? 0) > 0;
      if (runs && JSON.stringify(now) !== JSON.stringify(selector)) await write();
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  })();
  return {
    writes: () => writes,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await reconciling;
      await cluster.call('DELETE', `/apis/apps/v1/namespaces/${namespace}/deployments/reconciler`);
    },
  };

  async function read(path: string): Promise<Service> {
    return (await cluster.read(path)) as Service;
  }

  function objectOf(apiVersion: string, kind: string, name: string): object {
    return { apiVersion, kind, metadata: { name, namespace } };
  }
}
