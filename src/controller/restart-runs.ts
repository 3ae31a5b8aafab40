/** What happens to the controller's process: it starts, serves, is stopped for a new build, or exits. */

import { backOff } from '../async.ts';
import { notice } from '../report/notices/catalogue.ts';
import {
  type Effect,
  emit,
  FIRST_BACK_OFF_MS,
  LONGEST_BACK_OFF_MS,
  type Problem,
  type RestartEvent,
  type State,
  type Transition,
  unchanged,
  warn,
} from './restart-state.ts';

/** When a process exits after it has served for this long, earlier failures no longer count. */
const STABLE_MS = 60_000;

/** Starts the newest program. */
export function start(
  state: State,
  since: number | undefined,
  failures: number,
  before: Effect[],
): Transition {
  return startAgain({ ...state, runs: 'newest' }, since, failures, before);
}

/** Starts the program that ran before. */
export function startAgain(
  state: State,
  since: number | undefined,
  failures: number,
  before: Effect[],
): Transition {
  const lastRun = state.lastRun + 1;
  return {
    state: { ...state, lastRun, run: { is: 'starting', since, failures } },
    effects: [...before, { do: 'start', run: lastRun, program: state.runs }],
  };
}

export function onRunEvent(state: State, event: Extract<RestartEvent, { run: number }>): Transition {
  const { run } = state;
  if (event.is === 'exited') return onExited(state, event);
  if (event.is === 'lingers') return onLingers(state, event);
  if (run.is !== 'starting') return unchanged(state);
  const serving: State = { ...state, run: { is: 'serving', readyAt: event.at, failures: run.failures } };
  if (event.is === 'not-ready') {
    if (isUnproven(state) && state.build.is !== 'closed') return stopForWorked(state, event);
    // The controller may still become ready. Holding requests for longer would only add to their wait.
    return { state: serving, effects: [warn(event.problem)] };
  }
  if (isUnproven(state)) {
    const next = onRunEvent({ ...state, worked: state.newest }, event);
    return { ...next, effects: [{ do: 'keep' }, ...next.effects] };
  }
  if (run.since === undefined || state.runs === 'worked') return { state: serving, effects: [] };
  const ms = Math.round(event.at - run.since);
  const heldMs = Math.round(event.at - (state.heldAt ?? event.at));
  return { state: serving, effects: [emit({ type: 'controller.replaced', pid: event.pid, ms, heldMs })] };
}

/** Whether the process runs a program of which it is not known that it works, in place of one that does. */
function isUnproven({ keepsWorked, runs, newest, worked }: State): boolean {
  return keepsWorked && runs === 'newest' && newest !== worked;
}

/** The new program does not become ready: it makes way for the last one that worked. */
function stopForWorked(
  state: State,
  { at, problem }: Extract<RestartEvent, { is: 'not-ready' }>,
): Transition {
  return {
    state: { ...state, run: { is: 'stopping', since: at, old: 'ending', next: 'worked' }, broken: problem },
    effects: [...reverted(problem), { do: 'stop', run: state.lastRun }],
  };
}

function reverted(problem: Problem): Effect[] {
  const why = problem.message.split('\n', 1)[0]!;
  return [warn(problem, 'runs-last-build'), emit({ type: 'build.reverted', why })];
}

/** As long as the old process answers, no request has to wait for the new program. */
function onLingers(state: State, { answers }: Extract<RestartEvent, { is: 'lingers' }>): Transition {
  const { run } = state;
  if (run.is !== 'stopping') return unchanged(state);
  return {
    state: { ...state, run: { ...run, old: answers ? 'answering' : 'silent' } },
    effects: answers ? [emit(notice('controller.still-answering', {}))] : [],
  };
}

/**
 * A review has waited for half of its time, so a silent old process is killed: the other half is for the start of the new program. Two
 * processes never run at once, because both would work on the same objects.
 */
export function onHalfWaited(state: State): Transition {
  const { run } = state;
  if (run.is !== 'stopping' || run.old !== 'silent') return unchanged(state);
  return {
    state: { ...state, run: { ...run, old: 'ending' } },
    effects: [emit(notice('controller.killed', {})), { do: 'kill' }],
  };
}

/** Kills the process, and starts the same program again as soon as it has ended: nobody has to wait for what was meant to happen. */
export function onCrash(state: State): Transition {
  const { run, runs } = state;
  if (run.is !== 'starting' && run.is !== 'serving') return unchanged(state);
  return {
    state: { ...state, run: { is: 'stopping', since: undefined, old: 'ending', next: runs } },
    effects: [{ do: 'kill' }],
  };
}

function onExited(state: State, event: Extract<RestartEvent, { is: 'exited' }>): Transition {
  const { run } = state;
  const isFailure = event.isWrong || event.code !== 0;
  if (run.is === 'starting' && isFailure && !event.neverBegan && isUnproven(state))
    return startAgain(
      { ...state, runs: 'worked', broken: event.problem },
      run.since,
      0,
      reverted(event.problem),
    );
  if (event.isWrong && (run.is === 'starting' || run.is === 'serving')) return goDown(state, event.problem);
  switch (run.is) {
    case 'stopping':
      return startAgain({ ...state, runs: run.next }, run.since, 0, []);
    case 'starting':
      // The new program does not start: only another change can fix that.
      if (run.since !== undefined && event.code !== 0) return goDown(state, event.problem);
      return restart(state, event, run.failures);
    case 'serving':
      return restart(state, event, event.at - run.readyAt >= STABLE_MS ? 0 : run.failures);
    case 'unstarted':
    case 'down':
    case 'backing-off':
      return unchanged(state);
    default:
      return run satisfies never;
  }
}

/**
 * Restarts the controller after growing delays, as kubelet does. Restarts it at once after the first exit with code 0, because a
 * certificate rotator, for example, exits in this way.
 */
function restart(state: State, event: Extract<RestartEvent, { is: 'exited' }>, failures: number): Transition {
  if (state.build.is === 'closed') return goDown(state, event.problem);
  if (event.code === 0 && failures === 0)
    return startAgain(state, undefined, 1, [emit(notice('controller.exited', {}))]);
  const ms = backOff(failures, FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS);
  return {
    state: { ...state, run: { is: 'backing-off', failures: failures + 1 }, failed: event.problem },
    effects: [
      warn(event.problem, 'restarts', ms / 1000),
      downEffect(event.problem, `devloop restarts it in ${ms / 1000} s, or at the next change`, ms),
      { do: 'back-off', ms },
    ],
  };
}

const ENDING = 'the session is ending, so devloop does not restart it';

function goDown(state: State, problem: Problem): Transition {
  const down: State = { ...state, run: { is: 'down' }, failed: problem };
  if (state.build.is === 'closed')
    return {
      state: down,
      effects: [warn(problem), downEffect(problem, ENDING, Number.POSITIVE_INFINITY)],
    };
  return {
    state: down,
    effects: [
      warn(problem, 'waits-for-change'),
      downEffect(problem, 'devloop restarts it at the next change', Number.POSITIVE_INFINITY),
    ],
  };
}

function downEffect(problem: Problem, next: string, ms: number): Effect {
  return { do: 'down', why: reasonOf(problem, next), ms };
}

/** The reason why a review fails while no controller runs: one line, with what happens next. */
export function reasonOf({ message }: Pick<Problem, 'message'>, next: string): string {
  const what = message.split('\n', 1)[0]!.replace(/^The/, 'the').replace(/\.$/, '');
  return `${what}; ${next}`;
}
