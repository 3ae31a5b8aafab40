import type { ClusterApi } from '../../cluster/api/client.ts';
import { quiet, waitUntilGone, waitUntilTold } from '../../cluster/takeover/pause/deployment.ts';
import type { Target } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';

/** The in-cluster manager on its way out. */
export interface Leaving {
  /** Its Pods have been told to end. */
  told: Promise<void>;
  /** They have ended; false when they have not within a minute. */
  gone: Promise<boolean>;
}

/** Scales the in-cluster manager down. */
export async function quietManager(
  api: ClusterApi,
  session: string,
  target: Target,
  emit: Emit,
  signal: AbortSignal,
): Promise<Leaving> {
  const deployment = target.deployment?.object;
  if (deployment === undefined) return { told: Promise.resolve(), gone: Promise.resolve(true) };
  await quiet(api, session, deployment, emit);
  const leaving = {
    told: waitUntilTold(api, deployment, 10, emit, signal),
    gone: waitUntilGone(api, deployment, 60, emit, signal),
  };
  // Whoever waits hears of a failure; while nobody does yet, it must not count as unhandled.
  for (const step of Object.values(leaving)) step.catch(() => {});
  return leaving;
}
