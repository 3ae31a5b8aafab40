import { DevloopError } from '../../errors.ts';
import type { Route } from '../../route/route.ts';

/**
 * kube-apiserver does not get through: what it says (`message` ends with its cause), and what this end of the route can tell of
 * why, with the cure. `otherwise` is the hint where this end knows of nothing.
 */
export async function notReached(route: Route, message: string, otherwise: string): Promise<DevloopError> {
  const explained = await route.explain();
  const why = explained === undefined ? '' : `\n  ${explained.cause}`;
  return new DevloopError('route.none', `${message}${why}`, { hint: explained?.hint ?? otherwise });
}
