import type { DevloopEvent } from '../report/events.ts';
import type { Effect, Problem, RestartEvent, Run, State, Step } from './restart-state.ts';

const FIRST_BACK_OFF_MS = 1000;
/** A person waits for this, so it ends sooner than kubelet's five minutes. */
const LONGEST_BACK_OFF_MS = 30_000;
/** A process that served for so long starts again with a clean record. */
const STABLE_MS = 60_000;

/** What follows from an event: the one place where it is decided what a changed, built, ended or silent controller leads to. */
export function step(state: State, event: RestartEvent): Step {
  return withGate(state, transition(state, event), event.at);
}

function transition(state: State, event: RestartEvent): Step {
  switch (event.is) {
    case 'changed':
      return onChanged(state, event);
    case 'built':
    case 'build-failed':
      return state.build.is === 'running' && event.build === state.lastBuild
        ? onBuildEnded({ ...state, build: { is: 'idle' } }, state.build.since, event)
        : unchanged(state);
    case 'ready':
    case 'not-ready':
    case 'exited':
      return event.run === state.lastRun ? onRunEvent(state, event) : unchanged(state);
    case 'back-off-over':
      return state.run.is === 'backing-off'
        ? start(state, undefined, state.run.failures, [])
        : unchanged(state);
    case 'leave':
      return onLeave(state);
    default:
      return event satisfies never;
  }
}

/** The newest change wins: a build that does not know it is of no use. */
function onChanged(state: State, { files, at }: Extract<RestartEvent, { is: 'changed' }>): Step {
  if (state.build.is === 'closed') return unchanged(state);
  const build = state.lastBuild + 1;
  const since = state.build.is === 'running' ? state.build.since : at;
  const abort: Effect[] = state.build.is === 'running' ? [{ do: 'abort-build' }] : [];
  return {
    state: { ...state, build: { is: 'running', since }, lastBuild: build },
    effects: [...abort, say({ type: 'build.started', reason: files }), { do: 'build', build }],
  };
}

function onBuildEnded(
  state: State,
  since: number,
  event: Extract<RestartEvent, { is: 'built' | 'build-failed' }>,
): Step {
  if (event.is === 'build-failed') {
    return { state, effects: [say({ type: 'build.failed', ms: event.ms, output: event.output })] };
  }
  return adopt(state, since, event.same, say({ type: 'build.done', ms: event.ms }));
}

function adopt(state: State, since: number, same: boolean, done: Effect): Step {
  const { run } = state;
  switch (run.is) {
    case 'down':
      return start(state, since, 0, [done]);
    case 'backing-off':
      return start(state, since, 0, [done, { do: 'end-back-off' }]);
    case 'starting':
    case 'serving':
      if (same) return { state, effects: [done, say(SAME_PROGRAM)] };
      return {
        state: { ...state, run: { is: 'stopping', since: sinceOf(run) ?? since } },
        effects: [done, { do: 'stop' }],
      };
    case 'stopping':
      // What is started next is the newest build, whichever it is.
      return { state, effects: [done] };
    default:
      return run satisfies never;
  }
}

const SAME_PROGRAM: DevloopEvent = {
  type: 'note',
  message: 'the change makes no difference to the program, so it was not restarted',
};

function onRunEvent(state: State, event: Extract<RestartEvent, { run: number }>): Step {
  const { run } = state;
  if (event.is === 'exited') return onExited(state, event);
  if (run.is !== 'starting') return unchanged(state);
  const serving: State = { ...state, run: { is: 'serving', readyAt: event.at, failures: run.failures } };
  // It may still become ready; the gateway answers for it meanwhile, as holding on would only add to the wait.
  if (event.is === 'not-ready') return { state: serving, effects: [warn(event.problem)] };
  if (run.since === undefined) return { state: serving, effects: [] };
  const ms = Math.round(event.at - run.since);
  const heldMs = Math.round(event.at - (state.heldAt ?? event.at));
  return { state: serving, effects: [say({ type: 'controller.replaced', pid: event.pid, ms, heldMs })] };
}

