import { pause, waitUntilGone, waitUntilTold } from '../../cluster/takeover/pause/deployment.ts';
import type { Work } from '../../cluster/work.ts';
import type { Target } from '../../operator/target.ts';

/** The in-cluster manager on its way out. */
export interface Leaving {
  /** Its Pods have been told to end. */
  told: Promise<void>;
  /** They have ended; false when they have not within a minute. */
  gone: Promise<boolean>;
}

/** Scales the in-cluster manager down. */
export async function pauseManager(work: Work, target: Target): Promise<Leaving> {
  const deployment = target.deployment?.object;
  if (deployment === undefined) return { told: Promise.resolve(), gone: Promise.resolve(true) };
  await pause(work, deployment);
  const leaving = {
    told: waitUntilTold(work, deployment, 10),
    gone: waitUntilGone(work, deployment, 60),
  };
  // Whoever waits hears of a failure; while nobody does yet, it must not count as unhandled.
  for (const step of Object.values(leaving)) step.catch(() => {});
  return leaving;
}
