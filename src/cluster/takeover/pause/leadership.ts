import type { ClusterApi } from '../../api/client.ts';
import { conflictIfGone, undefinedIfForbidden } from '../../api/errors.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import type { Lease } from '../../api/objects.ts';
import type { Pod } from '../../api/workloads.ts';
import { inRounds } from '../../marks/change.ts';
import type { Work } from '../../work.ts';

/** When a process of this machine that said that it leads began, said so, and had ended, on the clock of Date.now(). */
export interface LeadershipClaim {
  host: string;
  startedMs: number;
  saidMs: number;
  endedMs: number;
}

/** client-go names a candidate after its host and a random id. */
const RANDOM_ID = /^_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Whether a Lease was last held by a process that has ended. Its holder is of this machine, so the times in the Lease are those of this
 * machine's clock: it became the leader while the process lived and before the process said so, and nobody has renewed the Lease since the
 * process ended.
 */
export function wasLedBy({ spec }: Lease, { host, startedMs, saidMs, endedMs }: LeadershipClaim): boolean {
  const { holderIdentity = '', acquireTime = '', renewTime = '' } = spec;
  const acquiredMs = Date.parse(acquireTime);
  return (
    holderIdentity.startsWith(host) &&
    RANDOM_ID.test(holderIdentity.slice(host.length)) &&
    acquiredMs >= startedMs &&
    acquiredMs <= saidMs &&
    Date.parse(renewTime) <= endedMs
  );
}

/**
 * Whether kubelet has reported that all containers of a Pod have ended, and the Pod is being deleted, so that none of them starts again. A
 * Pod that is merely gone may have been removed by force while its containers still run.
 */
export function hasEnded({ metadata, status }: Pod): boolean {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const isOver = all.length > 0 && all.every(({ state }) => state?.terminated !== undefined);
  return metadata.deletionTimestamp !== undefined && isOver;
}

/**
 * Whether no other Pod has the name of one that has ended, as the next one of a StatefulSet does. A Pod of another namespace can be a
 * candidate for the same Lease; an account that is not allowed to list Pods there does not see it.
 */
export async function isLastOfItsName(api: ClusterApi, { metadata }: Pod): Promise<boolean> {
  const query = { fieldSelector: `metadata.name=${metadata.name}` };
  const everywhere = await api.list<Pod>('Pod', undefined, { query }).catch(undefinedIfForbidden);
  const found = everywhere ?? (await api.list<Pod>('Pod', metadata.namespace, { query }));
  return found.every((one) => one.metadata.name !== metadata.name || one.metadata.uid === metadata.uid);
}

/**
 * Frees a Lease of a leader election whose holder has ended, as the holder would do itself, so that the next candidate need not wait until
 * it expires. `isOver` decides about the Lease as it is when it is written: somebody who renews it wins. Returns the former holder;
 * undefined if there was nothing to free.
 */
export async function freeLease(
  work: Pick<Work, 'api' | 'emit' | 'signal'>,
  ref: ObjectRef,
  isOver: (lease: Lease) => boolean | Promise<boolean>,
): Promise<string | undefined> {
  return await inRounds(work, ref, async () => {
    const now = await work.api.get<Lease>(ref);
    if (!now?.spec.holderIdentity || !(await isOver(now))) return undefined;
    const { resourceVersion } = now.metadata;
    const patch = { metadata: { resourceVersion }, spec: { holderIdentity: null } };
    await work.api.patch(ref, 'merge', patch).catch(conflictIfGone);
    return now.spec.holderIdentity;
  });
}
