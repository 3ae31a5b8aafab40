import { THIS_MACHINE } from '../../machine/addresses.ts';
import { directRoute } from '../../route/direct.ts';
import { startGateways } from './gateways.ts';
import { pointToRouteAddress } from './point.ts';
import type { OpenRoute, RouteKind, RouteWork } from './routing.ts';

const LOOPBACK = '127.0.0.1';

/** kube-apiserver runs on this machine, and asks devloop for its connections to Services (session/embedded/egress.ts). */
export const embedded: RouteKind = {
  name: 'embedded',
  isAutomatic: false,
  plan: ({ services }) => ({
    detail: 'kube-apiserver runs on this machine',
    open: { changes: [], permissions: [], apply: openEmbedded },
    point: services.map((service) => pointToRouteAddress(service, 'this machine')),
  }),
};

async function openEmbedded(work: RouteWork): Promise<OpenRoute> {
  const gateways = await startGateways(work, LOOPBACK);
  const route = { ...directRoute(THIS_MACHINE), name: 'embedded', via: LOOPBACK };
  return { route, gateways, [Symbol.asyncDispose]: () => gateways[Symbol.asyncDispose]() };
}
