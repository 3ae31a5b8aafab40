import type { ReviewSummary } from './review.ts';

/**
 * What a session is doing. starting: it takes over. building: it makes a new build while the old one answers. restarting: it replaces the
 * controller while reviews wait. serving: the controller answers. held: somebody asked devloop to hold reviews. stopped: the controller has
 * stopped in the debugger. failed: the controller has exited. ending: it restores everything.
 */
export type SessionPhase =
  | 'starting'
  | 'building'
  | 'restarting'
  | 'serving'
  | 'held'
  | 'stopped'
  | 'failed'
  | 'ending';

/** A running session, as it is shown to whoever controls it. */
export interface SessionState {
  session: string;
  /** The name of the operator's manager. */
  name: string;
  phase: SessionPhase;
  /** current: the newest source answers. broken: it does not build or start, and the last one that did answers. `id`: the program that answers. */
  build: { is: 'current' | 'building' | 'broken'; id?: string };
  /** Absent until the route is verified. */
  route?: { name: string; address: string; isOpen: boolean };
  isHeld: boolean;
  /** Whether changed files are built. */
  isFollowing: boolean;
  /** How many files have changed since they are not built. */
  ignoredFiles: number;
  /** Where the controller has stopped in the debugger: `webhook.go:42 in Default`. Absent while it runs. */
  stoppedAt?: string;
  /** How many reviews wait at this moment, for whatever reason. */
  held: number;
  /**
   * How many seconds are left until the first of the waiting reviews has used up its budget. Absent if no review waits, or if reviews are
   * neither held nor stopped at a breakpoint.
   */
  secondsLeft?: number;
  /** How many reviews were answered in the last 60 seconds. */
  reviewsPerMinute: number;
  last?: ReviewSummary;
  /** Whether devloop starts the controller; otherwise the user starts the process that answers. */
  hasController: boolean;
  /** The ServiceAccount as which the controller works, as the API server calls it. Absent while it works as the user. */
  account?: string;
}

/** A running session that a person at the terminal watches and controls. */
export interface AttendedSession {
  state(): SessionState;
  /** Calls the listener after each change. */
  onState(listener: () => void): Disposable;
  /** A key was pressed that the keyboard does not handle itself. */
  onKey(key: string, all: SessionState[]): void;
}
