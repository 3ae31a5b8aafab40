import { join } from 'node:path';
import { ACTIONS, type ActionName } from '../../report/actions.ts';
import type { DevloopEvent } from '../../report/events.ts';
import type { FaultSummary } from '../../report/fault.ts';
import type { SessionState } from '../../report/session-state.ts';
import type { WaitingReviews } from '../../reviews/recorder.ts';
import type { FaultChange } from '../faults/session-faults.ts';
import type { Actions } from './actions.ts';
import type { Control, ReplayFacts } from './control.ts';
import type { SessionEnvironment } from './environment.ts';
import type { Restored, RestoredEvent } from './restored.ts';

/**
 * What another process of this user can ask of a running session, and what it gets. Over the socket, a request is one line of JSON
 * (`{"v":1,"do":"hold"}`, with the fields of `asked`), and the last line that comes back is its answer or its error.
 */
export type Requests = Questions & {
  [Name in Exclude<ActionName, 'release'>]: { asked: object; answer: SessionState };
} & { release: { asked: object; answer: { waiting: number } } };

interface Questions {
  state: { asked: object; answer: SessionState };
  replaying: { asked: object; answer: ReplayFacts };
  waiting: { asked: object; answer: WaitingReviews };
  faults: { asked: FaultChange; answer: FaultSummary[] };
  /** What programs beside the session need to reach its API server. */
  environment: { asked: object; answer: SessionEnvironment };
  /** Answered when the session has restored everything. */
  restored: { asked: object; answer: RestoredEvent };
  /** Answered when the newest source serves, or with what failed in its build or start. */
  wait: { asked: { limitMs: number }; answer: SessionState };
}

export type RequestName = keyof Requests;

export interface Caller {
  /** Sends an event before the answer. */
  emit(event: DevloopEvent): void;
  /** Aborted when the other process is gone. */
  signal: AbortSignal;
}

export type Handlers = {
  [Name in RequestName]: (
    asked: Requests[Name]['asked'],
    caller: Caller,
  ) => Requests[Name]['answer'] | Promise<Requests[Name]['answer']>;
};

export function handlersOf(control: Control, actions: Actions, restored: Restored): Handlers {
  const done = (name: ActionName) => async (): Promise<SessionState> => {
    await actions[name]();
    return control.state();
  };
  const names = Object.keys(ACTIONS) as ActionName[];
  const all = Object.fromEntries(names.map((name) => [name, done(name)]));
  return {
    ...(all as Record<ActionName, ReturnType<typeof done>>),
    release: () => ({ waiting: actions.release() }),
    state: () => control.state(),
    replaying: () => control.replaying(),
    waiting: () => control.waiting(),
    faults: (asked) => control.faults(asked),
    environment: () => control.environment(),
    restored: () => restored.event,
    async wait({ limitMs }, caller) {
      await control.serving({ limitMs, ...caller });
      return control.state();
    },
  };
}

/** Increased when a field is removed or changes its meaning. */
export const PROTOCOL_VERSION = 1;

/** One line of what the session sends back. */
export type Reply = { v: number } & (
  | { event: DevloopEvent }
  | { answer: unknown }
  | { error: { code: string; message: string; hint?: string } }
);

export function socketPath(directory: string): string {
  return join(directory, 'control.sock');
}
