import type { Target } from '../cluster/discover.ts';
import type { ChangeAction } from '../report/events.ts';
import type { Way } from './route/routing.ts';

interface Planned {
  action: ChangeAction;
  object: string;
  detail: string;
}

/** Every change that `up` makes to objects that are not its own, for `--dry-run`. `way`: the one that is tried first. */
export function plannedChanges({ services, deployment }: Target, way: Way | undefined): Planned[] {
  const routed = services.flatMap(({ service }) => {
    const name = `${service.metadata.namespace}/${service.metadata.name}`;
    if (way === 'relay') return swapped(name, service.metadata.namespace!);
    return led(name, typeof way === 'object' ? `to ${way.ssh}` : 'to this machine');
  });
  if (deployment === undefined) return routed;
  const { metadata, spec } = deployment.object;
  const object = `Deployment ${metadata.namespace}/${metadata.name}`;
  return [...routed, { action: 'change', object, detail: `replicas ${spec.replicas ?? 1} -> 0` }];
}

function swapped(name: string, namespace: string): Planned[] {
  const relay = `${namespace}/devloop-relay-<session>`;
  return [
    { action: 'create', object: `Secret ${relay}`, detail: 'the relay, and its key' },
    { action: 'create', object: `Pod ${relay}-*`, detail: 'carries the reviews here' },
    { action: 'change', object: `Service ${name}`, detail: 'selector -> the relay Pod' },
  ];
}

function led(name: string, where: string): Planned[] {
  return [
    { action: 'change', object: `Service ${name}`, detail: 'selector removed' },
    { action: 'change', object: `Endpoints ${name}`, detail: where },
    { action: 'create', object: `EndpointSlice ${name}-devloop-<session>`, detail: where },
    { action: 'delete', object: `EndpointSlice ${name}-*`, detail: 'those of Kubernetes, made again later' },
  ];
}
