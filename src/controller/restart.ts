import { backOff } from '../async.ts';
import type { DevloopEvent } from '../report/events.ts';
import { type Echo, echoAfter, isCertain, timesTooOften } from './echo.ts';
import type { Effect, Problem, RestartEvent, Run, State, Step } from './restart-state.ts';

const FIRST_BACK_OFF_MS = 1000;
/** Shorter than kubelet's five minutes, because a person is waiting. */
const LONGEST_BACK_OFF_MS = 30_000;
/** After serving for this long, a process that exits starts with a clean record. */
const STABLE_MS = 60_000;

/** The one place that decides what happens when the sources change, a build ends, or the controller becomes ready, stays silent or exits. */
export function step(state: State, event: RestartEvent): Step {
  return withGate(state, withStartTime(transition(state, event), event.at), event.at);
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
    case 'lingers':
      return event.run === state.lastRun ? onRunEvent(state, event) : unchanged(state);
    case 'half-waited':
      return onHalfWaited(state);
    case 'back-off-over':
      return state.run.is === 'backing-off'
        ? start(state, undefined, state.run.failures, [])
        : unchanged(state);
    case 'delay-over':
      return state.build.is === 'delayed'
        ? startBuild(state, state.build.since, state.build.files, [])
        : unchanged(state);
    case 'leave':
      return onLeave(state);
    default:
      return event satisfies never;
  }
}

/** The newest change wins: a build without it is aborted. What the controller itself keeps changing has to wait. */
function onChanged(before: State, { files, at }: Extract<RestartEvent, { is: 'changed' }>): Step {
  const { build } = before;
  if (build.is === 'closed') return unchanged(before);
  const delayMs = at - before.startedAt;
  const echo = echoAfter(before.echo, { files, delayMs, run: before.lastRun });
  const state: State = { ...before, echo };
  const isOwn = (known: string[]): boolean => files.length > 0 && files.every((file) => known.includes(file));
  if (build.is === 'delayed') {
    if (isOwn(build.files)) return unchanged(state);
    return startBuild(state, build.since, files, [{ do: 'end-delay' }]);
  }
  if (build.is === 'running') return startBuild(state, build.since, files, [{ do: 'abort-build' }]);
  if (echo && isCertain(echo) && isOwn(echo.files) && echo.run === state.lastRun)
    return delayBuild(state, echo, at);
  return startBuild(state, at, files, []);
}

function startBuild(state: State, since: number, files: string[], before: Effect[]): Step {
  const build = state.lastBuild + 1;
  return {
    state: { ...state, build: { is: 'running', since }, lastBuild: build },
    effects: [...before, emit({ type: 'build.started', reason: files }), { do: 'build', build }],
  };
}

function delayBuild(state: State, echo: Echo, at: number): Step {
  const ms = backOff(timesTooOften(echo), FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS);
  const { files, count } = echo;
  const message = `The controller itself seems to change ${files.join(', ')}: that happened at the same moment after each of the last ${count} starts. devloop restarts it in ${ms / 1000} s.`;
  return {
    state: { ...state, build: { is: 'delayed', since: at, files } },
    effects: [warn({ message, hint: WATCH_LESS }), { do: 'delay-build', ms }],
  };
}

const WATCH_LESS =
  'Add the file to .gitignore, or name what to watch in devloop.yaml: controller: {watch: […]}';

function onBuildEnded(
  state: State,
  since: number,
  event: Extract<RestartEvent, { is: 'built' | 'build-failed' }>,
): Step {
  if (event.is === 'build-failed') {
    return { state, effects: [emit({ type: 'build.failed', ms: event.ms, output: event.output })] };
  }
  return adopt(state, since, event.identical, emit({ type: 'build.done', ms: event.ms }));
}

function adopt(state: State, since: number, identical: boolean, done: Effect): Step {
  const { run } = state;
  switch (run.is) {
    case 'down':
      return start(state, since, 0, [done]);
    case 'backing-off':
      return start(state, since, 0, [done, { do: 'end-back-off' }]);
    case 'starting':
    case 'serving':
      if (identical) return { state, effects: [done, emit(IDENTICAL_BUILD)] };
      return {
        state: { ...state, run: { is: 'stopping', since: sinceOf(run) ?? since, old: 'ending' } },
        effects: [done, { do: 'stop', run: state.lastRun }],
      };
    case 'stopping':
      // The newest build is started next in any case.
      return { state, effects: [done] };
    default:
      return run satisfies never;
  }
}

const IDENTICAL_BUILD: DevloopEvent = {
  type: 'note',
  message: 'the new build is identical, so the controller was not restarted',
};

function onRunEvent(state: State, event: Extract<RestartEvent, { run: number }>): Step {
  const { run } = state;
  if (event.is === 'exited') return onExited(state, event);
  if (event.is === 'lingers') return onLingers(state, event);
  if (run.is !== 'starting') return unchanged(state);
  const serving: State = { ...state, run: { is: 'serving', readyAt: event.at, failures: run.failures } };
  // It may still become ready. Holding requests for longer would only add to their wait.
  if (event.is === 'not-ready') return { state: serving, effects: [warn(event.problem)] };
  if (run.since === undefined) return { state: serving, effects: [] };
  const ms = Math.round(event.at - run.since);
  const heldMs = Math.round(event.at - (state.heldAt ?? event.at));
  return { state: serving, effects: [emit({ type: 'controller.replaced', pid: event.pid, ms, heldMs })] };
}

