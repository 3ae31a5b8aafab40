import { setTimeout as pause } from 'node:timers/promises';
import { allDone, reportWhileWaiting } from '../../async.ts';
import { selfSignedPair } from '../../certificates/self-signed.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { familyOf } from '../../cluster/takeover/endpoints.ts';
import {
  createProber,
  type ProbeAnswer,
  type Prober,
  type ProbeTarget,
} from '../../cluster/takeover/probe.ts';
import {
  createProbeService,
  PROBE_SERVICE_PORT,
  probeServiceRef,
} from '../../cluster/takeover/probe-service.ts';
import type { Work } from '../../cluster/work.ts';
import { probePath, readProbe } from '../../gateway/probe.ts';
import { hostPort } from '../../machine/addresses.ts';
import type { TargetService } from '../../operator/target.ts';
import type { RouteTarget } from '../../route/route.ts';
import type { OpenRoute, Routing } from './routing.ts';

/** What gateways and probers agree on. */
export const LANGUAGE = { path: probePath, read: readProbe };
const PAUSE_MS = 25;
/** While proxies follow, either end may answer by chance: ten times in a row it is no chance any more. */
export const IN_A_ROW = 10;

export interface Proof {
  reached: boolean;
  latencyMs: number;
  /** kube-apiserver's last cause where the gateway was not reached. */
  cause: string;
}

/** A call that nobody took. Whatever else kube-apiserver says comes from somebody who was there. */
const UNANSWERED =
  /dial tcp|connection refused|no endpoints available|deadline exceeded|timeout|\bEOF\b|connection reset/i;

/**
 * Probes until the gateway has answered (or, with `wanted: 'other'`, somebody else has) `inARow` times, or the time is up.
 * In a row, because proxies and API servers follow a new endpoint each at their own time.
 */
export async function probeUntil(
  prober: Pick<Prober, 'once'>,
  wanted: 'us' | 'other',
  inARow: number,
  limitMs: number,
  signal: AbortSignal,
): Promise<Proof> {
  const deadline = Date.now() + limitMs;
  let row = 0;
  let cause = 'no answer yet';
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    const answer = await prober.once();
    if (!isPending(answer)) row = isWanted(answer, wanted) ? row + 1 : 0;
    cause = answer.reached ? '' : answer.cause;
    if (row >= inARow) return { reached: answer.reached, latencyMs: latencyOf(answer), cause };
    if (!isWanted(answer, wanted)) await pause(PAUSE_MS);
  }
  return { reached: false, latencyMs: 0, cause };
}

function isPending(answer: ProbeAnswer): boolean {
  return !answer.reached && answer.pending;
}

function latencyOf(answer: ProbeAnswer): number {
  return answer.reached ? answer.latencyMs : 0;
}

function isWanted(answer: ProbeAnswer, wanted: 'us' | 'other'): boolean {
  if (wanted === 'us' || answer.reached) return wanted === 'us' && answer.reached;
  return !answer.pending && !UNANSWERED.test(answer.cause);
}

/**
 * Proves a route before anything of the user's is touched: by a Service of our own in each namespace of theirs and for each
 * combination of IP families among them, since the families decide where kube-apiserver calls. The first one that it does not
 * reach decides.
 */
export async function proveRoute(routing: Routing, open: ProvenEnds, limitMs: number): Promise<Proof> {
  const { target, emit } = routing;
  const kinds = Map.groupBy(target.services, ({ service: { metadata, spec } }) =>
    [metadata.namespace, ...(spec.ipFamilies ?? [])].join(),
  );
  let proof: Proof = { reached: false, latencyMs: 0, cause: 'no Service to prove it by' };
  for (const [like] of kinds.values()) {
    const what = { for: `kube-apiserver to reach ${open.route.via}`, limitSeconds: limitMs / 1000 };
    proof = await reportWhileWaiting(proveLike(like!, routing, open, limitMs), what, emit);
    if (!proof.reached) return { ...proof, cause: withFamily(proof.cause, like!.service, open.route.target) };
  }
  const { name, via } = open.route;
  const address = hostPort(via, open.route.portFor(open.gateways.firstPort));
  const service = 'a Service of devloop';
  emit({ type: 'route.verified', route: name, address, service, latencyMs: proof.latencyMs });
  return proof;
}

type ProvenEnds = Pick<OpenRoute, 'route' | 'gateways'>;

/** kube-apiserver without endpoint routing calls the cluster IP of the first family, behind which kube-proxy puts that family alone. */
function withFamily(cause: string, { metadata, spec }: Service, target: RouteTarget): string {
  const first = spec.ipFamilies?.[0];
  if (first === undefined || !('address' in target)) return cause;
  if (first === familyOf(target.address) || cause.includes(target.address)) return cause;
  return `${cause}; it calls the ${first} cluster IP of ${metadata.namespace}/${metadata.name}, which leads to ${first} addresses only`;
}

async function proveLike(
  { service: like, ports }: TargetService,
  routing: Routing,
  { route, gateways }: ProvenEnds,
  limitMs: number,
): Promise<Proof> {
  const { sessionId, signal, inARow = 1 } = routing;
  const namespace = like.metadata.namespace!;
  const { target } = route;
  const port = (): number => route.portFor(gateways.portFor(ports[0]!.targetPort));
  const { name } = probeServiceRef(like, sessionId);
  const serverName = `${name}.${namespace}.svc`;
  await using stack = new AsyncDisposableStack();
  const pair = await selfSignedPair([serverName], { days: 2 });
  gateways.present(serverName, pair);
  const caBundle = Buffer.from(pair.certificate).toString('base64');
  const probeTarget = { namespace, service: name, port: PROBE_SERVICE_PORT, caBundle };
  const use = async <T extends AsyncDisposable>(created: Promise<T>): Promise<T> => stack.use(await created);
  // Both at once: kube-apiserver needs a moment to know the prober, and proxies to know the Service.
  const service = use(createProbeService(like).apply(routing, target, port));
  const prober = use(createProber(probeTarget).apply(routing, LANGUAGE));
  await allDone<unknown>([service, prober]);
  const { follow } = await service;
  const { once } = await prober;
  const followed = { once: () => follow().then(once) };
  return await probeUntil(followed, 'us', inARow, limitMs, signal);
}

/** Probes the user's own Service with the caBundle of the user's own configuration: address, port, certificate and trust at once. */
export async function serviceProber(
  work: Pick<Work, 'api' | 'sessionId'>,
  service: TargetService,
): Promise<Prober> {
  const call = service.calls.find((one) => one.caBundle !== '') ?? service.calls[0];
  const target: ProbeTarget = {
    namespace: service.service.metadata.namespace!,
    service: service.service.metadata.name,
    port: call?.port ?? service.ports[0]!.port,
    caBundle: call?.caBundle ?? '',
  };
  return await createProber(target).apply(work, LANGUAGE);
}
