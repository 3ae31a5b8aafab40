import { allDone } from '../../../async.ts';
import { DevloopError } from '../../../errors.ts';
import { shellWord } from '../../../phrases.ts';
import { notice } from '../../../report/notices/catalogue.ts';
import { describe } from '../../../report/object-name.ts';
import type { ClusterApi } from '../../api/client.ts';
import { type ObjectRef, refOf } from '../../api/kinds.ts';
import type { Lease } from '../../api/objects.ts';
import { type Permission, permissionsOn } from '../../api/permissions.ts';
import type { Pod } from '../../api/workloads.ts';
import { isLeaderIdentity, leaseRef } from '../../names.ts';
import type { PlannedChange } from '../../step.ts';
import type { Work } from '../../work.ts';
import { type HeldLeader, holdLeader } from './hold-leader.ts';
import { podsStay } from './leave-running.ts';
import type { Manager, PauseStep } from './pause.ts';
import { podsOf } from './pods.ts';
import { waitFor } from './waits.ts';

/** The duration of a Lease that does not state its duration: client-go's default. */
const DEFAULT_SECONDS = 15;

/** A Lease that one of the manager's Pods holds while it is the leader. */
export interface LeaderLease {
  ref: ObjectRef;
  leader: Pod;
  durationSeconds: number;
}

export function leasePausePermissions(namespace: string): Permission[] {
  const why = "hold the manager's leader election Lease";
  return [
    ...permissionsOn('Lease', 'get list patch', { namespace, why }),
    ...permissionsOn('Pod', 'list', { namespace, why: 'find the Lease of the in-cluster manager' }),
  ];
}

/** What the cluster shows at the moment about how a manager elects its leader. */
export interface Election {
  /** The Leases that its Pods hold. */
  leases: LeaderLease[];
  /** Whether a session has taken over the manager, in which case perhaps none of its Pods is the leader. */
  isTaken: boolean;
  /** Whether a Lease in the namespace is free, or names a session as its holder: a Pod of the manager may take it soon. */
  isPending: boolean;
}

export async function readElection(api: ClusterApi, manager: Manager): Promise<Election> {
  const [pods, leases] = await Promise.all([
    podsOf(api, manager),
    api.list<Lease>('Lease', manager.ref.namespace),
  ]);
  const own = leaseRef(manager.ref).name;
  return {
    leases: leases.flatMap((lease) => {
      const leader = pods.find((pod) => isHeldBy(lease, pod.metadata.name));
      const durationSeconds = lease.spec.leaseDurationSeconds ?? DEFAULT_SECONDS;
      return leader ? [{ ref: refOf('Lease', lease.metadata), leader, durationSeconds }] : [];
    }),
    isTaken: leases.some(({ metadata }) => metadata.name === own),
    isPending: leases.some(({ spec: { holderIdentity = '' } }) => isFree(holderIdentity)),
  };
}

function isFree(holder: string): boolean {
  return holder === '' || isLeaderIdentity(holder);
}

export function noLease({ ref }: Manager): DevloopError {
  return new DevloopError(
    'pause.unsupported',
    `No Lease in namespace ${ref.namespace} is held by a Pod of ${describe(ref)}, so devloop cannot pause it by its Lease.`,
    { hint: `kubectl -n ${shellWord(ref.namespace)} get leases,pods\n${OTHER_WAYS}` },
  );
}

const OTHER_WAYS = `devloop up --pause auto   # pause what owns its Pods
devloop up --pause none   # let it run beside the controller`;

/**
 * client-go names a candidate after its host name, which is the Pod's name, with `_` and a random id. Pod `shop-1` must not match the
 * holder `shop-10`.
 */
export function isHeldBy({ spec }: Lease, pod: string): boolean {
  const holder = spec.holderIdentity ?? '';
  return holder.startsWith(pod) && !/^[a-z0-9.-]/.test(holder.slice(pod.length));
}

/**
 * Pauses the manager's controllers but not its Pods: the leader stops, and no other Pod becomes the leader as long as this session renews
 * the Lease. Nothing has to be undone: once the session stops renewing the Lease, a Pod of the manager takes it again.
 */
export function holdLeaderLeases(manager: Manager, leases: LeaderLease[]): PauseStep {
  const { namespace } = manager.ref;
  const unknown: PlannedChange = {
    action: 'update',
    object: refOf('Lease', { namespace: namespace!, name: '*' }),
    detail: 'held in place of the leader',
  };
  const known = leases.map(
    ({ ref, leader }): PlannedChange => ({ action: 'update', object: ref, detail: heldFor(leader) }),
  );
  return {
    changes: known.length === 0 ? [unknown] : known,
    permissions: leasePausePermissions(namespace!),
    answersReviews: true,
    async apply(work) {
      if (leases.length === 0) throw noLease(manager);
      // Since the plan was made, another Pod may have become the leader.
      const { leases: leaders } = await readElection(work.api, manager);
      const held: HeldLeader[] = [];
      const resume = async (ending: Work): Promise<void> =>
        void (await allDone(held.map((one) => one.release(ending))));
      try {
        for (const { ref, leader, durationSeconds } of leases)
          held.push(await holdLeader(work, { ref, durationSeconds, detail: heldFor(leader) }));
      } catch (error) {
        await resume(work);
        throw error;
      }
      work.emit(notice('pause.by-lease', { manager: manager.ref }));
      const stopped = leases.map((lease) => {
        const leader = leaders.find(({ ref }) => ref.name === lease.ref.name)?.leader;
        return leaderStopped(work, manager, { ...lease, leader });
      });
      const idle = allDone(stopped).then(() => {});
      return { ...podsStay(idle), resume, lost: Promise.race(held.map(({ lost }) => lost)) };
    },
  };
}

function heldFor({ metadata }: Pod): string {
  return `held in place of ${metadata.name}`;
}

/**
 * Waits until the leader has stopped. client-go guarantees that it stops within the duration of its Lease. Most managers exit when they
 * lose the Lease, which shows earlier: their container restarts. If no leader was seen, there may have been one a moment ago, so the whole
 * duration passes.
 */
async function leaderStopped(
  work: Work,
  manager: Manager,
  { leader, durationSeconds }: Pick<LeaderLease, 'durationSeconds'> & { leader: Pod | undefined },
): Promise<void> {
  const name = leader === undefined ? describe(manager.ref) : `Pod ${leader.metadata.name}`;
  await waitFor(work, { for: `${name} to stop leading`, limitSeconds: durationSeconds }, async () => {
    if (leader === undefined) return false;
    const pods = await podsOf(work.api, manager);
    const now = pods.find(({ metadata }) => metadata.uid === leader.metadata.uid);
    return now === undefined || startsOf(now) !== startsOf(leader);
  });
}

function startsOf({ status }: Pod): string {
  return (status?.containerStatuses ?? [])
    .map(({ name, restartCount, state }) => `${name} ${restartCount} ${state?.terminated === undefined}`)
    .join();
}
