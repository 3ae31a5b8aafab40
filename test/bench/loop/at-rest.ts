import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../../cluster/cluster.ts';
import { eventually } from '../../support/eventually.ts';

/**
 * kube-proxy acts on a change at once only if there was none in the second before. The kubelet ends a Pod that became ready a moment ago up
 * to two seconds later than any other Pod.
 */
const REST_MS = 3_000;

/** Waits for the state in which `up` and a rollout both begin: one Pod has run for a while, and kube-proxy has nothing to do. */
export async function atRest(cluster: TestCluster, namespace: string): Promise<void> {
  await eventually(async () => {
    const pods = await cluster.kubectl(['-n', namespace, 'get', 'pods', '-o', 'name']);
    if (pods.trim().split('\n').length > 1) throw new Error(`a Pod is still ending:\n${pods}`);
  });
  await sleep(REST_MS);
}
