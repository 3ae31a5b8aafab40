import type { ReviewSummary } from './review.ts';

/**
 * What a session is doing. starting: it takes over. building: it makes a new build while the old one answers. restarting: it replaces the
 * controller while reviews wait. serving: the controller answers. held: somebody asked it to let reviews wait. stopped: the controller has
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
  /** current: the newest source answers. broken: it does not build, and the last one that did answers. `id`: the program that answers. */
  build: { is: 'current' | 'building' | 'broken'; id?: string };
  /** Absent until it is verified. */
  route?: { name: string; address: string; isOpen: boolean };
  isHeld: boolean;
  /** Whether changed files are built. */
  isFollowing: boolean;
  /** Where the controller has stopped in the debugger: `webhook.go:42 in Default`. Absent while it runs. */
  stoppedAt?: string;
  /** How many reviews wait at this moment, for whatever reason. */
  held: number;
  /** Until the first of the reviews without an answer has used up its budget. Absent if none waits, or nothing keeps the controller from answering. */
  secondsLeft?: number;
  /** In the last 60 seconds. */
  reviewsPerMinute: number;
  last?: ReviewSummary;
  /** false: the user starts the process that answers. */
  hasController: boolean;
}
