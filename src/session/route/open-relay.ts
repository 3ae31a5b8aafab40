import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allOrNone } from '../../async.ts';
import { relayLabels } from '../../cluster/names.ts';
import { placementOf, RELAY_IMAGE, relayPorts } from '../../cluster/relay/manifest.ts';
import { networkPolicyNotices } from '../../cluster/relay/network-policies.ts';
import { keepRelay, type Relay } from '../../cluster/relay/watch.ts';
import { findMarked } from '../../cluster/takeover/find-marked.ts';
import { removeRelays } from '../../cluster/takeover/restore.ts';
import type { TargetService } from '../../operator/target.ts';
import { PROTOCOL, relayConfig } from '../../route/relay/wire/config.ts';
import type { Route } from '../../route/route.ts';
import { type Gateways, startGateways } from './gateways.ts';
import { notReached } from './not-reached.ts';
import { proveRoute } from './proof.ts';
import type { OpenRoute, Routing } from './routing.ts';

const PROVE_MS = 20_000;
const LET_IT_IN = 'Does a NetworkPolicy or firewall keep the control plane from Pods of this namespace?';
/** In the Pod; the next free ones are taken where the operator itself has them. */
const CONTROL_PORT = 17_717;

/** Over a Pod beside the webhook Service, one for each namespace; needs nothing but the kubeconfig. */
export async function openRelay(routing: Routing): Promise<OpenRoute> {
  const { choice, address, port } = routing.settings;
  if (choice === 'relay' && (address ?? port) !== undefined)
    routing.emit({
      type: 'note',
      message: 'A relay needs no address and no port of this machine: those settings are not used.',
    });
  await using stack = new AsyncDisposableStack();
  const gateways = stack.use(await startGateways(routing, '127.0.0.1'));
  // One that fails ends the others, and is waited for with them: what they make has to be there when it is put away.
  const ending = new AbortController();
  const endable = { ...routing, signal: AbortSignal.any([routing.signal, ending.signal]) };
  const opening = groupsOf(routing.target.services).map((group) => openIn(endable, group, gateways, stack));
  const routes = await allOrNone(opening, ending);
  const route = together(routes, gateways);
  const proof = await proveRoute(routing, { route, gateways }, PROVE_MS);
  if (!proof.reached) {
    const says = `kube-apiserver does not reach ${route.via}, which carries reviews here. It says: ${proof.cause}`;
    throw await notReached(route, says, LET_IT_IN);
  }
  const owned = stack.move();
  return { route, gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

interface Group {
  namespace: string;
  services: TargetService[];
}

function groupsOf(services: TargetService[]): Group[] {
  const namespaces = new Set(services.map(({ service }) => service.metadata.namespace!));
  return [...namespaces].map((namespace) => ({
    namespace,
    services: services.filter(({ service }) => service.metadata.namespace === namespace),
  }));
}

async function openIn(
  routing: Routing,
  { namespace, services }: Group,
  gateways: Gateways,
  stack: AsyncDisposableStack,
): Promise<Route> {
  const { api, sessionId, target, settings, emit, signal } = routing;
  const { makeRelayKeys } = await import('../../route/relay/wire/keys.ts');
  const { relayRoute } = await import('../../route/relay/relay.ts');
  const keys = makeRelayKeys();
  // Where the session's end was here before, there is nothing left to do.
  stack.defer(async () => {
    const { marked } = await findMarked(api, [namespace], { sessionId });
    await removeRelays(routing, marked);
  });
  const ports = relayPorts(services);
  const numbers = [...new Set(ports.map(({ port }) => port))];
  const [controlPort, proxyPort] = portsBeside(numbers);
  const manager = target.deployment?.object;
  const relay: Relay = stack.use(
    await keepRelay(namespace).apply(routing, {
      namespace,
      image: settings.relayImage ?? RELAY_IMAGE,
      program: await readFile(join(import.meta.dirname, 'relay.cjs'), 'utf8'),
      config: JSON.stringify(relayConfig({ controlPort, proxyPort, ports: numbers, keys })),
      controlPort,
      proxyPort,
      protocol: PROTOCOL,
      ports,
      placement: placementOf(manager),
    }),
  );
  const labels = { manager: manager?.spec.template.metadata?.labels, relay: relayLabels(sessionId) };
  for (const notice of await networkPolicyNotices(api, { namespace, ports, ...labels })) emit(notice);
  return stack.use(
    await relayRoute({
      get pod() {
        return { namespace, name: relay.pod };
      },
      pods: relay.labels,
      ports: new Map(numbers.map((port) => [gateways.portFor(port), port])),
      dial: relay.dial,
      keys,
      emit,
      signal,
    }),
  );
}

function portsBeside(taken: number[]): [control: number, proxy: number] {
  const free: number[] = [];
  for (let port = CONTROL_PORT; free.length < 2; port++) if (!taken.includes(port)) free.push(port);
  return [free[0]!, free[1]!];
}

/** The same labels in every namespace, and ports as in the manager's Pods: one route with several ends. */
export function together(routes: Route[], gateways: Gateways): Route {
  return {
    ...routes[0]!,
    get via() {
      return routes.map(({ via }) => via).join(', ');
    },
    portFor: (gatewayPort) => gateways.targetFor(gatewayPort)!,
    onReconnected(listener) {
      for (const route of routes) route.onReconnected(listener);
    },
    async explain() {
      const explained = await Promise.all(routes.map((route) => route.explain()));
      return explained.find((one) => one !== undefined);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(routes.map((route) => route[Symbol.asyncDispose]()));
    },
  };
}
