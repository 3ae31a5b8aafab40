import { allDone } from '../../async.ts';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { familyOf } from '../../cluster/takeover/endpoints.ts';
import { createProber, type ProbeTarget } from '../../cluster/takeover/probe.ts';
import {
  createProbeService,
  PROBE_SERVICE_PORT,
  probeServiceRef,
  type ServiceTarget,
} from '../../cluster/takeover/probe-service.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import type { TargetService } from '../../operator/target.ts';
import type { RouteTarget } from '../../route/route.ts';
import { PROBE_LANGUAGE, type ProbeOptions, type ProbeResult, probeUntil } from './probe-until.ts';
import { type OpenRoute, type RouteWork, removeBeside } from './routing.ts';

export type RouteEnds = Pick<OpenRoute, 'route' | 'gateways'> & Pick<ProbeOptions, 'isHopeless'>;

/**
 * First tries a Service with the address as its external name: kube-apiserver calls that directly, whereas kube-proxy needs a second until
 * it serves a Service with endpoints. If that fails, or if several probes are required, devloop writes endpoints for the Service: see
 * docs/adr/0026-verified-by-name.md.
 */
export async function verifyLike(
  taken: TargetService,
  work: RouteWork,
  ends: RouteEnds,
  limitMs: number,
): Promise<ProbeResult> {
  const deadline = performance.now() + limitMs;
  const { service: like, ports } = taken;
  const { route, gateways, isHopeless } = ends;
  const { namespace = '', name } = probeServiceRef(like, work.sessionId);
  const serverName = `${name}.${namespace}.svc`;
  const pair = await selfSignedPair([serverName], { days: 2 });
  using _presented = gateways.presentOnly(serverName, pair);
  const caBundle = Buffer.from(pair.certificate).toString('base64');
  const port = (): number => route.portFor(gateways.portFor(ports[0]!.targetPort));
  const probed = { namespace, service: name, port: PROBE_SERVICE_PORT, caBundle, count: work.probes ?? 1 };
  const resultOf = async (probing: Promise<ProbeRun>): Promise<ProbeResult> => {
    const { removed, ...result } = await probing;
    // Another attempt creates objects with the same names, so the removal is awaited after a failure.
    await (result.reached ? removeBeside(work, removed) : removed);
    return result;
  };
  const byName = callableName(like, route.target);
  let probing: Work = work;
  if (byName !== undefined && work.probes === undefined) {
    const through = { like, to: byName, port, probed: { ...probed, port: port() } };
    const first = probeThrough(work, through, { wanted: 'us', limitMs, isImpatient: true });
    const result = await resultOf(first.catch(notByName));
    // If somebody else refuses each probe, this attempt has used up the time, and its cause is the only one that is known.
    if (result.reached || performance.now() >= deadline) return result;
    probing = { ...work, emit: () => {} };
  }
  const isKnownToFail = async (): Promise<boolean> =>
    otherFamily(like.spec, route.target) !== undefined || ((await isHopeless?.()) ?? false);
  const limit = { limitMs: deadline - performance.now(), isHopeless: isKnownToFail };
  const through = { like, to: route.target, port, probed };
  return await resultOf(probeThrough(probing, through, { wanted: 'us', ...limit }));
}

/** The address as a name, if it has the family of the Service's cluster IP that kube-apiserver calls. An IPv6 address cannot be a name. */
function callableName({ spec }: Service, target: RouteTarget): { externalName: string } | undefined {
  if (!('address' in target) || familyOf(target.address) === 'IPv6') return undefined;
  return otherFamily(spec, target) === undefined ? { externalName: target.address } : undefined;
}

/** A policy of the cluster may refuse a Service with an external name. The second attempt shows whether it also refuses endpoints. */
function notByName(error: unknown): ProbeRun {
  if (!(error instanceof DevloopError && REFUSED.has(error.code))) throw error;
  return { reached: false, latencyMs: 0, cause: error.message, removed: Promise.resolve() };
}

const REFUSED = new Set(['cluster.forbidden', 'cluster.rejected']);

interface Through {
  like: Service;
  to: ServiceTarget;
  port: () => number;
  probed: ProbeTarget;
}

interface ProbeRun extends ProbeResult {
  removed: Promise<void>;
}

async function probeThrough(
  work: Work,
  { like, to, port, probed }: Through,
  probing: ProbeOptions,
): Promise<ProbeRun> {
  await using stack = new AsyncDisposableStack();
  // In parallel: kube-apiserver needs a moment to notice the webhook, and kube-proxy to notice the Service.
  const creating = createProbeService(like).apply(work, to, port);
  const probingIt = createProber(probed).apply(work, PROBE_LANGUAGE);
  await allDone<unknown>([
    creating.then((service) => stack.use(service)),
    probingIt.then((prober) => stack.use(prober)),
  ]);
  const [service, prober] = await Promise.all([creating, probingIt]);
  const following = { ...prober, once: () => service.follow().then(prober.once) };
  const result = await probeUntil(following, probing, work.signal);
  stack.move();
  const removed = allDone([service, prober].map(async (one) => await one[Symbol.asyncDispose]()));
  return { ...result, removed: removed.then(() => {}) };
}

/**
 * The Service's first IP family and the address, if that has another family. Only with endpoint routing does kube-apiserver reach such an
 * address, and then at the first probe.
 */
export function otherFamily(
  { ipFamilies: [first] = [] }: Service['spec'],
  target: RouteTarget,
): { first: string; address: string } | undefined {
  if (first === undefined || !('address' in target) || first === familyOf(target.address)) return undefined;
  return { first, address: target.address };
}
