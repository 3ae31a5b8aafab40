import type { DevloopEvent } from '../../report/events.ts';

/** A session's health, kept separately for each part: if one part recovers, others can still be broken. */
export interface Health {
  phase: 'starting' | 'ready' | 'ending';
  /** Why reviews do not arrive, and the Services that have not been verified again yet. */
  route: { problem: string; unverified: string[] } | undefined;
  controller: string | undefined;
  source: string | undefined;
  /** Whether the user asked devloop to hold reviews. */
  isHeld: boolean;
}

export const STARTING: Health = {
  phase: 'starting',
  route: undefined,
  controller: undefined,
  source: undefined,
  isHeld: false,
};

/** The health of a session that is already ending and must not get another signal. */
export const ENDING = 'restoring';

const HELD = 'reviews are held; devloop release forwards them';

const STOPPED = 'the controller is at a breakpoint, and reviews wait';

const WAITING = 'waiting for a build that succeeds; nothing is taken over yet';

const SILENT = 'the controller does not answer yet; reviews fail until it does';

/** The health as `status` shows it. */
export function wordsFor({ phase, route, controller, source, isHeld }: Health): string {
  if (phase === 'starting') return source === undefined ? 'starting' : WAITING;
  if (phase === 'ending') return ENDING;
  return route?.problem ?? controller ?? (isHeld ? HELD : source) ?? 'serving';
}

/**
 * The health after the event. `services`: the names of the Services that use the route. After a loss, the route counts as verified once
 * each of them is verified.
 */
export function healthAfter(health: Health, event: DevloopEvent, services: string[]): Health {
  switch (event.type) {
    case 'session.ready':
      return { ...health, phase: 'ready' };
    case 'session.stopping':
      return { ...health, phase: 'ending' };
    case 'reviews.held':
      return { ...health, isHeld: true };
    case 'reviews.released':
      return { ...health, isHeld: false };
    case 'build.started':
      return {
        ...health,
        source: health.source && 'serving an earlier build; a newer source is being built',
      };
    case 'build.done':
      return { ...health, source: undefined };
    case 'build.failed':
      return {
        ...health,
        source: 'serving the last build; the current source does not build',
      };
    case 'build.reverted':
      return { ...health, source: 'serving the last build that worked; the newest one does not start' };
    case 'controller.silent':
      return { ...health, controller: SILENT };
    case 'controller.down':
      // What is already known about the controller's exit is more precise.
      return { ...health, controller: health.controller ?? `reviews fail: ${event.why}` };
    case 'debug.stopped':
    case 'debug.stepped':
      return { ...health, controller: STOPPED };
    case 'debug.running':
    case 'controller.ready':
    case 'controller.replaced':
      return { ...health, controller: undefined };
    case 'controller.exited':
      if (event.expected) return health;
      return {
        ...health,
        controller: `the controller exited (${event.signal ?? `exit code ${event.code}`}); reviews fail until it serves again`,
      };
    default:
      return { ...health, route: routeAfter(health.route, event, services) };
  }
}

function routeAfter(route: Health['route'], event: DevloopEvent, services: string[]): Health['route'] {
  switch (event.type) {
    case 'route.lost': {
      const problem = `the ${event.route} route is lost (${event.cause.replace(/\.$/, '')}); reconnecting`;
      return { problem, unverified: services };
    }
    case 'route.reconnected':
      return {
        problem: `the ${event.route} route is reconnected, but not verified yet`,
        unverified: services,
      };
    case 'route.verified': {
      const unverified = (route?.unverified ?? []).filter((one) => one !== event.service);
      return route === undefined || unverified.length === 0 ? undefined : { ...route, unverified };
    }
    default:
      return route;
  }
}
