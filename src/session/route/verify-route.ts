import { allDone, reportWhileWaiting } from '../../async.ts';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import type { Service } from '../../cluster/api/objects.ts';
import type { PlannedChange, Step } from '../../cluster/step.ts';
import { familyOf } from '../../cluster/takeover/endpoints.ts';
import { createProber } from '../../cluster/takeover/probe.ts';
import {
  createProbeService,
  PROBE_SERVICE_PORT,
  probeServiceRef,
} from '../../cluster/takeover/probe-service.ts';
import { hostPort } from '../../machine/addresses.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import type { RouteTarget } from '../../route/route.ts';
import { changesOf, type OpenRoute, permissionsOf, type Routing } from './routing.ts';
import { PROBE_LANGUAGE, type ProbeResult, type Probing, probeUntil } from './verify.ts';

/** Every route is verified in this way before any object of the user's is changed. */
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

type RouteEnds = Pick<OpenRoute, 'route' | 'gateways'> & Pick<Probing, 'isHopeless'>;

/**
 * Verifies a route through temporary Services: one in each namespace of the user's Services, and for each combination of IP
 * families among them, since the families decide where kube-apiserver calls. The first Service that is not reached decides.
 */
export async function verifyRoute(routing: Routing, ends: RouteEnds, limitMs: number): Promise<ProbeResult> {
  if (routing.verify !== undefined) return await routing.verify(ends, limitMs);
  const { route, gateways } = ends;
  let result: ProbeResult = { reached: false, latencyMs: 0, cause: 'there is no Service to verify it with' };
  for (const like of likelyServices(routing.target)) {
    const what = { for: `kube-apiserver to reach ${route.via}`, limitSeconds: limitMs / 1000 };
    result = await reportWhileWaiting(verifyLike(like, routing, ends, limitMs), what, routing.emit);
    if (!result.reached) return { ...result, cause: withFamily(result.cause, like.service, route.target) };
  }
  const address = hostPort(route.via, route.portFor(gateways.firstPort));
  const { latencyMs } = result;
  routing.emit({
    type: 'route.verified',
    route: route.name,
    address,
    service: 'a temporary Service',
    latencyMs,
  });
  return result;
}

/** One Service of each namespace and combination of families. */
function likelyServices({ services }: Target): TargetService[] {
  const alike = Map.groupBy(services, ({ service: { metadata, spec } }) =>
    [metadata.namespace, ...(spec.ipFamilies ?? [])].join(),
  );
  return [...alike.values()].map(([first]) => first!);
}

/** Without endpoint routing, kube-apiserver calls the cluster IP of the first family, behind which kube-proxy puts that family alone. */
function withFamily(cause: string, { metadata, spec }: Service, target: RouteTarget): string {
  const other = otherFamily(spec, target);
  if (other === undefined || cause.includes(other.address)) return cause;
  const { first } = other;
  return `${cause}; it calls the ${first} cluster IP of ${metadata.namespace}/${metadata.name}, which only reaches ${first} addresses`;
}

/** The first family of a Service and an address that is not of it: only endpoint routing reaches that, and it does so at once. */
function otherFamily(
  { ipFamilies: [first] = [] }: Service['spec'],
  target: RouteTarget,
): { first: string; address: string } | undefined {
  if (first === undefined || !('address' in target) || first === familyOf(target.address)) return undefined;
  return { first, address: target.address };
}

async function verifyLike(
  { service: like, ports }: TargetService,
  routing: Routing,
  { route, gateways, isHopeless }: RouteEnds,
  limitMs: number,
): Promise<ProbeResult> {
  const { sessionId, signal, probes: count = 1 } = routing;
  const { namespace = '', name } = probeServiceRef(like, sessionId);
  const serverName = `${name}.${namespace}.svc`;
  await using stack = new AsyncDisposableStack();
  const pair = await selfSignedPair([serverName], { days: 2 });
  stack.use(gateways.presentOnly(serverName, pair));
  const caBundle = Buffer.from(pair.certificate).toString('base64');
  const port = (): number => route.portFor(gateways.portFor(ports[0]!.targetPort));
  const target = { namespace, service: name, port: PROBE_SERVICE_PORT, caBundle, count };
  // At the same time: kube-apiserver needs a moment to learn of the webhook, and kube-proxy to learn of the Service.
  const creating = createProbeService(like).apply(routing, route.target, port);
  const probing = createProber(target).apply(routing, PROBE_LANGUAGE);
  await allDone<unknown>([
    creating.then((service) => stack.use(service)),
    probing.then((prober) => stack.use(prober)),
  ]);
  const [service, prober] = await Promise.all([creating, probing]);
  const following = { once: () => service.follow().then(prober.once), others: prober.others };
  const isKnownToFail = async (): Promise<boolean> =>
    otherFamily(like.spec, route.target) !== undefined || ((await isHopeless?.()) ?? false);
  const wanted = { wanted: 'us', limitMs, isHopeless: isKnownToFail } as const;
  return await probeUntil(following, wanted, signal);
}