function onExited(state: State, event: Extract<RestartEvent, { is: 'exited' }>): Step {
  const { run } = state;
  switch (run.is) {
    case 'stopping':
      return start(state, run.since, 0, []);
    case 'starting':
      // What was just written does not start: only another change can mend that.
      if (run.since !== undefined && event.code !== 0) return goDown(state, event.problem);
      return restart(state, event, run.failures);
    case 'serving':
      return restart(state, event, event.at - run.readyAt >= STABLE_MS ? 0 : run.failures);
    case 'down':
    case 'backing-off':
      return unchanged(state);
    default:
      return run satisfies never;
  }
}

/** As kubelet does. Exit code 0 is a manager's own wish to be restarted (certificate rotators do that), and comes first at once. */
function restart(state: State, event: Extract<RestartEvent, { is: 'exited' }>, failures: number): Step {
  if (state.build.is === 'closed') return goDown(state, event.problem);
  if (event.code === 0 && failures === 0) {
    const message = 'the controller ended with exit code 0, which asks for a restart';
    return start(state, undefined, 1, [say({ type: 'note', message })]);
  }
  const ms = Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** failures);
  return {
    state: { ...state, run: { is: 'backing-off', failures: failures + 1 } },
    effects: [
      warn(advised(event.problem, `It is started again in ${ms / 1000} s, or at the next change.`)),
      notice(event.problem, `it is started again in ${ms / 1000} s, or at the next change`, ms),
      { do: 'back-off', ms },
    ],
  };
}

function goDown(state: State, problem: Problem): Step {
  const told =
    state.build.is === 'closed' ? problem : advised(problem, 'It is started again at the next change.');
  const absent = notice(problem, 'it is started again at the next change', Number.POSITIVE_INFINITY);
  return {
    state: { ...state, run: { is: 'down' } },
    effects: state.build.is === 'closed' ? [warn(told)] : [warn(told), absent],
  };
}

/** For the answer to a review, which is one line. */
function notice({ message }: Problem, next: string, ms: number): Effect {
  const what = message.split('\n', 1)[0]!.replace(/^The/, 'the');
  return { do: 'give-notice', why: `${what}; ${next}`, ms };
}

function advised(problem: Problem, advice: string): Problem {
  return { ...problem, hint: problem.hint === undefined ? advice : `${problem.hint} ${advice}` };
}

/** No more builds; a replacement that has begun is brought to its end, as requests wait for it. */
function onLeave(state: State): Step {
  const effects: Effect[] = state.build.is === 'running' ? [{ do: 'abort-build' }] : [];
  const backingOff = state.run.is === 'backing-off';
  if (backingOff) effects.push({ do: 'end-back-off' });
  return {
    state: { ...state, build: { is: 'closed' }, run: backingOff ? { is: 'down' } : state.run },
    effects,
  };
}

function start(state: State, since: number | undefined, failures: number, before: Effect[]): Step {
  const lastRun = state.lastRun + 1;
  return {
    state: { ...state, lastRun, run: { is: 'starting', since, failures } },
    effects: [...before, { do: 'start', run: lastRun }],
  };
}

function sinceOf(run: Run): number | undefined {
  return run.is === 'starting' ? run.since : undefined;
}

function unchanged(state: State): Step {
  return { state, effects: [] };
}

function say(event: DevloopEvent): Effect {
  return { do: 'say', event };
}

function warn(problem: Problem): Effect {
  return say({ type: 'warning', ...problem });
}

/** Holds before anything else is done and releases after it, wherever a transition begins or ends a replacement. */
function withGate(before: State, { state, effects }: Step, at: number): Step {
  const held = state.run.is === 'stopping' || state.run.is === 'starting';
  if (held === (before.heldAt !== undefined)) return { state, effects };
  if (held) return { state: { ...state, heldAt: at }, effects: [{ do: 'hold' }, ...effects] };
  return { state: { ...state, heldAt: undefined }, effects: [...effects, { do: 'release' }] };
}
