import {
  holdLeaderLeases,
  type LeaderLease,
  noLease,
  readElection,
} from '../../cluster/takeover/pause/leader-lease.ts';
import { leaveRunning } from '../../cluster/takeover/pause/leave-running.ts';
import type { PauseStep } from '../../cluster/takeover/pause/pause.ts';
import { pauseFor } from '../../cluster/takeover/pause/strategies.ts';
import { waitFor } from '../../cluster/takeover/pause/waits.ts';
import type { Observer } from '../../cluster/work.ts';
import type { PauseChoice } from '../../config/choices.ts';
import { NONE } from '../../config/forms.ts';
import { DevloopError } from '../../errors.ts';
import type { ServedApi } from '../../operator/served-apis.ts';
import type { Target, TargetManager, TargetNames } from '../../operator/target.ts';
import { callersOf } from '../../operator/webhooks.ts';
import { withNames } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import type { CommandContext } from '../context/context.ts';

/** The Deployments to pause besides the manager, as discovery takes them; undefined if neither the user nor devloop.yaml names any. */
export function alsoPause({
  settings,
  settingsFile,
}: Pick<CommandContext, 'settings' | 'settingsFile'>): TargetNames['alsoPause'] {
  const { value: wanted, from } = settings.alsoPause;
  const file = from[0] === 'devloop.yaml' ? settingsFile : undefined;
  return wanted && { named: wanted.filter((one) => one !== NONE), file, nothingElse: wanted.includes(NONE) };
}

/** The target without what is not paused with this choice: a user who wants the manager to run wants nothing else to be paused. */
export function pausedBy(choice: PauseChoice, target: Target): Target {
  return choice === 'auto' ? target : { ...target, reconcilers: [] };
}

/** Whether a reconciler created the manager itself, and not only its Services. */
export function isCreatorPaused({
  manager,
  reconcilers = [],
}: Pick<Target, 'manager' | 'reconcilers'>): boolean {
  const wrote = reconcilers.flatMap(({ evidence }) => (evidence ? [describe(evidence.wrote)] : []));
  return manager !== undefined && wrote.includes(describe(manager.ref));
}

/**
 * How the manager is paused while the controller runs here. Throws `pause.unsupported` if that is not possible. `isRestored`: a session
 * that had taken the manager over has just been restored.
 */
export async function planPause(
  observer: Observer,
  { manager, apis = [] }: Pick<Target, 'manager' | 'apis'>,
  choice: PauseChoice,
  isRestored = false,
): Promise<PauseStep[]> {
  if (manager === undefined) return [];
  switch (choice) {
    case 'none':
      return [leaveRunning(manager)];
    case 'lease':
      return [holdLeaderLeases(manager, await leasesToHold(observer, manager, isRestored))];
    case 'auto': {
      const pause = pauseFor(manager);
      if (pause === undefined) throw unsupported(manager);
      if (losesVolumes(manager)) throw volumesLost(manager);
      const reviewing = apis.filter(({ calls }) => calls.length > 0);
      if (reviewing.length > 0) throw answersThroughApi(manager, reviewing);
      return [pause.pause(manager)];
    }
  }
}

/** A Lease expires after 15 s by default, and the manager's Pods may have to start. */
const EXPIRED_SECONDS = 60;
const FREED_SECONDS = 10;

/** The leader Leases to hold; none if a session has to be restored first, because it is not known yet which Pod leads after that. */
async function leasesToHold(
  observer: Observer,
  manager: TargetManager,
  isRestored: boolean,
): Promise<LeaderLease[]> {
  let election = await readElection(observer.api, manager);
  if (election.leases.length === 0 && election.isTaken) return [];
  const limitSeconds = isRestored ? EXPIRED_SECONDS : election.isPending ? FREED_SECONDS : 0;
  const what = { for: `a Pod of ${describe(manager.ref)} to become the leader`, limitSeconds };
  const isLed = async (): Promise<boolean> => {
    election = await readElection(observer.api, manager);
    return election.leases.length > 0;
  };
  if (election.leases.length === 0 && !(await waitFor(observer, what, isLed))) throw noLease(manager);
  return election.leases;
}

const OTHER_WAYS = `devloop up --pause lease   # if it elects a leader: hold its Lease
devloop up --pause none    # let it run beside the controller`;

function unsupported({ ref, owner }: TargetManager): DevloopError {
  const belongs =
    owner === undefined ? 'belongs to no Deployment, StatefulSet or DaemonSet' : `belongs to ${owner}`;
  return new DevloopError(
    'pause.unsupported',
    `The manager runs in ${describe(ref)}, which ${belongs}, so devloop cannot pause it.`,
    { hint: OTHER_WAYS },
  );
}

/** Whether Kubernetes deletes the volumes of the StatefulSet when it is scaled down; nothing brings their data back. */
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

function answersThroughApi({ ref }: TargetManager, apis: ServedApi[]): DevloopError {
  const callers = callersOf(apis.flatMap(({ calls }) => calls)).map(describe);
  const names = apis.map(({ name }) => name);
  return new DevloopError(
    'pause.unsupported',
    `${describe(ref)} answers ${callers.join(', ')} through ${withNames('APIService', names)}. Such reviews cannot be routed to this machine, so they would fail while devloop pauses it.`,
    { hint: OTHER_WAYS },
  );
}
