import type { DevloopEvent } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { Then } from '../report/notices/controller.ts';
import type { Echo } from './echo.ts';

/** The shortest wait before another start of a controller that exits, or that changes its own sources. */
export const FIRST_BACK_OFF_MS = 1000;
/** The longest wait before another start: shorter than kubelet's five minutes, because a person is waiting. */
export const LONGEST_BACK_OFF_MS = 30_000;

/**
 * The life of a controller that is rebuilt while it runs: at most one build and at most one process, side by side. Requests are held only
 * while a process is being replaced or starts and nothing answers, so a held gate is always released.
 */
export interface State {
  build: Build;
  run: Run;
  /** The numbers of the newest build and process; what older ones report is stale. */
  lastBuild: number;
  lastRun: number;
  heldAt: number | undefined;
  /** When the newest process was started. */
  startedAt: number;
  /** The change that may be an effect of each start. */
  echo: Echo | undefined;
  /** Whether devloop builds the program; if not, each change is a new program at once. */
  isBuilt: boolean;
  /** Whether devloop keeps the last program that worked, and can start it again. */
  keepsWorked: boolean;
  /** The number of the newest build that succeeded, and of the build whose program was ready last. */
  newest: number;
  worked: number;
  /** The program of the newest process. */
  runs: Which;
  /** Why the newest source has no program that starts; absent while that is not known. */
  broken?: Problem | undefined;
  /** Why no controller runs, while none does. */
  failed?: Problem | undefined;
}

/** The program of the newest build, or the last program that worked. */
export type Which = 'newest' | 'worked';

export type Build =
  | { is: 'idle' }
  /** `since`: the time of the first change that this build contains. */
  | { is: 'running'; since: number }
  /** The controller itself keeps changing these files, so the next build waits. */
  | { is: 'delayed'; since: number; files: string[] }
  /** Nothing more is built: devloop is exiting, or the first program is built. */
  | { is: 'closed' };

export type Run =
  /** No build has succeeded yet, and nothing is started: after the first one that does, the take-over goes on. */
  | { is: 'unstarted' }
  | { is: 'down' }
  | { is: 'backing-off'; failures: number }
  /** `since`: the time of the change for which the process was started; undefined if it only replaces a process that exited. */
  | { is: 'starting'; since: number | undefined; failures: number }
  | { is: 'serving'; readyAt: number; failures: number }
  /** `since`: as for the process that is started then; `next`: its program. */
  | { is: 'stopping'; since: number | undefined; old: Old; next: Which };

/**
 * What is known about a process that has received SIGTERM. If it does not exit soon, it may still answer, because it is finishing its work
 * or delays its shutdown on purpose; then requests go to it. Or it is silent: it no longer answers, but has not exited.
 */
export type Old = 'ending' | 'answering' | 'silent';

/** `at` is the time of the event, in milliseconds of any monotonic clock. `changed` without files: the user asked for a restart. */
export type RestartEvent = { at: number } & (
  | { is: 'changed'; files: string[] }
  /** `identical`: to the program of the running process. `asWorked`: to the last one that worked. */
  | { is: 'built'; build: number; ms: number; identical: boolean; asWorked: boolean }
  | { is: 'build-failed'; build: number; ms: number; output: string }
  | { is: 'ready'; run: number; pid: number }
  | { is: 'not-ready'; run: number; problem: Problem }
  /**
   * `isWrong`: the program is not the manager, so it is not started again before a change. `neverBegan`: something other than the program
   * kept it from starting.
   */
  | {
      is: 'exited';
      run: number;
      code: number | null;
      isWrong?: boolean;
      neverBegan?: boolean;
      problem: Problem;
    }
  /** A process has received SIGTERM, but has not exited soon. `answers`: whether it still answers requests. */
  | { is: 'lingers'; run: number; answers: boolean }
  /** The controller is to be killed on purpose. */
  | { is: 'crash' }
  /** A held request has waited for half of its time. */
  | { is: 'half-waited' }
  | { is: 'back-off-over' }
  | { is: 'delay-over' }
  | { is: 'leave' }
);

export interface Problem {
  /** The code of the error. */
  error?: string;
  message: string;
  hint?: string;
}

export type Effect =
  | { do: 'hold' }
  | { do: 'release' }
  /** No controller runs for `ms`; `Infinity`: until the next change. */
  | { do: 'down'; why: string; ms: number }
  | { do: 'build'; build: number }
  | { do: 'abort-build' }
  | { do: 'stop'; run: number }
  /** Sends SIGKILL. */
  | { do: 'kill' }
  | { do: 'start'; run: number; program: Which }
  /** The newest program works, so it is kept in place of the one that worked before. */
  | { do: 'keep' }
  | { do: 'back-off'; ms: number }
  | { do: 'end-back-off' }
  | { do: 'delay-build'; ms: number }
  | { do: 'end-delay' }
  | { do: 'emit'; event: DevloopEvent };

export interface Transition {
  state: State;
  effects: Effect[];
}

/** The state in which a build serves. `lastBuild`: the number of the newest build. */
export function servingState(at: number, { lastBuild = 0, isBuilt = true, keepsWorked = false } = {}): State {
  return firstState({ is: 'serving', readyAt: at, failures: 0 }, { at, lastBuild, isBuilt, keepsWorked });
}

/** The state after a first build that failed. */
export function unstartedState(at: number): State {
  return firstState({ is: 'unstarted' }, { at, lastBuild: 0, isBuilt: true, keepsWorked: false });
}

function firstState(
  run: Run,
  { at, ...program }: { at: number } & Pick<State, 'lastBuild' | 'isBuilt' | 'keepsWorked'>,
): State {
  return {
    build: { is: 'idle' },
    run,
    lastRun: 0,
    heldAt: undefined,
    startedAt: at,
    echo: undefined,
    ...program,
    newest: program.lastBuild,
    worked: program.lastBuild,
    runs: 'newest',
  };
}

/** Whether nothing more will happen: after `leave`, or when the first program is built. */
export function isSettled({ build, run }: State): boolean {
  return build.is === 'closed' && (run.is === 'serving' || run.is === 'down' || run.is === 'unstarted');
}

export function unchanged(state: State): Transition {
  return { state, effects: [] };
}

export function emit(event: DevloopEvent): Effect {
  return { do: 'emit', event };
}

export function warn({ error, message: cause, hint: next }: Problem, then?: Then, seconds?: number): Effect {
  const known = {
    ...(error && { error }),
    ...(then && { then }),
    ...(next && { next }),
    seconds,
  };
  return emit(notice('controller.failed', { ...known, cause }));
}
