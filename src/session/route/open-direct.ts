import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Node, Service } from '../../cluster/api/objects.ts';
import { assertTakeable } from '../../cluster/takeover/service.ts';
import { DevloopError } from '../../errors.ts';
import { hostPort, sharedFamilies } from '../../machine/addresses.ts';
import { directAddresses, directRoute, isOwn } from '../../route/direct.ts';
import { startGateways } from './gateways.ts';
import { proveRoute } from './proof.ts';
import type { OpenRoute, Routing } from './routing.ts';

const PROVE_MS = 15_000;
/** Where another way is at hand, a slow proxy costs that way and not the session. */
const HASTY_PROVE_MS = 6_000;

/** Tries the addresses of this machine one after the other until kube-apiserver is seen to reach a gateway behind one. */
export async function openDirect(routing: Routing, isLast: boolean): Promise<OpenRoute> {
  const { api, target, settings, emit } = routing;
  const services = target.services.map(({ service }) => service);
  const families = sharedFamilies(services.map(({ spec }) => spec.ipFamilies ?? []));
  if (families === undefined) throw noSharedFamily(services);
  const addresses = await directAddresses({
    address: settings.address,
    server: api.server,
    nodes: await nodeAddresses(api),
    families,
  });
  const failures: string[] = [];
  for (const { address, source } of addresses) {
    for (const service of services) assertTakeable(service, address);
    await using stack = new AsyncDisposableStack();
    const gateways = stack.use(await startGateways(routing, address));
    const route = directRoute(address);
    const proof = await proveRoute(routing, { route, gateways }, isLast ? PROVE_MS : HASTY_PROVE_MS);
    if (proof.reached) {
      emit({ type: 'discovered', what: 'address', value: hostPort(address, gateways.firstPort), source });
      const owned = stack.move();
      return { route, gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    }
    const foreign = isOwn(address) ? '' : ', not an address of this machine';
    failures.push(`\n  ${address} (${source}${foreign}): ${proof.cause}`);
  }
  throw noRoute(api, families, failures);
}

async function nodeAddresses(api: ClusterApi): Promise<string[]> {
  const nodes = await api.list<Node>('Node', undefined).catch(() => []);
  const addresses = nodes.flatMap((node) => node.status?.addresses ?? []);
  return addresses.filter((one) => one.type === 'InternalIP').map((one) => one.address);
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
