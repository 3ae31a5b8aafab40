import { allDone } from '../cluster/all-done.ts';
import type { ClusterApi } from '../cluster/api.ts';
import type { Target, TargetService } from '../cluster/discover.ts';
import type { Node, Service } from '../cluster/objects.ts';
import type { Prober } from '../cluster/probe.ts';
import { quiet, waitUntilGone, waitUntilTold } from '../cluster/quiet.ts';
import { takeService } from '../cluster/service.ts';
import { DevloopError } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { hostPort, sharedFamilies } from '../route/addresses.ts';
import { directAddresses, directRoute, isOwn } from '../route/direct.ts';
import type { Route } from '../route/route.ts';
import type { FoundPair } from './certificate.ts';
import { type Gateways, startGateways } from './gateways.ts';
import { type Proof, probeUntil, proveAddress, serviceProber } from './proof.ts';

const PROVE_MS = 15_000;
const CUT_OVER_MS = 30_000;
/** While proxies follow, either end may answer by chance: ten times in a row it is no chance any more. */
const IN_A_ROW = 10;

export interface RouteOptions {
  address?: string | undefined;
  port?: number | undefined;
}

export interface OpenRoute extends AsyncDisposable {
  route: Route;
  gateways: Gateways;
}

/** Tries the addresses of this machine one after the other until kube-apiserver is seen to reach a gateway behind one. */
export async function openRoute(
  api: ClusterApi,
  session: string,
  target: Target,
  options: RouteOptions,
  emit: Emit,
  signal: AbortSignal,
): Promise<OpenRoute> {
  const services = target.services.map(({ service }) => service);
  const families = sharedFamilies(services.map(({ spec }) => spec.ipFamilies ?? []));
  if (families === undefined) throw noSharedFamily(services);
  const nodes = await api.list<Node>('Node', undefined).catch(() => []);
  const addresses = await directAddresses({
    address: options.address,
    server: api.server,
    nodes: nodes.flatMap((node) =>
      (node.status?.addresses ?? []).filter((one) => one.type === 'InternalIP').map((one) => one.address),
    ),
    families,
  });
  const failures: string[] = [];
  for (const { address, source } of addresses) {
    await using stack = new AsyncDisposableStack();
    const gateways = stack.use(
      await startGateways(target.services, { address, port: options.port, session, emit }),
    );
    gateways.hold();
    const port = gateways.portFor(target.services[0]!.ports[0]!.targetPort);
    const proof = await proveAddress(api, session, services, address, port, gateways, emit, signal, PROVE_MS);
    if (proof.reached) {
      emit({ type: 'discovered', what: 'address', value: hostPort(address, port), source });
      const owned = stack.move();
      return { route: directRoute(address), gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    }
    const foreign = isOwn(address) ? '' : ', not an address of this machine';
    failures.push(`\n  ${address} (${source}${foreign}): ${proof.cause}`);
  }
  throw noRoute(api, families, failures);
}

/** All Services lead to one address: docs/architecture.md says why not to one of each family. */
function noSharedFamily(services: Service[]): DevloopError {
  const familiesOf = ({ spec }: Service): string[] => spec.ipFamilies ?? [];
  const nameOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`;
  const list = services.map((one) => `${nameOf(one)} is ${familiesOf(one).join(' and ')}`).join(', ');
  const { metadata } = services.find((one) => familiesOf(one).length === 1)!;
  return new DevloopError(
    'route.none',
    `The webhook Services share no IP family, and one address has to serve them all: ${list}.`,
    {
      hint: `kubectl -n ${metadata.namespace} patch service ${metadata.name} -p '{"spec":{"ipFamilyPolicy":"RequireDualStack"}}'`,
    },
  );
}

function noRoute(api: ClusterApi, families: string[], failures: string[]): DevloopError {
  const kind = families.length === 1 ? `${families[0]} address` : 'address';
  const tried =
    failures.length > 0
      ? `The cluster does not reach this machine. kube-apiserver says:${failures.join('')}`
      : `This machine has no ${kind} that the cluster at ${api.server} could use: none but loopback or link-local ones faces it.`;
  return new DevloopError('route.none', tried, {
    hint: 'Is there a firewall or VPN between? Name the address that the cluster sees with --address (and --port for a fixed port).',
  });
}

/** Leads every webhook Service here, and returns when kube-apiserver has been seen to follow, several times in a row. */
export async function cutOver(
  api: ClusterApi,
  session: string,
  target: Target,
  { route, gateways }: OpenRoute,
  pairs: Map<string, FoundPair>,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  for (const service of target.services)
    gateways.present(service.serverName, pairs.get(service.serverName)!.pair);
  await allDone(
    target.services.map((service) => takeOne(api, session, service, route, gateways, emit, signal)),
  );
}

async function takeOne(
  api: ClusterApi,
  session: string,
  service: TargetService,
  route: Route,
  gateways: Gateways,
  emit: Emit,
  signal: AbortSignal,
): Promise<void> {
  const ports = service.ports.map(({ name, targetPort }) => ({
    name,
    port: route.portFor(gateways.portFor(targetPort)),
  }));
  // The prober's configuration reaches kube-apiserver while the Service is being changed.
  await using prober: Prober = await serviceProber(api, session, service);
  await takeService(api, session, service.service, { address: addressOf(route), ports }, emit);
  const proof: Proof = await probeUntil(prober, 'us', IN_A_ROW, CUT_OVER_MS, signal);
  const name = `${service.service.metadata.namespace}/${service.service.metadata.name}`;
  if (!proof.reached) {
    throw new DevloopError(
      'route.none',
      `Service ${name} leads here, but kube-apiserver does not get through within ${CUT_OVER_MS / 1000} s: ${proof.cause}`,
      {
        hint: 'Everything is put back. If the cause is x509, compare the caBundle of the webhook configuration with the Secret.',
      },
    );
  }
  const address = hostPort(route.via, ports[0]!.port);
  emit({ type: 'route.proven', route: route.name, address, service: name, latencyMs: proof.latencyMs });
}

function addressOf({ reach }: Route): string {
  if ('address' in reach) return reach.address;
  throw new Error('a route over Pods cannot be cut over to yet');
}

/** The in-cluster manager on its way out. */
export interface Leaving {
  /** Its Pods have been told to end. */
  told: Promise<void>;
  /** They have ended; false when they have not within a minute. */
  gone: Promise<boolean>;
}

/** Scales the in-cluster manager down. */
export async function quietManager(
  api: ClusterApi,
  session: string,
  target: Target,
  emit: Emit,
  signal: AbortSignal,
): Promise<Leaving> {
  const deployment = target.deployment?.object;
  if (deployment === undefined) return { told: Promise.resolve(), gone: Promise.resolve(true) };
  await quiet(api, session, deployment, emit);
  const leaving = {
    told: waitUntilTold(api, deployment, 10, emit, signal),
    gone: waitUntilGone(api, deployment, 60, emit, signal),
  };
  // Whoever waits hears of a failure; while nobody does yet, it must not count as unhandled.
  for (const step of Object.values(leaving)) step.catch(() => {});
  return leaving;
}
