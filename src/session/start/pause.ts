import type { ClusterApi } from '../../cluster/api/client.ts';
import { describe } from '../../cluster/api/kinds.ts';
import { holdLeaderLeases, leaderLeases } from '../../cluster/takeover/pause/leader-lease.ts';
import { leaveRunning } from '../../cluster/takeover/pause/leave-running.ts';
import type { PauseStep } from '../../cluster/takeover/pause/pause.ts';
import { pauseFor } from '../../cluster/takeover/pause/strategies.ts';
import type { PauseChoice } from '../../config/pause-choice.ts';
import { DevloopError } from '../../errors.ts';
import type { Target, TargetManager } from '../../operator/target.ts';
import type { CommandContext } from '../context/context.ts';
import type { PauseOptions } from '../context/options.ts';

/** Flags take precedence over devloop.yaml. */
export function pauseChoice(options: PauseOptions, { config }: CommandContext): PauseChoice {
  return options.pause ?? config.pause ?? 'auto';
}

/** How the manager is paused while the controller runs here. Throws `pause.unsupported` where that is not possible. */
export async function planPause(
  api: ClusterApi,
  { manager }: Pick<Target, 'manager'>,
  choice: PauseChoice,
): Promise<PauseStep[]> {
  if (manager === undefined) return [];
  switch (choice) {
    case 'none':
      return [leaveRunning(manager)];
    case 'lease': {
      const leases = await leaderLeases(api, manager);
      if (leases.length === 0) throw noLease(manager);
      return [holdLeaderLeases(manager, leases)];
    }
    case 'auto': {
      const pause = pauseFor(manager);
      if (pause === undefined) throw unsupported(manager);
      if (losesVolumes(manager)) throw volumesLost(manager);
      return [pause.pause(manager)];
    }
  }
}

const OTHER_WAYS = `devloop up --pause lease   # if it elects a leader: hold its Lease
devloop up --pause none    # let it run beside the controller`;
const OTHER_WAYS_THAN_LEASE = `devloop up --pause auto   # pause what owns its Pods
devloop up --pause none   # let it run beside the controller`;

function unsupported({ ref, owner }: TargetManager): DevloopError {
  const belongs =
    owner === undefined ? 'belongs to no Deployment, StatefulSet or DaemonSet' : `belongs to ${owner}`;
  return new DevloopError(
    'pause.unsupported',
    `The manager runs in ${describe(ref)}, which ${belongs}, so devloop cannot pause it.`,
    { hint: OTHER_WAYS },
  );
}

/** Kubernetes deletes the volumes of such a StatefulSet when it is scaled down, and nothing brings their data back. */
function losesVolumes({ object }: TargetManager): boolean {
  const spec = object.spec as {
    volumeClaimTemplates?: unknown[];
    persistentVolumeClaimRetentionPolicy?: { whenScaled?: string };
  };
  return (
    (spec.volumeClaimTemplates ?? []).length > 0 &&
    spec.persistentVolumeClaimRetentionPolicy?.whenScaled === 'Delete'
  );
}

function volumesLost({ ref }: TargetManager): DevloopError {
  return new DevloopError(
    'pause.unsupported',
    `Kubernetes would delete the volumes of ${describe(ref)} when devloop scales it to 0 (persistentVolumeClaimRetentionPolicy.whenScaled: Delete).`,
    { hint: OTHER_WAYS },
  );
}

function noLease({ ref }: TargetManager): DevloopError {
  return new DevloopError(
    'pause.unsupported',
    `No Lease in namespace ${ref.namespace} is held by a Pod of ${describe(ref)}, so devloop cannot pause it by its Lease.`,
    {
      hint: `kubectl -n ${ref.namespace} get leases,pods\n${OTHER_WAYS_THAN_LEASE}`,
    },
  );
}
