import { reportWhileWaiting } from '../../async.ts';
import type { Service } from '../../cluster/api/objects.ts';
import type { PlannedChange, Step } from '../../cluster/step.ts';
import { createProber } from '../../cluster/takeover/probe.ts';
import { createProbeService, PROBE_SERVICE_PORT } from '../../cluster/takeover/probe-service.ts';
import { hostPort } from '../../machine/addresses.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import type { RouteTarget } from '../../route/route.ts';
import type { ProbeResult } from './probe-until.ts';
import { changesOf, permissionsOf, type RouteWork } from './routing.ts';
import { otherFamily, type RouteEnds, verifyLike } from './verify-address.ts';

/** The step that verifies a route before any object of the user is changed. */
export function verifyStep(target: Target): Step<typeof verifyRoute> {
  const likes = likelyServices(target).map(({ service }) => service);
  const probes = likes.map(({ metadata }) =>
    createProber({ namespace: metadata.namespace!, service: '*', port: PROBE_SERVICE_PORT, caBundle: '' }),
  );
  const steps = [...likes.map((like) => createProbeService(like)), ...probes];
  return { changes: distinct(changesOf(steps)), permissions: permissionsOf(steps), apply: verifyRoute };
}

function distinct(changes: PlannedChange[]): PlannedChange[] {
  return [...new Map(changes.map((change) => [JSON.stringify(change.object), change])).values()];
}

/**
 * Verifies a route through temporary Services: one in each namespace of the user's Services, and for each combination of IP families among
 * them, since the families decide which address kube-apiserver calls. The first Service that is not reached decides.
 */
export async function verifyRoute(work: RouteWork, ends: RouteEnds, limitMs: number): Promise<ProbeResult> {
  if (work.verify !== undefined) return await work.verify(ends, limitMs);
  const { route, gateways } = ends;
  let result: ProbeResult = { reached: false, latencyMs: 0, cause: 'there is no Service to verify it with' };
  for (const like of likelyServices(work.target)) {
    const what = { for: `kube-apiserver to reach ${route.via}`, limitSeconds: limitMs / 1000 };
    result = await reportWhileWaiting(verifyLike(like, work, ends, limitMs), what, work.emit);
    if (!result.reached) return { ...result, cause: withFamily(result.cause, like.service, route.target) };
  }
  const address = hostPort(route.via, route.portFor(gateways.firstPort));
  const { latencyMs } = result;
  work.emit({
    type: 'route.verified',
    route: route.name,
    address,
    service: 'a temporary Service',
    latencyMs,
  });
  return result;
}

/** One Service per namespace and combination of IP families. */
function likelyServices({ services }: Target): TargetService[] {
  const alike = Map.groupBy(services, ({ service: { metadata, spec } }) =>
    [metadata.namespace, ...(spec.ipFamilies ?? [])].join(),
  );
  return [...alike.values()].map(([first]) => first!);
}

/**
 * Adds to the cause that the address has another family. Without endpoint routing, kube-apiserver calls the cluster IP of the first family,
 * and kube-proxy puts only endpoints of that family behind it.
 */
function withFamily(cause: string, { metadata, spec }: Service, target: RouteTarget): string {
  const other = otherFamily(spec, target);
  if (other === undefined || cause.includes(other.address)) return cause;
  const { first } = other;
  return `${cause}; it calls the ${first} cluster IP of ${metadata.namespace}/${metadata.name}, which only reaches ${first} addresses`;
}
