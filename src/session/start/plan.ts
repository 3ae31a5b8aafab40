import type { Deployment, Service } from '../../cluster/api/objects.ts';
import type { Permission } from '../../cluster/api/permissions.ts';
import type { Step } from '../../cluster/step.ts';
import { holdLease } from '../../cluster/takeover/lease.ts';
import type { Pausing } from '../../cluster/takeover/pause/pause.ts';
import { pauseFor } from '../../cluster/takeover/pause/strategies.ts';
import type { Work } from '../../cluster/work.ts';
import { discoveryPermissions } from '../../operator/permissions.ts';
import type { Target } from '../../operator/target.ts';
import { namespacesOf, targetsOf } from '../context/holders.ts';
import { planRoutes } from '../route/kinds.ts';
import type { RoutePlan, RouteSettings } from '../route/routing.ts';
import { type verifyRoute, verifyStep } from '../route/verify-route.ts';

/**
 * All steps of a take-over in their order. `up` applies them, `up --dry-run` prints their changes, and the account is asked for
 * their permissions.
 */
export interface TakeOverPlan {
  /** What discovery reads; it changes nothing. */
  discovery: Permission[];
  leases: ReturnType<typeof holdLease>[];
  /** Each route applies it while it opens. */
  verify: Step<typeof verifyRoute>[];
  /** In the order in which they are tried; none without webhook Services. */
  routes: RoutePlan[];
  pause: Step<(work: Work) => Promise<Pausing>>[];
}

export function planTakeOver(target: Target, settings: RouteSettings): TakeOverPlan {
  const hasWebhooks = target.services.length > 0;
  const object = target.deployment?.object;
  const pause = object && pauseFor({ kind: 'Deployment', object })?.pause(object);
  return {
    discovery: hasWebhooks ? namespacesOf(target).flatMap(discoveryPermissions) : [],
    leases: targetsOf(target).map((one) => holdLease(one)),
    verify: hasWebhooks ? [verifyStep(target)] : [],
    routes: planRoutes(target, settings),
    pause: pause ? [pause] : [],
  };
}

/** Stands for an operator that could not be discovered: one webhook Service and one Deployment, in this namespace. */
export function anyTarget(namespace: string): Target {
  const metadata = { namespace, name: '*' };
  const service: Service = { metadata, spec: { ports: [] } };
  const object: Deployment = { metadata, spec: { selector: {}, template: { spec: { containers: [] } } } };
  return {
    namespace,
    services: [{ service, serverName: '', calls: [], ports: [], source: '' }],
    deployment: { object, container: { name: '*' }, source: '' },
  };
}