/** As long as it answers, nobody has to wait for the new program. */
function onLingers(state: State, { answers }: Extract<RestartEvent, { is: 'lingers' }>): Step {
  const { run } = state;
  if (run.is !== 'stopping') return unchanged(state);
  return {
    state: { ...state, run: { ...run, old: answers ? 'answering' : 'silent' } },
    effects: answers ? [emit(STILL_ANSWERING)] : [],
  };
}

const STILL_ANSWERING: DevloopEvent = {
  type: 'note',
  message: 'the old controller has not ended yet and goes on answering; the new one starts when it has ended',
};

/** The other half is for the start of the new program. Never are there two processes, which would work on the same objects. */
function onHalfWaited(state: State): Step {
  const { run } = state;
  if (run.is !== 'stopping' || run.old !== 'silent') return unchanged(state);
  return { state: { ...state, run: { ...run, old: 'ending' } }, effects: [emit(KILLED), { do: 'kill' }] };
}

const KILLED: DevloopEvent = {
  type: 'note',
  message:
    'the old controller answers no more but has not ended, and a review waits for the new one, so devloop ends it with SIGKILL',
};

function onExited(state: State, event: Extract<RestartEvent, { is: 'exited' }>): Step {
  const { run } = state;
  if (event.isWrong && (run.is === 'starting' || run.is === 'serving')) return goDown(state, event.problem);
  switch (run.is) {
    case 'stopping':
      return start(state, run.since, 0, []);
    case 'starting':
      // The new program does not start: only another change can fix that.
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

/** As kubelet does, except that a manager that exits with code 0 (certificate rotators do) is restarted at once the first time. */
function restart(state: State, event: Extract<RestartEvent, { is: 'exited' }>, failures: number): Step {
  if (state.build.is === 'closed') return goDown(state, event.problem);
  if (event.code === 0 && failures === 0) {
    const message = 'the controller exited with code 0, which asks for a restart';
    return start(state, undefined, 1, [emit({ type: 'note', message })]);
  }
  const ms = backOff(failures, FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS);
  return {
    state: { ...state, run: { is: 'backing-off', failures: failures + 1 } },
    effects: [
      warn(withAdvice(event.problem, `devloop restarts it in ${ms / 1000} s, or at the next change.`)),
      downEffect(event.problem, `devloop restarts it in ${ms / 1000} s, or at the next change`, ms),
      { do: 'back-off', ms },
    ],
  };
}

const ENDING = 'the session is ending, so devloop does not restart it';

function goDown(state: State, problem: Problem): Step {
  const down: State = { ...state, run: { is: 'down' } };
  if (state.build.is === 'closed')
    return { state: down, effects: [warn(problem), downEffect(problem, ENDING, Number.POSITIVE_INFINITY)] };
  return {
    state: down,
    effects: [
      warn(withAdvice(problem, 'devloop restarts it at the next change.')),
      downEffect(problem, 'devloop restarts it at the next change', Number.POSITIVE_INFINITY),
    ],
  };
}

function downEffect(problem: Problem, next: string, ms: number): Effect {
  return { do: 'down', why: reasonOf(problem, next), ms };
}

/** The answer to a review that no controller answers: one line, with what happens next. */
export function reasonOf({ message }: Pick<Problem, 'message'>, next: string): string {
  const what = message.split('\n', 1)[0]!.replace(/^The/, 'the').replace(/\.$/, '');
  return `${what}; ${next}`;
}

function withAdvice(problem: Problem, advice: string): Problem {
  return { ...problem, hint: problem.hint === undefined ? advice : `${problem.hint} ${advice}` };
}

/** Starts no more builds, but completes a replacement that has begun, because requests wait for it. */
function onLeave(state: State): Step {
  const effects: Effect[] = [];
  if (state.build.is === 'running') effects.push({ do: 'abort-build' });
  if (state.build.is === 'delayed') effects.push({ do: 'end-delay' });
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

function emit(event: DevloopEvent): Effect {
  return { do: 'emit', event };
}

function warn(problem: Problem): Effect {
  return emit({ type: 'warning', ...problem });
}

function withStartTime({ state, effects }: Step, at: number): Step {
  const starts = effects.some((effect) => effect.do === 'start');
  return starts ? { state: { ...state, startedAt: at }, effects } : { state, effects };
}

/** Where a transition begins a replacement, holds requests before all other effects; where it ends one, releases them after. */
function withGate(before: State, { state, effects }: Step, at: number): Step {
  const { run } = state;
  const held = run.is === 'starting' || (run.is === 'stopping' && run.old !== 'answering');
  if (held === (before.heldAt !== undefined)) return { state, effects };
  if (held) return { state: { ...state, heldAt: at }, effects: [{ do: 'hold' }, ...effects] };
  return { state: { ...state, heldAt: undefined }, effects: [...effects, { do: 'release' }] };
}
