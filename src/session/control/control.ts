import type { Supervisor } from '../../controller/supervisor.ts';
import { DevloopError } from '../../errors.ts';
import type { DevloopEvent, Emit } from '../../report/events.ts';
import type { FaultSummary } from '../../report/fault.ts';
import type { SessionState } from '../../report/session-state.ts';
import type { WaitingReviews } from '../../reviews/recorder.ts';
import { type Facts, phaseOf } from '../context/observed.ts';
import type { FaultChange } from '../faults/session-faults.ts';
import type { Gateways } from '../route/gateways.ts';
import type { SessionEnvironment } from './environment.ts';
import { createWaits, NO_CONTROLLER, type Patience, untilServing } from './serving.ts';

/** What a person can do with a running session, by keys, by commands from another terminal, and on the page. */
export interface Control {
  state(): SessionState;
  /** Calls the listener after each change, except changes of `held` and `reviewsPerMinute`. The listener must be quick. */
  onState(listener: () => void): Disposable;
  /** Makes reviews wait after this call, each within its budget. Throws 'session.not-ready'. */
  hold(): void;
  /** Ends `hold`. Returns how many reviews were waiting. Throws 'session.not-ready'. */
  release(): number;
  /** Builds and restarts the controller, even if nothing has changed. Throws 'session.not-ready'. */
  restart(): void;
  /**
   * Sets whether changed files are built. While they are not, changes are only noted, and built as soon as files are followed again. Throws
   * 'session.not-ready'.
   */
  followFiles(on: boolean): void;
  /** What is needed to send recorded reviews again. */
  replaying(): ReplayFacts;
  /** Sends a recorded review to the controller again. Throws 'review.not-found'. */
  replay(id: string): Promise<ReplayedEvent>;
  /** The reviews without an answer. When this resolves, all others can be read from the recording. */
  waiting(): Promise<WaitingReviews>;
  /** Resolves when the newest source serves. Throws what failed in its build or start, 'session.not-ready' or 'wait.timeout'. */
  serving(patience: Patience): Promise<void>;
  /** Changes or lists what goes wrong on purpose. Throws 'fault.invalid'. */
  faults(wanted: FaultChange): FaultSummary[];
  /** What programs beside the session need to reach its API server. */
  environment(): Promise<SessionEnvironment>;
}

export type ReplayedEvent = Extract<DevloopEvent, { type: 'reviews.replayed' }>;

export interface ReplayFacts {
  /** JSONPaths of values that are to be replaced in the new answers, too. */
  paths: string[];
  /** The build that answers now. */
  build?: string;
  /** Ports for which reviews are recorded, each with the port where the controller listens; none if the cluster calls no webhook. */
  ports?: [number, number][];
}

/** The parts of a session that can be controlled; absent until they exist, or if the operator has none. */
export interface ControlledParts {
  gateways(): Pick<Gateways, 'holdForUser' | 'releaseForUser' | 'held'> | undefined;
  supervisor():
    | Pick<Supervisor, 'restart' | 'followFiles' | 'ignoredFiles' | 'look' | 'standing'>
    | undefined;
  replaying(): ReplayFacts;
  replay(id: string): Promise<ReplayedEvent>;
  waiting(): Promise<WaitingReviews>;
  faults: Control['faults'];
  environment: Control['environment'];
  /**
   * The reviews without an answer that have waited long enough to be seen, at the gate or at the controller, and the time in ms until the
   * first of them has used up its budget.
   */
  longWaits(): { count: number; leftMs?: number | undefined };
}

export interface ControlOptions {
  session: string;
  /** The operator's name. */
  name: string;
  facts: Pick<Facts, 'now'>;
  controlled: ControlledParts;
  emit: Emit;
  /** Aborted when the session ends; after that, nothing can be controlled. */
  signal: AbortSignal;
}

export interface ObservingControl extends Control {
  /** Called with each event of the session, after its facts have changed. */
  observe(event: DevloopEvent): void;
}

const NO_WAITS: ReturnType<ControlledParts['longWaits']> = { count: 0 };

