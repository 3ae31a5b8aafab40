import type { Compared } from '../../page/protocol.ts';
import { placeText } from '../../phrases.ts';
import type { DevloopEvent } from '../../report/events.ts';
import type { ReviewSummary } from '../../report/review.ts';
import type { SessionPhase, SessionState } from '../../report/session-state.ts';

/** What is known about a session from its events. Its Leases, the line at the bottom of the terminal, other terminals and the page show parts of it. */
export interface SessionFacts {
  phase: 'starting' | 'ready' | 'ending';
  /** The names of the Services that use the route. */
  services: string[];
  isHeld: boolean;
  isFollowing: boolean;
  /** `replaced`: a new process is being started. */
  controller: 'running' | 'replaced' | 'exited';
  /** Why the controller answers no reviews. */
  silence: string | undefined;
  build: SessionState['build'];
  /** Which build answers, if it is not that of the newest source. */
  outdated: string | undefined;
  /** What the compiler printed, if the last finished build failed. */
  compiler: string | undefined;
  route: SessionState['route'];
  /** Why reviews do not arrive, and the Services that have not been verified again yet. */
  loss: { problem: string; unverified: string[] } | undefined;
  /** Where the debugger has stopped the controller. */
  stoppedAt: string | undefined;
  last: ReviewSummary | undefined;
  /** The ids of the first reviews that the running build answers differently. */
  changed: string[];
  compared: Compared | undefined;
  /** The ServiceAccount as which the controller works. */
  account: string | undefined;
}

export function nothingYet(services: string[]): SessionFacts {
  return {
    ...{ phase: 'starting', services, isHeld: false, isFollowing: true },
    ...{ controller: 'running', silence: undefined },
    ...{ build: { is: 'current' }, outdated: undefined, compiler: undefined },
    ...{ route: undefined, loss: undefined, stoppedAt: undefined, last: undefined },
    ...{ changed: [], compared: undefined, account: undefined },
  };
}

/** The summary of a session that listens to its events, for all who show it. */
export class Facts {
  now: SessionFacts;

  /** `services`: the names of the Services that use the route. */
  constructor(services: string[]) {
    this.now = nothingYet(services);
  }

  observe(event: DevloopEvent): void {
    this.now = observedAfter(this.now, event);
  }
}

type Event<Type> = Extract<DevloopEvent, { type: Type }>;
type Changes = {
  [Type in DevloopEvent['type']]?: (event: Event<Type>, before: SessionFacts) => Partial<SessionFacts>;
};

/** Returns the same value if the event changes nothing in it. */
export function observedAfter(before: SessionFacts, event: DevloopEvent): SessionFacts {
  // TypeScript does not know that the entry belongs to this event.
  const change = CHANGES[event.type] as ((event: DevloopEvent, before: SessionFacts) => object) | undefined;
  return change === undefined ? before : { ...before, ...change(event, before) };
}

const MOST_CHANGED = 100;
const SILENT = 'the controller does not answer yet; reviews fail until it does';
const AT_BREAKPOINT = 'the controller is at a breakpoint, and reviews wait';

const answers = (): Partial<SessionFacts> => ({ controller: 'running', silence: undefined });
const stopped = (event: Event<'debug.stopped' | 'debug.stepped'>): Partial<SessionFacts> => ({
  stoppedAt: placeText(event),
  silence: AT_BREAKPOINT,
});

