import { ANY_SESSION, relayLabels } from '../../cluster/names.ts';
import {
  type Destination,
  moveEndpoints,
  type Pointer,
  pointersOf,
} from '../../cluster/takeover/endpoints.ts';
import { pointToAddress, pointToPods } from '../../cluster/takeover/service.ts';
import type { Work } from '../../cluster/work.ts';
import type { TargetService } from '../../operator/target.ts';
import type { OpenRoute, PointStep } from './routing.ts';

/** Points a webhook Service to the address of an open route; `place` names the owner of that address, for display. */
export function pointToRouteAddress(service: TargetService, place: string): PointStep {
  const { apply, ...step } = pointToAddress(service.service, place);
  return {
    ...step,
    service,
    apply: (work, open, onPointed) => apply(work, () => destination(open, service), onPointed),
  };
}

/** Points a webhook Service to the Pods of an open route. */
export function pointToRoutePods(service: TargetService): PointStep {
  const { changes, permissions } = pointToPods(service.service, relayLabels(ANY_SESSION));
  return {
    service,
    changes,
    permissions,
    async apply(work, { route: { target } }) {
      if (!('pods' in target)) throw new Error('a route to Pods that has an address');
      await pointToPods(service.service, target.pods).apply(work);
    },
  };
}

/** After a reconnect, moves the endpoints to the route's new ports. A route to Pods keeps its ports. */
export async function moveService(work: Work, open: OpenRoute, service: TargetService): Promise<void> {
  if ('address' in open.route.target)
    await moveEndpoints(work, service.service, () => destination(open, service));
}

/** The objects that point a Service to an open route; none if Kubernetes writes the endpoints. */
export function routePointers(open: OpenRoute, service: TargetService, sessionId: string): Pointer[] {
  if (!('address' in open.route.target)) return [];
  return pointersOf(service.service, sessionId, () => destination(open, service));
}

/** The destination at this moment: a tunnel that reconnected has other ports. */
function destination(open: OpenRoute, service: TargetService): Destination {
  const { target } = open.route;
  if (!('address' in target)) throw new Error('a route to an address that has Pods');
  return { address: target.address, ports: routePorts(open, service) };
}

/** The route's port for each port of the Service. */
export function routePorts(
  { route, gateways }: Pick<OpenRoute, 'route' | 'gateways'>,
  { ports }: TargetService,
): Destination['ports'] {
  return ports.map(({ name, targetPort }) => ({ name, port: route.portFor(gateways.portFor(targetPort)) }));
}
