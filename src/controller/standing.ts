import type { Problem, State } from './restart-state.ts';

/** How far the newest source has come. `for`: what it waits for. */
export type Standing =
  | { is: 'serving' }
  | { is: 'pending'; for: string }
  /** It does not build, its program does not start, or no controller runs. Only another change, or time, can end that. */
  | { is: 'failed'; problem: Problem };

/** A change that the controller itself keeps making is no newer source. */
export function standingOf({ build, run, broken, failed }: State): Standing {
  if (build.is === 'running') return { is: 'pending', for: 'the build' };
  if (broken) return { is: 'failed', problem: broken };
  switch (run.is) {
    case 'serving':
      return { is: 'serving' };
    case 'starting':
    case 'unstarted':
      return { is: 'pending', for: 'the controller to be ready' };
    case 'stopping':
      return { is: 'pending', for: 'the old controller to end' };
    case 'down':
    case 'backing-off':
      return { is: 'failed', problem: failed ?? { message: 'No controller is running.' } };
    default:
      return run satisfies never;
  }
}