export function createControl(options: ControlOptions): ObservingControl {
  const { session, name, facts, controlled, emit, signal } = options;
  const { replaying, replay, waiting, faults, environment } = controlled;
  const listeners = new Set<() => void>();
  const reviews = createRate();
  let told = facts.now;
  const changed = (): void => listeners.forEach((listener) => void listener());
  signal.addEventListener('abort', changed, { once: true });
  const phase = () => phaseOf(facts.now, signal.aborted);
  const waits = createWaits();
  const gateways = () => ready(session, phase(), controlled.gateways(), NO_WEBHOOKS);
  const supervisor = () => ready(session, phase(), controlled.supervisor(), NO_CONTROLLER);
  return {
    state() {
      const { isHeld, isFollowing, build, route, stoppedAt, last, account } = facts.now;
      const now = phase();
      // At a breakpoint, reviews wait at the controller and not at the gate.
      const { count, leftMs } = now === 'held' || now === 'stopped' ? controlled.longWaits() : NO_WAITS;
      return {
        ...{ session, name, phase: now, build, isHeld, isFollowing },
        ...(leftMs === undefined ? {} : { secondsLeft: Math.max(0, Math.floor(leftMs / 1000)) }),
        ...{ ...(route && { route }), stoppedAt, account, ...(last && { last }) },
        held: Math.max(count, controlled.gateways()?.held ?? 0),
        reviewsPerMinute: reviews.perMinute(),
        ...controllerState(controlled.supervisor()),
      };
    },
    onState(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    hold() {
      gateways().holdForUser();
      if (!facts.now.isHeld) emit({ type: 'reviews.held', session });
    },
    release() {
      const open = gateways();
      const waiting = facts.now.isHeld ? open.held : 0;
      open.releaseForUser();
      if (facts.now.isHeld) emit({ type: 'reviews.released', session, waiting });
      return waiting;
    },
    restart: () => supervisor().restart(),
    followFiles(on) {
      const controller = supervisor();
      if (on !== facts.now.isFollowing) emit(followEvent(on, controller));
      controller.followFiles(on);
    },
    ...{ replaying, replay, waiting, faults, environment },
    serving: (patience) => untilServing({ session, phase, facts, waits: waits.now, ...controlled }, patience),
    observe(event) {
      if (event.type === 'review') reviews.count();
      waits.observe(event);
      const isChanged = told !== facts.now;
      told = facts.now;
      if (isChanged) changed();
    },
  };
}

type Controlled = ReturnType<ControlledParts['supervisor']>;

function controllerState(controller: Controlled): Pick<SessionState, 'hasController' | 'ignoredFiles'> {
  return { hasController: controller !== undefined, ignoredFiles: controller?.ignoredFiles().length ?? 0 };
}

function followEvent(on: boolean, controller: NonNullable<Controlled>): DevloopEvent {
  return on ? { type: 'files.followed', files: controller.ignoredFiles() } : { type: 'files.ignored' };
}

function ready<T>(session: string, phase: SessionState['phase'], part: T | undefined, none: string): T {
  const refused = (why: string, hint?: string): DevloopError =>
    new DevloopError('session.not-ready', `Session ${session} ${why}.`, hint === undefined ? {} : { hint });
  if (phase === 'starting') throw refused('is still starting', 'Try again when `devloop up` prints `ready`.');
  if (phase === 'ending') throw refused('is ending, and is restoring everything');
  if (part === undefined) throw refused(none);
  return part;
}

const NO_WEBHOOKS = 'has no webhooks, so there are no reviews to hold';

const SECONDS = 60;

/** Counts per second, so that a thousand reviews in a second cost no more than one. */
function createRate(): { count(): void; perMinute(): number } {
  const counts = new Map<number, number>();
  const now = (): number => Math.floor(performance.now() / 1000);
  const forget = (): void => {
    for (const second of counts.keys()) if (second <= now() - SECONDS) counts.delete(second);
  };
  return {
    count() {
      forget();
      counts.set(now(), (counts.get(now()) ?? 0) + 1);
    },
    perMinute() {
      forget();
      return [...counts.values()].reduce((sum, count) => sum + count, 0);
    },
  };
}
