import type { CallHooks } from '../api-proxy/observed.ts';
import type { StandIn } from '../cluster/takeover/stand-in.ts';
import type { Work } from '../cluster/work.ts';
import type { TargetService } from '../operator/target.ts';
import type { DevloopEvent } from '../report/events.ts';
import type { ObservedCalls } from './calls/observed-calls.ts';
import type { RunningParts } from './end/end-up.ts';
import type { SessionFaults } from './faults/session-faults.ts';
import type { AnsweredReviews } from './reviews/answered.ts';
import type { Identity } from './start/identity.ts';
import type { SessionLeases } from './start/leases.ts';
import type { Session } from './start/session.ts';

/** A command that works with a session of its own in place of the user. */
export interface Guest {
  /** Sees the controller's calls. */
  hooks(of: CallHooks): CallHooks;
  /** Sees all events of the session. */
  observe(event: DevloopEvent): void;
  /** Called when everything is taken over and the controller runs. When it settles, the session ends. */
  attend(session: RunningSession): Promise<void>;
}

/** A session while it runs. */
export interface RunningSession extends Session {
  work: Work;
  leases: SessionLeases;
  answered: AnsweredReviews;
  /** As whom the controller reaches the API server. */
  identity: Identity;
  calls: ObservedCalls;
  faults: SessionFaults;
  guest: Guest | undefined;
  /** What `endUp` has to end; filled step by step. */
  standing: RunningParts;
  /** The webhook Services with all their calls as they are now. */
  called: TargetService[];
  /** The stand-in Pod, while devloop keeps it. */
  standIn?: StandIn;
  /** Everything that reacts to the cluster and the route until the end. */
  followers: AsyncDisposableStack;
  /** Everything that writes to the user's objects: it has to end before they are restored. */
  writers: AsyncDisposableStack;
  /** Ends the session if a Lease is lost, or if one of several parallel steps fails. */
  ending: AbortController;
}
