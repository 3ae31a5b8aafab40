import { allDone } from '../../../async.ts';
import { messageOf } from '../../../errors.ts';
import type { ClusterApi } from '../../api/client.ts';
import { describe, type ObjectRef, refOf } from '../../api/kinds.ts';
import { microTime } from '../../api/micro-time.ts';
import type { Lease, Pod } from '../../api/objects.ts';
import { type Permission, permissionsOn } from '../../api/permissions.ts';
import { inRounds } from '../../marks/change.ts';
import { leaderIdentity } from '../../names.ts';
import type { Work } from '../../work.ts';
import { podsStay, STAYS_UP } from './leave-running.ts';
import type { Manager, PauseStep } from './pause.ts';
import { podsOf } from './pods.ts';
import { waitFor } from './waits.ts';

/** How long client-go's leaders hold a Lease that names no duration. */
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

/** The Leases with which the manager's Pods elect their leader. */
export async function leaderLeases(api: ClusterApi, manager: Manager): Promise<LeaderLease[]> {
  const [pods, leases] = await Promise.all([
    podsOf(api, manager),
    api.list<Lease>('Lease', manager.ref.namespace),
  ]);
  return leases.flatMap((lease) => {
    const leader = pods.find((pod) => isHeldBy(lease, pod.metadata.name));
    const durationSeconds = lease.spec.leaseDurationSeconds ?? DEFAULT_SECONDS;
    return leader ? [{ ref: refOf('Lease', lease.metadata), leader, durationSeconds }] : [];
  });
}

/** client-go calls a candidate by its host name, which is the Pod's, with `_` and a random id. Pod `shop-1` is another one than `shop-10`. */
export function isHeldBy({ spec }: Lease, pod: string): boolean {
  const holder = spec.holderIdentity ?? '';
  return holder.startsWith(pod) && !/^[a-z0-9.-]/.test(holder.slice(pod.length));
}

/**
 * Pauses the manager's controllers in place: its Pods go on running, but the leader stops, and no other Pod becomes the leader as
 * long as this session renews the Lease. That needs no undo: a Lease that is not renewed goes back to the manager on its own.
 */
export function holdLeaderLeases(manager: Manager, leases: LeaderLease[]): PauseStep {
  return {
    changes: leases.map(({ ref, leader }) => ({
      action: 'update',
      object: ref,
      detail: `held in place of ${leader.metadata.name}`,
    })),
    permissions: leasePausePermissions(manager.ref.namespace!),
    async apply(work) {
      // Since the plan was made, another Pod may have become the leader.
      const leaders = await leaderLeases(work.api, manager);
      const held: HeldLeader[] = [];
      const release = async (ending: Work): Promise<void> =>
        void (await allDone(held.map((one) => one.release(ending))));
      try {
        for (const lease of leases) held.push(await hold(work, lease));
      } catch (error) {
        await release(work);
        throw error;
      }
      work.emit({ type: 'warning', message: `${describe(manager.ref)} is paused by its Lease. ${STAYS_UP}` });
      const stopped = leases.map((lease) => {
        const leader = leaders.find(({ ref }) => ref.name === lease.ref.name)?.leader;
        return leaderStopped(work, manager, { ...lease, leader });
      });
      const idle = allDone(stopped).then(() => {});
      return podsStay(idle, release);
    },
  };
}

interface HeldLeader {
  release(ending: Work): Promise<void>;
}

/** Takes the Lease and renews it until it is released. */
async function hold(work: Work, { ref, leader, durationSeconds }: LeaderLease): Promise<HeldLeader> {
  const { api, emit } = work;
  const identity = leaderIdentity(work.sessionId);
  const detail = `held in place of ${leader.metadata.name}`;
  const take = async (now: Lease | undefined): Promise<void> => {
    const resourceVersion = now?.metadata.resourceVersion;
    const time = microTime();
    const spec = {
      holderIdentity: identity,
      ...(now?.spec.holderIdentity === identity ? {} : { acquireTime: time }),
      renewTime: time,
    };
    await api.patch(ref, 'merge', { metadata: { resourceVersion }, spec });
  };
  await inRounds(work, ref, async () => take(await api.get<Lease>(ref)));
  emit({ type: 'change', action: 'update', object: ref, detail });
  let warned = false;
  let released = false;
  const renew = async (): Promise<void> => {
    const now = await api.get<Lease>(ref);
    if (released) return;
    const holder = now?.spec.holderIdentity;
    if (holder !== identity)
      emit({ type: 'warning', message: `${describe(ref)} went to ${holder}; devloop takes it again.` });
    await take(now);
  };
  const timer = setInterval(
    () =>
      void renew().catch((error) => {
        if (!warned)
          emit({ type: 'warning', message: `Renewing ${describe(ref)} failed: ${messageOf(error)}` });
        warned = true;
      }),
    (durationSeconds * 1000) / 3,
  );
  return {
    async release(ending) {
      released = true;
      clearInterval(timer);
      await giveBack(ending, ref, identity);
    },
  };
}

/** A Lease without a holder is free at once: a Pod of the manager takes it within seconds. */
async function giveBack(work: Work, ref: ObjectRef, identity: string): Promise<void> {
  const { api, emit } = work;
  await inRounds(work, ref, async () => {
    const now = await api.get<Lease>(ref);
    if (now?.spec.holderIdentity !== identity) return;
    const { resourceVersion } = now.metadata;
    await api.patch(ref, 'merge', { metadata: { resourceVersion }, spec: { holderIdentity: null } });
    emit({ type: 'change', action: 'restore', object: ref, detail: 'free for the manager' });
  });
}

/**
 * A leader stops before the duration of its Lease is over: client-go guarantees that. Most managers exit then, which shows earlier:
 * their container restarts. Where nobody was seen to lead, somebody may have a moment ago.
 */
async function leaderStopped(
  work: Work,
  manager: Manager,
  { leader, durationSeconds }: Pick<LeaderLease, 'durationSeconds'> & { leader: Pod | undefined },
): Promise<void> {
  const name = leader === undefined ? describe(manager.ref) : `Pod ${leader.metadata.name}`;
  await waitFor(work, { for: `${name} to stop as leader`, limitSeconds: durationSeconds }, async () => {
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