const CHANGES: Changes = {
  'session.ready': () => ({ phase: 'ready' }),
  'session.stopping': () => ({ phase: 'ending' }),
  review: ({ type: _, ...last }) => ({ last }),
  'reviews.held': () => ({ isHeld: true }),
  'reviews.released': () => ({ isHeld: false }),
  'files.ignored': () => ({ isFollowing: false }),
  'files.followed': () => ({ isFollowing: true }),
  'build.started': (_, { build, outdated }) => ({
    build: { ...build, is: 'building' },
    outdated: outdated && 'serving an earlier build; a newer source is being built',
  }),
  'build.done': (_, { build }) => ({
    ...{ build: { ...build, is: 'current' }, outdated: undefined, compiler: undefined },
  }),
  'build.failed': ({ output }, { build }) => ({
    build: { ...build, is: 'broken' },
    outdated: 'serving the last build; the current source does not build',
    compiler: output,
  }),
  'build.reverted': (_, { build }) => ({
    build: { ...build, is: 'broken' },
    outdated: 'serving the last build that worked; the newest one does not start',
  }),
  'controller.started': ({ build: id }, { build }) => ({
    ...{ controller: 'replaced', stoppedAt: undefined, build: { ...build, id } },
    ...{ changed: [], compared: undefined },
  }),
  'controller.identity': ({ account }) => ({ account }),
  'controller.silent': () => ({ silence: SILENT }),
  'controller.ready': answers,
  'controller.replaced': answers,
  // What is already known about the controller's exit is more precise.
  'controller.down': ({ why }, { silence }) => ({
    controller: 'exited',
    silence: silence ?? `reviews fail: ${why}`,
  }),
  'controller.exited': ({ expected, signal, code }) =>
    expected
      ? { controller: 'replaced' }
      : {
          controller: 'exited',
          silence: `the controller exited (${signal ?? `exit code ${code}`}); reviews fail until it serves again`,
        },
  'debug.stopped': stopped,
  'debug.stepped': stopped,
  'debug.running': () => ({ stoppedAt: undefined, silence: undefined }),
  'debug.left': (_, { silence }) => ({
    stoppedAt: undefined,
    silence: silence === AT_BREAKPOINT ? undefined : silence,
  }),
  'route.lost': ({ route, cause }, before) => ({
    route: before.route && { ...before.route, isOpen: false },
    loss: {
      problem: `the ${route} route is lost (${cause.replace(/\.$/, '')}); reconnecting`,
      unverified: before.services,
    },
  }),
  'route.reconnected': ({ route }, { services }) => ({
    loss: { problem: `the ${route} route is reconnected, but not verified yet`, unverified: services },
  }),
  'route.verified': verified,
  'reviews.replayed': ({ result, review, alike = [] }, { changed }) => {
    const ids = [...changed, review.id, ...alike.map(({ id }) => id)];
    return result === 'changed' ? { changed: ids.slice(0, MOST_CHANGED) } : {};
  },
  'reviews.compared': ({ replayed, changed }, { changed: ids }) => ({
    compared: { replayed, changed, ids },
  }),
};

/** After a loss, the route counts as verified once each Service is. Several ports are verified one after the other; the first one is shown for all. */
function verified(
  { route: name, address, service }: Event<'route.verified'>,
  before: SessionFacts,
): Partial<SessionFacts> {
  const { route, loss } = before;
  const unverified = (loss?.unverified ?? []).filter((one) => one !== service);
  return {
    route: route?.isOpen && route.name === name ? route : { name, address, isOpen: true },
    loss: loss === undefined || unverified.length === 0 ? undefined : { ...loss, unverified },
  };
}

/** One word for the whole state: what keeps reviews from the controller comes first. */
export function phaseOf(
  { phase, isHeld, controller, stoppedAt, build }: SessionFacts,
  isEnding: boolean,
): SessionPhase {
  if (isEnding || phase === 'ending') return 'ending';
  if (phase === 'starting') return 'starting';
  if (controller === 'exited') return 'failed';
  if (isHeld) return 'held';
  if (controller === 'replaced') return 'restarting';
  if (stoppedAt !== undefined) return 'stopped';
  return build.is === 'building' ? 'building' : 'serving';
}

/** The health of a session that is already ending and must not get another signal. */
export const ENDING = 'restoring';

const HELD = 'reviews are held; devloop release forwards them';
const WAITING = 'waiting for a build that succeeds; nothing is taken over yet';

/** The health as `status` shows it. If one part recovers, others can still be broken. */
export function healthOf({ phase, loss, silence, outdated, isHeld }: SessionFacts): string {
  if (phase === 'starting') return outdated === undefined ? 'starting' : WAITING;
  if (phase === 'ending') return ENDING;
  return loss?.problem ?? silence ?? (isHeld ? HELD : outdated) ?? 'serving';
}
