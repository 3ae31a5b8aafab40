import type { Target } from '../cluster/discover.ts';
import type { ChangeAction } from '../report/events.ts';

/** Every change that `up` makes to objects that are not its own, for `--dry-run`. */
export function plannedChanges({
  services,
  deployment,
}: Target): { action: ChangeAction; object: string; detail: string }[] {
  const routed = services.flatMap(({ service }) => {
    const name = `${service.metadata.namespace}/${service.metadata.name}`;
    return [
      { action: 'change', object: `Service ${name}`, detail: 'selector removed' },
      { action: 'change', object: `Endpoints ${name}`, detail: 'to this machine' },
      { action: 'create', object: `EndpointSlice ${name}-devloop-<session>`, detail: 'to this machine' },
      {
        action: 'delete',
        object: `EndpointSlice ${name}-*`,
        detail: 'those of Kubernetes, made again later',
      },
    ] as const;
  });
  if (deployment === undefined) return [...routed];
  const { metadata, spec } = deployment.object;
  const quieted = {
    action: 'change',
    object: `Deployment ${metadata.namespace}/${metadata.name}`,
    detail: `replicas ${spec.replicas ?? 1} -> 0`,
  } as const;
  return [...routed, quieted];
}
