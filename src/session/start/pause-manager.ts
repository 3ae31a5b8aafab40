import type { Step } from '../../cluster/step.ts';
import type { Pausing } from '../../cluster/takeover/pause/pause.ts';
import { pauseFor } from '../../cluster/takeover/pause/strategies.ts';
import type { Work } from '../../cluster/work.ts';
import type { Target } from '../../operator/target.ts';

/** Pauses the in-cluster manager; undefined where none was found. */
export function pauseManager({ deployment }: Target): Step<(work: Work) => Promise<Pausing>> | undefined {
  if (deployment === undefined) return undefined;
  const { object } = deployment;
  return pauseFor({ kind: 'Deployment', object })?.pause(object);
}
