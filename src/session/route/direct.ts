import type { ClusterApi } from '../../cluster/api/client.ts';
import type { Node, Service } from '../../cluster/api/objects.ts';
import { permissionsOn } from '../../cluster/api/permissions.ts';
import { assertTakeable } from '../../cluster/takeover/service.ts';
import { AGAIN, DevloopError } from '../../errors.ts';
import { hostPort, sharedFamilies } from '../../machine/addresses.ts';
import { shellWord } from '../../phrases.ts';
import { directAddresses, directRoute, isOwn } from '../../route/direct.ts';
import { startGateways } from './gateways.ts';
import { pointToRouteAddress } from './point.ts';
import type { OpenRoute, RouteKind, RouteSettings, RouteWork } from './routing.ts';
import { verifyRoute } from './verify-route.ts';

const VERIFY_MS = 12_000;
/** The limit if another route can be tried after this one: then a slow kube-proxy may make this route fail, but not the session. */
const HASTY_VERIFY_MS = 6_000;

const NODES = permissionsOn('Node', 'list', {
  why: "find this machine's address",
  without:
    'the direct route tries only the address that faces the API server, and a controller that reads the name of its node does not get one',
});

/** kube-apiserver calls an address of this machine. */
export const direct: RouteKind = {
  name: 'direct',
  isAutomatic: true,
  plan: ({ services }) => ({
    detail: 'an address of this machine',
    open: { changes: [], permissions: NODES, apply: openDirect },
    point: services.map((service) => pointToRouteAddress(service, 'this machine')),
  }),
};

/** Tries the addresses of this machine one after the other, until kube-apiserver reaches a gateway at one of them. */
async function openDirect(work: RouteWork, isLast: boolean): Promise<OpenRoute> {
  const { api, target, settings, emit } = work;
  const services = target.services.map(({ service }) => service);
  const families = sharedFamilies(services.map(({ spec }) => spec.ipFamilies ?? []));
  if (families === undefined) throw noSharedFamily(services);
  const addresses = await directAddresses({
    address: settings.address,
    addressSource: settings.addressSource,
    server: api.server,
    nodes: await nodeAddresses(api),
    families,
  });
  const failures: string[] = [];
  const strangers = new Set<string>();
  for (const { address, source } of addresses) {
    for (const service of services) assertTakeable(service, address);
    await using stack = new AsyncDisposableStack();
    const gateways = stack.use(await startGateways(work, address));
    const route = directRoute(address);
    const limitMs = isLast ? VERIFY_MS : HASTY_VERIFY_MS;
    const isHopeless = async (): Promise<boolean> => gateways.keptOut.length > 0;
    const { reached, cause } = await verifyRoute(work, { route, gateways, isHopeless }, limitMs);
    if (reached) {
      emit({ type: 'discovered', what: 'address', value: hostPort(address, gateways.firstPort), source });
      const owned = stack.move();
      return { route, gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
    }
    const foreign = isOwn(address) ? '' : ', not an address of this machine';
    const outside = gateways.keptOut.length === 0 ? '' : `; ${keptOut(gateways.keptOut)}`;
    for (const stranger of gateways.keptOut) strangers.add(stranger.replace(/^::ffff:/i, ''));
    failures.push(`\n  ${address} (${source}${foreign}): ${cause}${outside}`);
  }
  const error = noRoute(api, families, { failures, address: settings.address });
  if (strangers.size === 0) throw error;
  throw new DevloopError(error.code, error.message, { hint: allowing([...strangers], settings) });
}

/** A flag that is typed again replaces the earlier one, so it also needs the networks that were allowed already. */
function allowing(strangers: string[], { allowFrom = [] }: RouteSettings): string {
  const networks = [...allowFrom, ...strangers].map((one) => `--allow-from ${shellWord(one)}`);
  return `If these connections are those of the control plane, allow them, too: ${AGAIN} ${networks.join(' ')}`;
}

function keptOut(addresses: string[]): string {
  return `--allow-from does not allow connections from ${addresses.join(', ')}`;
}

async function nodeAddresses(api: ClusterApi): Promise<string[]> {
  const nodes = await api.list<Node>('Node', undefined).catch(() => []);
  const addresses = nodes.flatMap((node) => node.status?.addresses ?? []);
  return addresses.filter((one) => one.type === 'InternalIP').map((one) => one.address);
}

/** All Services point to one address; docs/architecture.md explains why there is not one for each family. */
function noSharedFamily(services: Service[]): DevloopError {
  const familiesOf = ({ spec }: Service): string[] => spec.ipFamilies ?? [];
  const nameOf = ({ metadata }: Service): string => `${metadata.namespace}/${metadata.name}`;
  const list = services.map((one) => `${nameOf(one)} is ${familiesOf(one).join(' and ')}`).join(', ');
  const { metadata } = services.find((one) => familiesOf(one).length === 1)!;
  return new DevloopError(
    'route.none',
    `The webhook Services have no IP family in common, but one address has to serve them all: ${list}.`,
    {
      hint: `kubectl -n ${shellWord(metadata.namespace)} patch service ${shellWord(metadata.name)} -p '{"spec":{"ipFamilyPolicy":"RequireDualStack"}}'`,
    },
  );
}

function noRoute(
  api: ClusterApi,
  families: string[],
  { failures, address }: { failures: string[]; address: string | undefined },
): DevloopError {
  const kind = families.length === 1 ? `${families[0]} address` : 'address';
  const tried =
    failures.length > 0
      ? `The cluster cannot reach this machine. kube-apiserver says:${failures.join('')}`
      : `This machine has no ${kind} that the cluster at ${api.server} can use, only loopback or link-local ones.`;
  return new DevloopError('route.none', tried, {
    hint:
      address === undefined
        ? `Check for a firewall or VPN in between. If the cluster sees this machine at another address: ${AGAIN} --address ADDRESS`
        : `Check for a firewall or VPN between the cluster and ${address}.`,
  });
}
