import { allOrNone } from '../../async.ts';
import { relayLabels } from '../../cluster/names.ts';
import { placementOf, RELAY_IMAGE, relayPorts } from '../../cluster/relay/manifest.ts';
import { networkPolicyNotices } from '../../cluster/relay/network-policies.ts';
import { keepRelay, type Relay } from '../../cluster/relay/watch.ts';
import { findMarked } from '../../cluster/takeover/find-marked.ts';
import { removeRelays } from '../../cluster/takeover/restore-steps.ts';
import { builtFile } from '../../machine/own-program.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { PROTOCOL, relayConfig } from '../../route/relay/wire/config.ts';
import type { Route } from '../../route/route.ts';
import { type Gateways, startGateways } from './gateways.ts';
import { pointToRoutePods } from './point.ts';
import { notReached } from './probe-until.ts';
import {
  changesOf,
  type OpenRoute,
  permissionsOf,
  type RouteKind,
  type RouteWork,
  serviceNamespaces,
} from './routing.ts';
import { verifyRoute } from './verify-route.ts';

const VERIFY_MS = 20_000;
const LET_IT_IN =
  'Check whether a NetworkPolicy or a firewall keeps the control plane from the Pods of this namespace.';
/** The program's port in the Pod. If the operator uses it, too, the next free one is taken. */
const CONTROL_PORT = 17_717;

/**
 * kube-apiserver calls a Pod in the namespace of the webhook Service. The Pod sends the reviews over a connection through the API server.
 */
export const relay: RouteKind = {
  name: 'relay',
  isAutomatic: true,
  plan(target) {
    const relays = serviceNamespaces(target).map((namespace) => keepRelay(namespace));
    return {
      detail: 'a Pod, connected through the API server',
      open: { changes: changesOf(relays), permissions: permissionsOf(relays), apply: openRelay },
      point: target.services.map((service) => pointToRoutePods(service)),
    };
  },
};

async function openRelay(work: RouteWork): Promise<OpenRoute> {
  const { address, port, allowFrom } = work.settings;
  if ((address ?? port) !== undefined) work.emit(notice('route.relay-ignores-address', {}));
  if (allowFrom !== undefined) work.emit(notice('route.relay-ignores-allow-from', {}));
  await using stack = new AsyncDisposableStack();
  const gateways = stack.use(await startGateways(work, '127.0.0.1'));
  // If one relay fails, the others stop, too, and are awaited, so that nothing is created after the removal.
  const ending = new AbortController();
  const endable = { ...work, signal: AbortSignal.any([work.signal, ending.signal]) };
  const opening = serviceNamespaces(work.target).map((namespace) =>
    openIn(endable, namespace, gateways, stack),
  );
  const routes = await allOrNone(opening, ending);
  const route = together(routes, gateways);
  const { reached, cause } = await verifyRoute(work, { route, gateways }, VERIFY_MS);
  if (!reached) {
    const says = `kube-apiserver cannot reach the relay (${route.via}): ${cause}`;
    throw await notReached(route, says, LET_IT_IN);
  }
  const owned = stack.move();
  return { route, gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function openIn(
  work: RouteWork,
  namespace: string,
  gateways: Gateways,
  stack: AsyncDisposableStack,
): Promise<Route> {
  const { api, sessionId, target, settings, emit, signal } = work;
  const { makeRelayKeys } = await import('../../route/relay/wire/keys.ts');
  const { relayRoute } = await import('../../route/relay/relay.ts');
  const keys = makeRelayKeys();
  // Finds nothing if the end of the session has already removed the relay.
  stack.defer(async () => {
    const { marked } = await findMarked(api, [namespace], { sessionId });
    await removeRelays(work, marked);
  });
  const ports = relayPorts(target.services.filter(({ service }) => service.metadata.namespace === namespace));
  const numbers = [...new Set(ports.map(({ port }) => port))];
  const [controlPort, proxyPort] = portsBeside(numbers);
  const manager = target.manager?.object;
  const relay: Relay = stack.use(
    await keepRelay(namespace).apply(work, {
      namespace,
      image: settings.relayImage ?? RELAY_IMAGE,
      program: (await builtFile('relay.cjs')).toString(),
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
      onProved: relay.onProved,
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

/** One route over the relays of all namespaces: their Pods have the same labels everywhere, and the ports of the manager's Pods. */
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
