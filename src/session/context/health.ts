import type { DevloopEvent } from '../../report/events.ts';

/** How a session does: what stands in the way of serving, part by part, since one that is well again says nothing of the others. */
export interface Health {
  phase: 'starting' | 'ready' | 'ending';
  /** Why reviews do not arrive here, and the Services of which that is not known to be over. */
  route: { problem: string; unproven: string[] } | undefined;
  controller: string | undefined;
  source: string | undefined;
}

export const STARTING: Health = {
  phase: 'starting',
  route: undefined,
  controller: undefined,
  source: undefined,
};

/** Said of itself by a session that must not be told to end once more. */
export const ENDING = 'putting everything back';

/** In the words that `status` shows. Pure. */
export function wordsFor({ phase, route, controller, source }: Health): string {
  if (phase === 'starting') return 'starting';
  if (phase === 'ending') return ENDING;
  return route?.problem ?? controller ?? source ?? 'serving';
}

/** `services` are those that the route carries reviews of: after a loss it counts as proven once each of them is. Pure. */
export function healthAfter(health: Health, event: DevloopEvent, services: string[]): Health {
  switch (event.type) {
    case 'session.ready':
      return { ...health, phase: 'ready' };
    case 'session.stopping':
      return { ...health, phase: 'ending' };
    case 'build.done':
      return { ...health, source: undefined };
    case 'build.failed':
      return {
        ...health,
        source: 'serving the last program that was built; the newest source does not build',
      };
    case 'controller.ready':
    case 'controller.replaced':
      return { ...health, controller: undefined };
    case 'controller.exited':
      if (event.expected) return health;
      return {
        ...health,
        controller: `the controller ended (${event.signal ?? `exit code ${event.code}`}); reviews fail until it serves again`,
      };
    default:
      return { ...health, route: routeAfter(health.route, event, services) };
  }
}

function routeAfter(route: Health['route'], event: DevloopEvent, services: string[]): Health['route'] {
  switch (event.type) {
    case 'route.lost': {
      const problem = `the ${event.route} route is lost (${event.cause.replace(/\.$/, '')}) and is being mended`;
      return { problem, unproven: services };
    }
    case 'route.reconnected':
      return { problem: `the ${event.route} route is back, but not proven yet`, unproven: services };
    case 'route.verified': {
      const unproven = (route?.unproven ?? []).filter((one) => one !== event.service);
      return route === undefined || unproven.length === 0 ? undefined : { ...route, unproven };
    }
    default:
      return route;
  }
}
