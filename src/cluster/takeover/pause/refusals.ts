import type { ClusterApi } from '../../api/client.ts';
import { noneIfForbidden, UNANSWERED_WEBHOOK } from '../../api/errors.ts';
import type { KubeEvent, KubeObject } from '../../api/objects.ts';
import type { Workload } from '../../api/workloads.ts';

/** Resolves to the API server's message if the last creation of a Pod of this workload was refused. */
export type RefusedBy = (api: ClusterApi, workload: Workload) => Promise<string | undefined>;

export const refusedByCondition: RefusedBy = async (_, { status }) =>
  status?.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True')?.message;

/**
 * StatefulSets and DaemonSets have no condition for refused Pods. Their controllers write an event for each Pod that they create, delete or
 * fail to create.
 */
export const refusedByEvents: RefusedBy = async (api, workload) => {
  const last = await lastEvent(api, workload, ['SuccessfulCreate', 'SuccessfulDelete', 'FailedCreate']);
  return last?.reason === 'FailedCreate' ? last.message : undefined;
};

/** Whether the refusal means that a webhook did not answer. It can be the operator's own webhook. */
export function isUnansweredWebhook(refusal: string | undefined): boolean {
  return UNANSWERED_WEBHOOK.test(refusal ?? '');
}

/**
 * The last event about an object that has one of these reasons; of those in the same second, the one whose reason is listed first.
 * Resolves to undefined if there is none, or the account is not allowed to list events.
 */
export async function lastEvent(
  api: ClusterApi,
  { metadata }: KubeObject,
  reasons: string[],
): Promise<KubeEvent | undefined> {
  const query = { fieldSelector: `involvedObject.uid=${metadata.uid}` };
  const events = await api.list<KubeEvent>('Event', metadata.namespace, { query }).catch(noneIfForbidden);
  const rank = ({ reason = '' }: KubeEvent): number => reasons.indexOf(reason);
  const time = ({ lastTimestamp }: KubeEvent): number => Date.parse(lastTimestamp ?? '') || 0;
  return events
    .filter((event) => rank(event) !== -1)
    .sort((a, b) => time(b) - time(a) || rank(a) - rank(b))[0];
}
