import type { RouteChoice } from '../../config/route-choice.ts';
import type { Target } from '../../operator/target.ts';
import { direct } from './direct.ts';
import { embedded } from './embedded.ts';
import { relay } from './relay.ts';
import type { RouteKind, RoutePlan, RouteSettings } from './routing.ts';
import { ssh } from './ssh.ts';

/** All kinds of routes, in the order in which `auto` tries them. */
export const ROUTE_KINDS: RouteKind[] = [direct, relay, ssh];

/** The routes that the settings allow, in the order in which they are tried. */
export function planRoutes(target: Target, settings: RouteSettings): RoutePlan[] {
  if (target.services.length === 0) return [];
  const kinds = settings.isEmbedded ? [embedded] : chosenKinds(settings.choice);
  return kinds.map((kind) => ({ name: kind.name, ...kind.plan(target, settings) }));
}

/** The names of the routes that are tried. */
export function routeNames(choice: RouteChoice): string[] {
  return chosenKinds(choice).map(({ name }) => name);
}

function chosenKinds(choice: RouteChoice): RouteKind[] {
  if (choice === 'auto') return ROUTE_KINDS.filter(({ isAutomatic }) => isAutomatic);
  const chosen = typeof choice === 'string' ? choice : Object.keys(choice)[0];
  return ROUTE_KINDS.filter(({ name }) => name === chosen);
}
