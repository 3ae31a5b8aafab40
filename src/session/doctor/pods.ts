import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Deployment, EndpointSlice, Pod, Service } from '../../cluster/api/objects.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { isControllerSlice } from '../../cluster/takeover/endpoints.ts';
import { slicesOf } from '../../cluster/takeover/service.ts';
import { originalSelector } from '../../operator/workload.ts';
import { type Check, type Finding, NotChecked, standingOn } from './check.ts';
import type { DiscoveredOperator } from './operator.ts';

/** Who answers for the Service in the cluster now, and is it that operator alone? */
export function podsCheck(api: ClusterApi, operator: Promise<DiscoveredOperator>): Check {
  return {
    name: 'pods',
    limitSeconds: 30,
    aside: true,
    async run() {
      const { target } = await standingOn(operator, 'there is no target');
      if (target.services.length === 0) throw new NotChecked('the target has no webhook Service');
      return await Promise.all(
        target.services.map(async ({ service }) => {
          const [pods, slices] = await Promise.all([selectedPods(api, service), slicesOf(api, service)]);
          return podsFinding({ service, deployment: target.deployment?.object, pods, slices });
        }),
      );
    },
  };
}

async function selectedPods(api: ClusterApi, service: Service): Promise<Pod[]> {
  const selector = Object.entries(originalSelector(service)).map(([key, value]) => `${key}=${value}`);
  if (selector.length === 0) return [];
  const query = { labelSelector: selector.join(',') };
  return await api.list<Pod>('Pod', service.metadata.namespace, { query });
}

export interface Behind {
  service: Service;
  deployment: Deployment | undefined;
  /** Those that the Service's selector selects. */
  pods: Pod[];
  slices: EndpointSlice[];
}

/** Pure. */
export function podsFinding({ service, deployment, pods, slices }: Behind): Finding {
  const { namespace, name } = service.metadata;
  const holder = sessionOf(service);
  if (holder !== undefined)
    return { verdict: 'unknown', answer: `Service ${namespace}/${name} is taken over by session ${holder}` };
  const strangers = deployment === undefined ? [] : pods.filter((pod) => !isOf(pod, deployment));
  if (strangers.length > 0) {
    const names = strangers.map((pod) => pod.metadata.name).join(', ');
    return {
      verdict: 'warn',
      answer: `Service ${namespace}/${name} also selects Pods that are not of Deployment ${deployment!.metadata.name}: ${names}`,
      proof: `selector ${JSON.stringify(service.spec.selector)}`,
      hint: 'While `up` runs, none of them gets reviews. Give the selector a label that only this operator has.',
    };
  }
  const ready = readyEndpoints(slices);
  const proof = `EndpointSlices of Service ${name}: ${ready} ready; Pods selected: ${pods.length}`;
  if (ready > 0)
    return {
      verdict: 'ok',
      answer: `Service ${namespace}/${name} leads to ${ready} ready ${ready === 1 ? 'endpoint' : 'endpoints'}`,
      proof,
    };
  const labels = Object.entries(originalSelector(service)).map(([key, value]) => `${key}=${value}`);
  return {
    verdict: 'warn',
    answer: `Service ${namespace}/${name} has no ready endpoint: in the cluster nobody answers its reviews now`,
    proof,
    hint: `kubectl -n ${namespace} get pods -l ${labels.join(',')}`,
  };
}

function readyEndpoints(slices: EndpointSlice[]): number {
  const all = slices.filter(isControllerSlice).flatMap((slice) => slice.endpoints ?? []);
  return all.filter(({ conditions }) => conditions?.ready !== false).length;
}

/** A Deployment's Pod is owned by a ReplicaSet that is named after it and the hash of its template. */
function isOf({ metadata }: Pod, deployment: Deployment): boolean {
  const hash = metadata.labels?.['pod-template-hash'] ?? '';
  return (metadata.ownerReferences ?? []).some(
    (owner) => owner.name === `${deployment.metadata.name}-${hash}`,
  );
}
