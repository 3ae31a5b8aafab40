import type { CallEvent } from './events/calls.ts';
import type { CommandEvent } from './events/command.ts';
import type { ControllerEvent } from './events/controller.ts';
import type { ReviewEvent } from './events/reviews.ts';
import type { SessionEvent } from './events/session.ts';
import type { TrialEvent } from './events/trials.ts';

export type { Discovered, Progress, Verdict } from './events/command.ts';

/**
 * Everything that a person or a script can see of devloop. Code emits events; `human` and `json` print them.
 * Times are in milliseconds unless the name says seconds.
 */
export type DevloopEvent =
  | CommandEvent
  | SessionEvent
  | ControllerEvent
  | CallEvent
  | ReviewEvent
  | TrialEvent;

/** `deployment`: the Deployment whose session the event is about, as the user named it; absent if there is only one session. */
export type Emit = (event: DevloopEvent, deployment?: string) => void;
