import { setTimeout as pause } from 'node:timers/promises';
import { allDone } from '../../async.ts';
import { type Destination, moveEndpoints } from '../../cluster/takeover/endpoints.ts';
import { pointToAddress, pointToPods } from '../../cluster/takeover/service.ts';
import { DevloopError, messageOf, originOf } from '../../errors.ts';
import type { KeyPairs } from '../../local/key-pairs.ts';
import { hostPort } from '../../machine/addresses.ts';
import type { TargetService } from '../../operator/target.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notReached } from './not-reached.ts';
import { IN_A_ROW, type Proof, probeUntil, serviceProber } from './proof.ts';
import type { OpenRoute, Routing } from './routing.ts';

const CUT_OVER_MS = 30_000;
const MENDED_MS = 10_000;
const LONGEST_PAUSE_MS = 5_000;
const START_AGAIN = 'End this session with Ctrl-C, and start it again.';

/** Leads every webhook Service here, and returns when kube-apiserver has been seen to follow, several times in a row. */
export async function cutOver(routing: Routing, open: OpenRoute, pairs: KeyPairs): Promise<void> {
  const { services } = routing.target;
  for (const { serverName } of services) open.gateways.present(serverName, pairs.get(serverName)!.pair);
  await allDone(services.map((service) => takeOne(routing, open, service)));
}

async function takeOne(routing: Routing, open: OpenRoute, service: TargetService): Promise<void> {
  const { emit, signal } = routing;
  const { target } = open.route;
  // The prober's configuration reaches kube-apiserver while the Service is being changed.
  await using prober = await serviceProber(routing, service);
  if ('pods' in target) await pointToPods(service.service, target.pods).apply(routing);
  else {
    const step = pointToAddress(service.service, target.address);
    await step.apply(routing, destination(open, target.address, service));
  }
  const proof = await probeUntil(prober, 'us', IN_A_ROW, CUT_OVER_MS, signal);
  if (!proof.reached) {
    throw new DevloopError(
      'route.none',
      `Service ${serviceName(service)} leads here, but kube-apiserver does not get through within ${CUT_OVER_MS / 1000} s: ${proof.cause}`,
      {
        hint: 'If the cause is x509, compare the caBundle of the webhook configuration with the Secret.',
      },
    );
  }
  emit(proven(open, service, proof));
}

/**
 * A way that broke off comes back, maybe with other ports: the endpoints move to them, during the cut-over too, and under a look
 * that is still waiting for the way of before. Then the way is proven again, once the cut-over is done. One look after the other,
 * each at the ports of its moment. Disposing waits for the last one, which the signal ends: it takes away what it has made in the
 * cluster.
 */
export function followMends(routing: Routing, open: OpenRoute, cuttingOver: Promise<void>): AsyncDisposable {
  const isCutOver = cuttingOver.then(
    () => true,
    () => false,
  );
  const look = async (before: Promise<void>, moved: Promise<void>): Promise<void> => {
    await before;
    await moved;
    if (await isCutOver) await onceAnswered(routing, () => proveAgain(routing, open));
  };
  let moving = Promise.resolve();
  let looking = Promise.resolve();
  open.route.onReconnected(() => {
    const moved = moving.then(() => onceAnswered(routing, () => move(routing, open)));
    moving = moved.catch(() => {});
    looking = look(looking, moved).catch((error) => tellBroken(routing, error));
  });
  return {
    async [Symbol.asyncDispose]() {
      await looking;
    },
  };
}

/** What broke the way (a sleep, a VPN) may have taken the API server along, which is then back at its own time. */
async function onceAnswered(routing: Routing, step: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await step();
    } catch (thrown) {
      const error = originOf(thrown);
      if (!(error instanceof DevloopError && error.code === 'cluster.unreachable')) throw error;
      await pause(Math.min(250 * 2 ** tries, LONGEST_PAUSE_MS), undefined, { signal: routing.signal });
    }
  }
}

async function move(routing: Routing, open: OpenRoute): Promise<void> {
  const to = open.route.target;
  if (!('address' in to)) return;
  await allDone(
    routing.target.services.map((service) =>
      moveEndpoints(routing, service.service, destination(open, to.address, service)),
    ),
  );
}

/** Only when every Service is led here again the way counts as proven. */
async function proveAgain(routing: Routing, open: OpenRoute): Promise<void> {
  const { target, emit, signal } = routing;
  const proofs = await allDone(
    target.services.map(async (service) => {
      await using prober = await serviceProber(routing, service);
      const proof = await probeUntil(prober, 'us', 1, MENDED_MS, signal);
      if (!proof.reached)
        throw await notReached(open.route, `kube-apiserver says: ${proof.cause}`, START_AGAIN);
      return proven(open, service, proof);
    }),
  );
  for (const event of proofs) emit(event);
}

/** The other end stands, but what it was before may have changed meanwhile: an sshd with other settings, say. */
function tellBroken({ emit, signal }: Routing, error: unknown): void {
  if (signal.aborted) return;
  const hint = error instanceof DevloopError ? error.hint : undefined;
  emit({
    type: 'warning',
    message: `The route is back, but reviews do not arrive by it: ${messageOf(error)}`,
    ...(hint === undefined ? {} : { hint }),
  });
}

function proven(open: OpenRoute, service: TargetService, { latencyMs }: Proof): DevloopEvent {
  const { name: route, via } = open.route;
  const address = hostPort(via, portsOf(open, service)[0]!.port);
  return { type: 'route.verified', route, address, service: serviceName(service), latencyMs };
}

/** Where it is right now: a mended tunnel has other ports. */
function destination(open: OpenRoute, address: string, service: TargetService): () => Destination {
  return () => ({ address, ports: portsOf(open, service) });
}

function portsOf({ route, gateways }: OpenRoute, { ports }: TargetService): { name: string; port: number }[] {
  return ports.map(({ name, targetPort }) => ({ name, port: route.portFor(gateways.portFor(targetPort)) }));
}

/** As `route.verified` names it. */
export function serviceName({ service: { metadata } }: TargetService): string {
  return `${metadata.namespace}/${metadata.name}`;
}
