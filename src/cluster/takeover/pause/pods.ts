import type { ClusterApi } from '../../api/client.ts';
import { labelQuery } from '../../api/labels.ts';
import { ownsPod } from '../../api/ownership.ts';
import type { Pod } from '../../api/workloads.ts';
import { SESSION_LABEL } from '../../names.ts';
import type { Manager } from './pause.ts';

/** The manager's Pods, also those whose containers have ended. */
export async function allPodsOf(api: ClusterApi, manager: Manager): Promise<Pod[]> {
  const { metadata, spec } = manager.object;
  const query = { labelSelector: labelQuery(spec.selector.matchLabels ?? {}) };
  const pods = await api.list<Pod>('Pod', metadata.namespace, { query });
  return pods.filter((pod) => isPodOf(pod, manager));
}

/** The manager's Pods that have not ended. */
export async function podsOf(api: ClusterApi, manager: Manager): Promise<Pod[]> {
  return (await allPodsOf(api, manager)).filter(isUp);
}

/** Whether a Pod has not ended. */
export function isUp({ status }: Pod): boolean {
  return !['Succeeded', 'Failed'].includes(status?.phase ?? '');
}

/** The manager's Pods that are not terminating. */
export async function runningPods(api: ClusterApi, manager: Manager): Promise<Pod[]> {
  const pods = await podsOf(api, manager);
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

export function isPodOf({ metadata }: Pod, { ref }: Manager): boolean {
  // Only devloop's own Pods, such as the stand-in, have this label.
  if (metadata.labels?.[SESSION_LABEL] !== undefined) return false;
  return ref.kind === 'Pod' || ownsPod(ref, metadata);
}
