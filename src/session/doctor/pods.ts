import { labelQuery } from '../../cluster/api/labels.ts';
import type { EndpointSlice, Service } from '../../cluster/api/objects.ts';
import type { Pod } from '../../cluster/api/workloads.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { originalSelector } from '../../cluster/marks/selector.ts';
import type { Manager } from '../../cluster/takeover/pause/pause.ts';
import { isPodOf } from '../../cluster/takeover/pause/pods.ts';
import { isControllerSlice, slicesOf } from '../../cluster/takeover/slices.ts';
import { selectedPods } from '../../operator/manager.ts';
import { shellWord } from '../../phrases.ts';
import type { Check, Finding } from './check.ts';
import { targetWithServices } from './shared-work.ts';

/** Which Pods answer for the Service in the cluster, and do all of them belong to the operator? */
export const podsCheck: Check = {
  name: 'pods',
  limitSeconds: 30,
  optional: true,
  async run(run) {
    const { target } = await targetWithServices(run);
    const { api } = await run.context;
    return await Promise.all(
      target.services.map(async ({ service }) => {
        const [pods, slices] = await Promise.all([selectedPods(api, service), slicesOf(api, service)]);
        return podsFinding({ service, manager: target.manager, pods, slices });
      }),
    );
  },
};

export interface ServicePods {
  service: Service;
  manager: Manager | undefined;
  /** The Pods that the Service selects. */
  pods: Pod[];
  slices: EndpointSlice[];
}

export function podsFinding({ service, manager, pods, slices }: ServicePods): Finding {
  const { namespace, name } = service.metadata;
  const holder = sessionOf(service);
  if (holder !== undefined)
    return { verdict: 'unknown', answer: `Service ${namespace}/${name} is taken over by session ${holder}` };
  const strangers = manager === undefined ? [] : pods.filter((pod) => !isPodOf(pod, manager));
  if (strangers.length > 0) {
    const names = strangers.map((pod) => pod.metadata.name).join(', ');
    return {
      verdict: 'warn',
      answer: `Service ${namespace}/${name} also selects Pods that do not belong to ${manager!.ref.kind} ${manager!.ref.name}: ${names}`,
      proof: [`selector ${JSON.stringify(service.spec.selector)}`],
      hint: 'While `up` runs, those Pods get no reviews. Add a label to the selector that only this operator has.',
    };
  }
  const ready = readyEndpoints(slices);
  const proof = [`EndpointSlices of Service ${name}: ${ready} ready`, `Pods selected: ${pods.length}`];
  if (ready > 0)
    return {
      verdict: 'ok',
      answer: `Service ${namespace}/${name} has ${ready} ready ${ready === 1 ? 'endpoint' : 'endpoints'}`,
      proof,
    };
  return {
    verdict: 'warn',
    answer: `Service ${namespace}/${name} has no ready endpoint, so nothing in the cluster answers its reviews`,
    proof,
    hint: `kubectl -n ${shellWord(namespace)} get pods -l ${shellWord(labelQuery(originalSelector(service)))}`,
  };
}

function readyEndpoints(slices: EndpointSlice[]): number {
  const all = slices.filter(isControllerSlice).flatMap((slice) => slice.endpoints ?? []);
  return all.filter(({ conditions }) => conditions?.ready !== false).length;
}
