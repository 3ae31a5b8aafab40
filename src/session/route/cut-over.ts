import { allDone, sleep } from '../../async.ts';
import type { EndpointSlice } from '../../cluster/api/objects.ts';
import { whileAway } from '../../cluster/api/while-away.ts';
import { filledSlices, refilled } from '../../cluster/takeover/slices.ts';
import { AGAIN, DevloopError, messageOf } from '../../errors.ts';
import type { KeyPairs } from '../../local/key-pairs.ts';
import { hostPort } from '../../machine/addresses.ts';
import type { TargetService } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ChosenRoute } from './open-route.ts';
import { moveService, routePorts } from './point.ts';
import { notReached, type ProbeResult, probeUntil, serviceProber } from './probe-until.ts';
import { type OpenRoute, type PointStep, type RouteWork, removeBeside } from './routing.ts';

const CUT_OVER_MS = 30_000;
const RECONNECTED_MS = 10_000;
/**
 * The wait before the first probe. kube-proxy needs a moment to follow: a probe that is sent too early is answered in the cluster and has
 * to be repeated, which takes longer.
 */
const PROXY_MS = 10;
const START_AGAIN = 'Stop this session with Ctrl-C, and run devloop up again.';

/** The state in which every webhook Service points to this machine, and kube-apiserver calls the webhooks here. */
export interface CutOver {
  /** Resolves when the EndpointSlices that Kubernetes wrote are without endpoints. No review has to wait for that. */
  cleared: Promise<void>;
}

/** Points every webhook Service to this machine. Returns when several answers have proved that kube-apiserver calls this machine. */
export async function cutOver(work: RouteWork, chosen: ChosenRoute, pairs: KeyPairs): Promise<CutOver> {
  for (const { serverName } of work.target.services)
    chosen.gateways.present(serverName, pairs.get(serverName)!.pair);
  const all = await allDone(chosen.plan.point.map((step) => cutOverOne(work, chosen, step)));
  const cleared = allDone(all.map((one) => one.cleared)).then(() => {});
  // The caller awaits it after the manager is paused; until then, a failure must not count as unhandled.
  cleared.catch(() => {});
  return { cleared };
}

async function cutOverOne(work: RouteWork, open: OpenRoute, { service, apply }: PointStep): Promise<CutOver> {
  // The prober is created at the same time, so that kube-apiserver notices its webhook while the Service is being changed.
  const creating = serviceProber(work, service);
  const pointed = Promise.withResolvers<void>();
  const applying = apply(work, open, pointed.resolve);
  // A failure before the prober exists must not count as unhandled either.
  applying.catch(() => {});
  const probe = async (): Promise<ProbeResult> => {
    await using stack = new AsyncDisposableStack();
    const prober = stack.use(await creating);
    await Promise.race([pointed.promise, applying]);
    await sleep(PROXY_MS, work.signal);
    const probing = { wanted: 'us', limitMs: CUT_OVER_MS } as const;
    let result = await probeUntil(prober, probing, work.signal);
    // A controller that has not seen yet that the selector is gone is given as much time again.
    if (!result.reached && (await slicesInTheWay(work, open, service)).length > 0)
      result = await probeUntil(prober, probing, work.signal);
    await removeBeside(work, stack.disposeAsync());
    return result;
  };
  const probing = probe();
  const isReached = await probing.then(
    ({ reached }) => reached,
    () => false,
  );
  // A failure is reported only after the last write.
  if (!isReached) await allDone<unknown>([applying, probing]);
  const result = await probing;
  if (!result.reached) {
    const filled = await slicesInTheWay(work, open, service);
    if (filled.length > 0) throw refilled(service.service, filled);
    throw new DevloopError(
      'route.none',
      `Service ${serviceName(service)} now points to this machine, but kube-apiserver could not reach it within ${CUT_OVER_MS / 1000} s: ${result.cause}`,
      { hint: hintFor(open) },
    );
  }
  work.emit(verified(open, service, result));
  return { cleared: applying };
}

