/** What a change of the sources causes: a build, at once or later, whose program is adopted. */

import { backOff } from '../async.ts';
import { PROGRAM_SOURCE } from '../checkout/named-variables.ts';
import { notice } from '../report/notices/catalogue.ts';
import { type Echo, echoAfter, isCertain, timesTooOften } from './echo.ts';
import { start } from './restart-runs.ts';
import {
  type Effect,
  emit,
  FIRST_BACK_OFF_MS,
  LONGEST_BACK_OFF_MS,
  type RestartEvent,
  type State,
  type Transition,
  unchanged,
} from './restart-state.ts';

/** The newest change wins: a build without it is aborted. A change that the controller itself keeps making has to wait. */
export function onChanged(
  before: State,
  { files, at }: Extract<RestartEvent, { is: 'changed' }>,
): Transition {
  const { build } = before;
  if (build.is === 'closed') return unchanged(before);
  const delayMs = at - before.startedAt;
  // A script or an agent saves sources as regularly as a program writes its own files, so they are never taken for such files.
  const isByHand = files.some((file) => PROGRAM_SOURCE.test(file));
  const echo = isByHand ? before.echo : echoAfter(before.echo, { files, delayMs, run: before.lastRun });
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

export function startBuild(state: State, since: number, files: string[], before: Effect[]): Transition {
  const build = state.lastBuild + 1;
  return {
    state: { ...state, build: { is: 'running', since }, lastBuild: build, broken: undefined },
    effects: [
      ...before,
      emit({ type: state.isBuilt ? 'build.started' : 'controller.restarting', reason: files }),
      { do: 'build', build },
    ],
  };
}

function delayBuild(state: State, echo: Echo, at: number): Transition {
  const ms = backOff(timesTooOften(echo), FIRST_BACK_OFF_MS, LONGEST_BACK_OFF_MS);
  const { files, count } = echo;
  const warning = notice('watch.own-changes', { files, starts: count, seconds: ms / 1000 });
  return {
    state: { ...state, build: { is: 'delayed', since: at, files } },
    effects: [emit(warning), { do: 'delay-build', ms }],
  };
}

export function onBuildEnded(
  state: State,
  since: number,
  event: Extract<RestartEvent, { is: 'built' | 'build-failed' }>,
): Transition {
  if (event.is === 'build-failed') {
    const { ms, output } = event;
    const broken = {
      error: 'controller.build-failed',
      message: `The controller failed to build:\n${output}`,
    };
    return { state: { ...state, broken }, effects: [emit({ type: 'build.failed', ms, output })] };
  }
  return adopt(state, since, event);
}

function adopt(
  before: State,
  since: number,
  { build, identical, asWorked, ms }: Extract<RestartEvent, { is: 'built' }>,
): Transition {
  const state: State = { ...before, newest: build, worked: asWorked ? build : before.worked };
  const { run } = state;
  const done = state.isBuilt ? [emit({ type: 'build.done', ms })] : [];
  switch (run.is) {
    case 'unstarted':
      return { state: { ...state, build: { is: 'closed' } }, effects: done };
    case 'down':
      return start(state, since, 0, done);
    case 'backing-off':
      return start(state, since, 0, [...done, { do: 'end-back-off' }]);
    case 'starting':
    case 'serving':
      if (identical)
        return {
          state: { ...state, runs: 'newest' },
          effects: [emit({ type: 'build.done', ms, identical }), emit(notice('build.identical', {}))],
        };
      return {
        state: {
          ...state,
          run: { is: 'stopping', since: sinceOf(state) ?? since, old: 'ending', next: 'newest' },
        },
        effects: [...done, { do: 'stop', run: state.lastRun }],
      };
    case 'stopping':
      return { state: { ...state, run: { ...run, next: 'newest' } }, effects: done };
    default:
      return run satisfies never;
  }
}

/** The first change that no program serves yet; undefined if its build was given up for the last one that worked. */
function sinceOf({ run, runs }: State): number | undefined {
  return run.is === 'starting' && runs === 'newest' ? run.since : undefined;
}
