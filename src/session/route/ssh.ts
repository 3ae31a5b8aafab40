import { assertTakeable } from '../../cluster/takeover/service.ts';
import { within } from '../../machine/addresses.ts';
import { startGateways } from './gateways.ts';
import { pointToRouteAddress } from './point.ts';
import { notReached } from './probe-until.ts';
import type { OpenRoute, RouteKind, RouteSettings, RouteWork } from './routing.ts';
import { verifyRoute } from './verify-route.ts';

const VERIFY_MS = 20_000;
const OPEN_IT =
  'Check for a firewall between the cluster and that host. Name the address that the cluster sees with --address, and an open port with --port.';

/** kube-apiserver calls a port on an SSH host, which forwards it to this machine. */
export const ssh: RouteKind = {
  name: 'ssh',
  isAutomatic: false,
  plan: ({ services }, settings) => ({
    detail: `a port of ${hostOf(settings)}, forwarded`,
    open: { changes: [], permissions: [], apply: openSsh },
    point: services.map((service) => pointToRouteAddress(service, hostOf(settings))),
  }),
};

function hostOf({ choice }: RouteSettings): string {
  return typeof choice === 'object' ? choice.ssh : '';
}

async function openSsh(work: RouteWork): Promise<OpenRoute> {
  const { settings, target, env, ask, emit, signal } = work;
  const { sshRoute } = await import('../../route/ssh/route.ts');
  await using stack = new AsyncDisposableStack();
  const gateways = stack.use(await startGateways(work, '127.0.0.1'));
  const { address, port, allowFrom = [] } = settings;
  const { ports: gatewayPorts } = gateways;
  const route = stack.use(
    await sshRoute({
      to: hostOf(settings),
      gatewayPorts,
      env,
      emit,
      signal,
      address,
      port,
      ...(allowFrom.length > 0 ? { allows: within(allowFrom) } : {}),
      ask,
    }),
  );
  if ('address' in route.target)
    for (const { service } of target.services) assertTakeable(service, route.target.address);
  const isHopeless = async (): Promise<boolean> => (await route.explain())?.isCertain ?? false;
  const { reached, cause } = await verifyRoute(work, { route, gateways, isHopeless }, VERIFY_MS);
  if (!reached) {
    const says = `The cluster cannot reach port ${route.portFor(gateways.firstPort)} of ${route.via}. kube-apiserver says: ${cause}`;
    throw await notReached(route, says, OPEN_IT);
  }
  const owned = stack.move();
  return { route, gateways, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