/** The slices that keep sending calls to the cluster's Pods, although the Service has no selector. */
async function slicesInTheWay(
  { api }: RouteWork,
  { route }: OpenRoute,
  { service }: TargetService,
): Promise<EndpointSlice[]> {
  return 'address' in route.target ? await filledSlices(api, service) : [];
}

function hintFor({ route }: OpenRoute): string {
  const trust = 'If the cause is x509, compare the caBundle of the webhook configuration with the Secret.';
  // A route to Pods is the relay already, and an API server of the session's own runs no Pods, so there is no other route to suggest.
  return 'pods' in route.target || route.name === 'embedded'
    ? trust
    : `${trust}\nTo go through a Pod in the cluster instead: ${AGAIN} --route relay`;
}

/**
 * Moves the endpoints after each reconnect, because the route may have other ports then. This continues until disposed, also during the
 * cut-over and the restore, which may need answers from this machine. Once the cut-over is done, the route is also verified again, one
 * verification at a time, each with the current ports. Disposing waits for the last verification: the signal ends it, but it still removes
 * what it created in the cluster.
 */
export function followReconnects(
  work: RouteWork,
  open: OpenRoute,
  cuttingOver: Promise<unknown>,
): AsyncDisposable {
  const isCutOver = cuttingOver.then(
    () => true,
    () => false,
  );
  const verifyAfter = async (earlier: Promise<void>, moved: Promise<void>): Promise<void> => {
    await earlier;
    await moved;
    if (work.signal.aborted || !(await isCutOver)) return;
    await onceReachable(work.signal, () => verifyAgain(work, open));
  };
  const { services } = work.target;
  const closing = new AbortController();
  const following = { ...work, signal: closing.signal };
  let moving = Promise.resolve();
  let verifying = Promise.resolve();
  open.route.onReconnected(() => {
    const moveAll = () => allDone(services.map((service) => moveService(following, open, service)));
    const moved = moving.then(async () => void (await onceReachable(closing.signal, moveAll)));
    moving = moved.catch(() => {});
    verifying = verifyAfter(verifying, moved).catch((error) => warnUnreached(work, error));
  });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort();
      await verifying;
    },
  };
}

/**
 * Repeats the step until the API server is reachable. Whatever interrupted the route, such as a VPN or this machine's sleep, may also have
 * interrupted the connection to the API server, which may come back later than the route.
 */
async function onceReachable<T>(signal: AbortSignal, step: () => Promise<T>): Promise<T> {
  return await whileAway(step, { limitMs: Number.POSITIVE_INFINITY, signal });
}

/** The route counts as verified only when every Service reaches this machine again. */
async function verifyAgain(work: RouteWork, open: OpenRoute): Promise<void> {
  const events = await allDone(
    work.target.services.map(async (service) => {
      await using prober = await serviceProber(work, service, 1);
      const wanted = { wanted: 'us', limitMs: RECONNECTED_MS } as const;
      const result = await probeUntil(prober, wanted, work.signal);
      if (!result.reached)
        throw await notReached(open.route, `kube-apiserver says: ${result.cause}`, START_AGAIN);
      return verified(open, service, result);
    }),
  );
  for (const event of events) work.emit(event);
}

/** Warns if reviews do not arrive after a reconnect. The far end may have changed: an sshd with other settings, for example. */
function warnUnreached({ emit, signal }: RouteWork, error: unknown): void {
  if (signal.aborted) return;
  const next = error instanceof DevloopError ? error.hint : undefined;
  emit(notice('route.reconnected-unreached', { cause: messageOf(error), next }));
}

function verified(open: OpenRoute, service: TargetService, { latencyMs }: ProbeResult): DevloopEvent {
  const { name: route, via } = open.route;
  const address = hostPort(via, routePorts(open, service)[0]!.port);
  return { type: 'route.verified', route, address, service: serviceName(service), latencyMs };
}

/** The Service's name as in `route.verified`. */
export function serviceName({ service: { metadata } }: TargetService): string {
  return `${metadata.namespace}/${metadata.name}`;
}
