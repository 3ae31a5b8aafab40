import { pollUntil, reportWhileWaiting } from '../../async.ts';
import type { ObjectRef } from '../api/kinds.ts';
import type { Lease } from '../api/objects.ts';
import { sessionOf } from '../marks/marks.ts';
import type { Observer } from '../work.ts';
import { type Holder, holderOf, LEASE_SECONDS } from './lease.ts';

const POLL_MS = 500;
/** A Lease that states a longer duration is not devloop's, or was edited. */
const LONGEST_SECONDS = 60;
/** If an answer takes longer than this, the API server was away. This is shorter than the time between two renewals. */
const AWAY_MS = 3_000;
/** If the API server seems to be away more often than this during one check, it is merely slow, for the Lease's holder, too. */
const MOST_TIMES_AWAY = 3;

/** Who uses an operator, or used it. */
export interface LeaseHolder {
  sessionId: string;
  identity: string;
  holder: Holder | undefined;
  alive: boolean;
  /** Whether the session runs, or ran, on this machine. */
  local: boolean;
}

/** How processes of this machine are recognized. */
export interface Here {
  isHere(holder: Holder): boolean;
  /** Resolves to undefined if the process cannot be seen from here: only its Lease then shows whether it is alive. */
  isRunning(holder: Holder): Promise<boolean | undefined>;
}

/** Whether a session is alive: its process runs on this machine or, if the process cannot be seen from here, its Lease is renewed. */
export async function isAlive(lease: Lease, here: Here, renewed: () => Promise<boolean>): Promise<boolean> {
  const holder = holderOf(lease);
  const running = holder && here.isHere(holder) ? await here.isRunning(holder) : undefined;
  return running ?? (await renewed());
}

/** The holder of a Lease. `seen`: the Lease as it was read a moment ago; if absent, it is read now. */
export async function readHolder(
  observer: Observer,
  ref: ObjectRef,
  here: Here,
  seen?: Lease,
): Promise<LeaseHolder | undefined> {
  const lease = seen ?? (await observer.api.get<Lease>(ref));
  const sessionId = lease && sessionOf(lease);
  if (lease === undefined || sessionId === undefined) return undefined;
  const holder = holderOf(lease);
  let successor: Lease | undefined;
  const onSuccessor = (now: Lease): void => {
    successor = now;
  };
  const alive = await isAlive(lease, here, () => isRenewed(observer, ref, lease, onSuccessor));
  if (successor !== undefined) return await readHolder(observer, ref, here, successor);
  return {
    sessionId,
    holder,
    identity: lease.spec.holderIdentity ?? 'unknown',
    local: holder !== undefined && here.isHere(holder),
    alive,
  };
}

/**
 * Waits to see whether a Lease is renewed. It never compares clocks: a session is dead if no renewal is seen from here for the Lease's
 * whole duration. While the API server is away nobody can renew the Lease, so the duration then starts again, up to a few times.
 * `onSuccessor` receives the Lease of another session if it has replaced this one in the meantime.
 */
export async function isRenewed(
  { api, emit, signal }: Observer,
  ref: ObjectRef,
  lease: Lease,
  onSuccessor: (now: Lease) => void = () => {},
): Promise<boolean> {
  const stated = lease.spec.leaseDurationSeconds ?? LEASE_SECONDS;
  const limitSeconds = Math.min(Math.max(stated, LEASE_SECONDS), LONGEST_SECONDS);
  let renewed = false;
  let standsStillSince = performance.now();
  let timesAway = 0;
  const settled = async (): Promise<boolean> => {
    const askedAt = performance.now();
    const now = await api.get<Lease>(ref, { signal });
    const at = performance.now();
    if (at - askedAt > AWAY_MS && timesAway++ < MOST_TIMES_AWAY) standsStillSince = at;
    if (now === undefined) return true;
    const isSame = now.metadata.uid === lease.metadata.uid;
    if (!isSame) onSuccessor(now);
    renewed = !isSame || now.spec.renewTime !== lease.spec.renewTime;
    return renewed || at - standsStillSince >= limitSeconds * 1000;
  };
  const polling = pollUntil(settled, { everyMs: POLL_MS, limitMs: Number.POSITIVE_INFINITY, signal });
  await reportWhileWaiting(
    polling,
    { for: `${lease.spec.holderIdentity} to renew the Lease`, limitSeconds },
    emit,
  );
  signal.throwIfAborted();
  return renewed;
}
