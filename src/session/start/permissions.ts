import type { ClusterApi } from '../../cluster/api/client.ts';
import {
  forbidden,
  guardPermissions,
  missing,
  type Permission,
  resourceOf,
} from '../../cluster/api/permissions.ts';
import type { DevloopEvent } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { permissionsOf, type RoutePlan } from '../route/routing.ts';
import type { TakeOverPlan } from './plan.ts';

/** The permissions that `up` needs on any route. */
export function commonPermissions({
  discovery,
  verify,
  routes,
  reconcilers,
  pause,
  standIn,
  webhookTime,
  guarded,
}: TakeOverPlan): Permission[] {
  const [first = [], ...others] = routes.map(routePermissions);
  const shared = first.filter((one) => others.every((other) => includes(other, one)));
  const watched = guardPermissions(guarded.map(({ ref }) => ref));
  return distinct([
    ...shared,
    ...permissionsOf(verify),
    ...discovery,
    ...permissionsOf([...reconcilers, ...pause, ...standIn, ...webhookTime]),
    ...watched,
  ]);
}

export function routePermissions({ open, point }: RoutePlan): Permission[] {
  return distinct(permissionsOf([...point, open]));
}

/** Which parts of a plan the account is allowed to carry out. */
export interface AllowedParts {
  asked: Permission[];
  /** The permissions that are missing whichever route is used. */
  lacking: Permission[];
  routes: { plan: RoutePlan; lacking: Permission[] }[];
}

/**
 * Checks in parallel all permissions that the plan requires, each once. For an account that is allowed to do everything, none is checked.
 */
export async function askPermissions(
  api: ClusterApi,
  plan: TakeOverPlan,
  everything: Promise<boolean> | false = false,
): Promise<AllowedParts> {
  const all = [...commonPermissions(plan), ...plan.routes.flatMap(routePermissions)];
  const asked = distinct(all.filter(({ without }) => without === undefined));
  const refused = (await everything) ? [] : await missing(api, asked);
  const lackingOf = (needed: Permission[]): Permission[] =>
    needed.filter((one) => one.without === undefined && includes(refused, one));
  return {
    asked,
    lacking: lackingOf(commonPermissions(plan)),
    routes: plan.routes.map((route) => ({ plan: route, lacking: lackingOf(routePermissions(route)) })),
  };
}

/** The permissions that are missing for the Leases; `up` continues without them. */
export async function lackingForLeases(api: ClusterApi, { leases }: TakeOverPlan): Promise<Permission[]> {
  return await missing(api, distinct(permissionsOf(leases)));
}

/**
 * The routes that the account is allowed to use. If there is none, throws with everything that the first one lacks. `guessed`: the user did
 * not name the plan's namespace.
 */
export function permittedRoutes(
  api: Pick<ClusterApi, 'context'>,
  { lacking, routes }: AllowedParts,
  guessed = false,
): RoutePlan[] {
  const permitted = routes.filter((one) => one.lacking.length === 0).map(({ plan }) => plan);
  const first = permitted.length === 0 ? (routes[0]?.lacking ?? []) : [];
  if (lacking.length + first.length > 0) throw forbidden(api, distinct([...lacking, ...first]), guessed);
  return permitted;
}

/** Why some routes of the plan are not tried. */
export function untriedRoutes({ routes }: AllowedParts): DevloopEvent[] {
  return routes
    .filter(({ lacking }) => lacking.length > 0)
    .map(({ plan, lacking }) => {
      const resources = [...new Set(lacking.map(resourceOf))];
      return notice('route.not-permitted', { route: plan.name, resources });
    });
}

/** Two steps may need the same permission for different reasons; the first reason counts, but that of a step that requires it before others. */
function distinct(permissions: Permission[]): Permission[] {
  const required = permissions.filter(({ without }) => without === undefined);
  const ordered = [...required, ...permissions];
  const kept = new Set(new Map(ordered.toReversed().map((one) => [keyOf(one), one])).values());
  return [...new Set(permissions)].filter((one) => kept.has(one));
}

function includes(permissions: Permission[], wanted: Permission): boolean {
  return permissions.some((one) => keyOf(one) === keyOf(wanted));
}

function keyOf({ kind, subresource = '', verb, namespace = '' }: Permission): string {
  return [kind, subresource, verb, namespace].join(' ');
}
