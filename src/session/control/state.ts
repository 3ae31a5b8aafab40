import { placeText } from '../../phrases.ts';
import type { DevloopEvent } from '../../report/events.ts';
import type { ReviewSummary } from '../../report/review.ts';
import type { SessionPhase, SessionState } from '../../report/session-state.ts';

/** What is known about a session from its events. */
export interface Observed {
  isReady: boolean;
  isHeld: boolean;
  isFollowing: boolean;
  /** `replaced`: a new process is being started. */
  controller: 'running' | 'replaced' | 'exited';
  build: SessionState['build'];
  route: SessionState['route'];
  /** Where the debugger has stopped the controller. */
  stoppedAt: string | undefined;
  last: ReviewSummary | undefined;
}

export const NOTHING_YET: Observed = {
  isReady: false,
  isHeld: false,
  isFollowing: true,
  controller: 'running',
  build: { is: 'current' },
  route: undefined,
  stoppedAt: undefined,
  last: undefined,
};

/** Returns the same value if the event changes nothing in it. */
export function observedAfter(before: Observed, event: DevloopEvent): Observed {
  switch (event.type) {
    case 'session.ready':
      return { ...before, isReady: true };
    case 'review': {
      const { type: _, ...last } = event;
      return { ...before, last };
    }
    case 'reviews.held':
      return { ...before, isHeld: true };
    case 'reviews.released':
      return { ...before, isHeld: false };
    case 'files.ignored':
      return { ...before, isFollowing: false };
    case 'files.followed':
      return { ...before, isFollowing: true };
    case 'route.verified':
      return { ...before, route: routeAfter(before.route, event) };
    case 'debug.stopped':
    case 'debug.stepped':
      return { ...before, stoppedAt: placeText(event) };
    case 'debug.running':
    case 'debug.left':
      return { ...before, stoppedAt: undefined };
    case 'route.lost':
      return { ...before, route: before.route && { ...before.route, isOpen: false } };
    default:
      return programAfter(before, event);
  }
}

/** Several ports are verified one after the other; the first one is shown for all. */
function routeAfter(
  before: Observed['route'],
  { route: name, address }: Extract<DevloopEvent, { type: 'route.verified' }>,
): Observed['route'] {
  return before?.isOpen && before.name === name ? before : { name, address, isOpen: true };
}

/** The state after an event about the process or the build that it runs. */
function programAfter(before: Observed, event: DevloopEvent): Observed {
  switch (event.type) {
    case 'build.started':
      return { ...before, build: { ...before.build, is: 'building' } };
    case 'build.failed':
    case 'build.reverted':
      return { ...before, build: { ...before.build, is: 'broken' } };
    case 'build.done':
      return { ...before, build: { ...before.build, is: 'current' } };
    case 'controller.started':
      return {
        ...before,
        ...{ controller: 'replaced', stoppedAt: undefined, build: { ...before.build, id: event.build } },
      };
    case 'controller.ready':
    case 'controller.replaced':
      return { ...before, controller: 'running' };
    case 'controller.down':
      return { ...before, controller: 'exited' };
    case 'controller.exited':
      return { ...before, controller: event.expected ? 'replaced' : 'exited' };
    default:
      return before;
  }
}

/** One word for the whole state: what keeps reviews from the controller comes first. */
export function phaseOf(
  { isReady, isHeld, controller, stoppedAt, build }: Omit<Observed, 'isFollowing' | 'route' | 'last'>,
  isEnding: boolean,
): SessionPhase {
  if (isEnding) return 'ending';
  if (!isReady) return 'starting';
  if (controller === 'exited') return 'failed';
  if (isHeld) return 'held';
  if (controller === 'replaced') return 'restarting';
  if (stoppedAt !== undefined) return 'stopped';
  return build.is === 'building' ? 'building' : 'serving';
}
