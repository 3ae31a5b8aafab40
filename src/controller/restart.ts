import { onBuildEnded, onChanged, startBuild } from './restart-builds.ts';
import { onCrash, onHalfWaited, onRunEvent, startAgain } from './restart-runs.ts';
import { type Effect, type RestartEvent, type State, type Transition, unchanged } from './restart-state.ts';

/** Decides what happens when the sources change, a build ends, or the controller becomes ready, stays silent or exits. */
export function step(state: State, event: RestartEvent): Transition {
  return withGate(state, withStartTime(transition(state, event), event.at), event.at);
}

function transition(state: State, event: RestartEvent): Transition {
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
    case 'crash':
      return onCrash(state);
    case 'half-waited':
      return onHalfWaited(state);
    case 'back-off-over':
      return state.run.is === 'backing-off'
        ? startAgain(state, undefined, state.run.failures, [])
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

/** Starts no more builds, but completes a replacement that has begun, because requests wait for it. */
function onLeave(state: State): Transition {
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

function withStartTime({ state, effects }: Transition, at: number): Transition {
  const starts = effects.some((effect) => effect.do === 'start');
  return starts ? { state: { ...state, startedAt: at }, effects } : { state, effects };
}

/**
 * If a transition begins a replacement, holds requests before all its other effects; if it ends one, releases them after the other effects.
 */
function withGate(before: State, { state, effects }: Transition, at: number): Transition {
  const { run } = state;
  const held = run.is === 'starting' || (run.is === 'stopping' && run.old !== 'answering');
  if (held === (before.heldAt !== undefined)) return { state, effects };
  if (held) return { state: { ...state, heldAt: at }, effects: [{ do: 'hold' }, ...effects] };
  return { state: { ...state, heldAt: undefined }, effects: [...effects, { do: 'release' }] };
}
