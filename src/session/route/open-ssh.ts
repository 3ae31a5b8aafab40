import { assertTakeable } from '../../cluster/takeover/service.ts';
import { startGateways } from './gateways.ts';
import { notReached } from './not-reached.ts';
import { proveRoute } from './proof.ts';
import type { OpenRoute, Routing } from './routing.ts';

const PROVE_MS = 20_000;
const OPEN_IT =
  'Is there a firewall between the cluster and that host? Name the address that the cluster sees with --address, and an open port with --port.';

/** Over an SSH host that the cluster reaches: its ports are forwarded to gateways here. */
export async function openSsh(routing: Routing, to: string): Promise<OpenRoute> {
  const { settings, target, env, ask, emit, signal } = routing;
  const { sshRoute } = await import('../../route/ssh/route.ts');
  await using stack = new AsyncDisposableStack();
  const gateways = stack.use(await startGateways(routing, '127.0.0.1'));
  const { address, port } = settings;
  const { ports: gatewayPorts } = gateways;
  const route = stack.use(
    await sshRoute({
      to,
      gatewayPorts,
      env,
      emit,
      signal,
      ...(address === undefined ? {} : { address }),
      ...(port === undefined ? {} : { port }),
      ...(ask === undefined ? {} : { ask }),
    }),
  );
  if ('address' in route.target)
    for (const { service } of target.services) assertTakeable(service, route.target.address);
  const proof = await proveRoute(routing, { route, gateways }, PROVE_MS);
  if (!proof.reached) {
    const says = `The cluster does not reach port ${route.portFor(gateways.firstPort)} of ${route.via}. kube-apiserver says: ${proof.cause}`;
    throw await notReached(route, says, OPEN_IT);
  }
  const owned = stack.move();
  return { route, gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
