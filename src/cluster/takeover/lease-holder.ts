import { pollUntil, reportWhileWaiting } from '../../async.ts';
import type { ObjectRef } from '../api/kinds.ts';
import type { Lease } from '../api/objects.ts';
import { sessionOf } from '../marks/marks.ts';
import type { Observer } from '../work.ts';
import { type Holder, holderOf, LEASE_SECONDS } from './lease.ts';

const POLL_MS = 500;
/** If an answer takes longer than this, the API server was away. This is shorter than the time between two renewals. */
const AWAY_MS = 3_000;
/** If the API server seems to be away more often than this during one check, it is merely slow, for the Lease's holder, too. */
const MOST_TIMES_AWAY = 3;

/** How often a Lease may change hands while it is watched. After that, its holder counts as alive. */
const MOST_SUCCESSORS = 3;

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
  let lease = seen ?? (await observer.api.get<Lease>(ref));
  for (let successors = 0; ; successors++) {
    const watched = lease;
    const sessionId = watched && sessionOf(watched);
    if (watched === undefined || sessionId === undefined) return undefined;
    const holder = holderOf(watched);
    let successor: Lease | undefined;
    const onSuccessor = (now: Lease): void => {
      successor = now;
    };
    const alive = await isAlive(watched, here, () => isRenewed(observer, ref, watched, onSuccessor));
    if (successor === undefined || successors === MOST_SUCCESSORS) {
      const identity = watched.spec.holderIdentity ?? 'unknown';
      return { sessionId, holder, identity, local: holder !== undefined && here.isHere(holder), alive };
    }
    lease = successor;
  }
}

/**
 * Waits to see whether a Lease is renewed. It never compares clocks: a session is dead if no renewal is seen from here for as long as
 * devloop's Leases are valid, whatever this one states. While the API server is away nobody can renew the Lease, so the duration then starts again, up to a few times.
 * `onSuccessor` receives the Lease of another session if it has replaced this one in the meantime.
 */
export async function isRenewed(
  { api, emit, signal }: Observer,
  ref: ObjectRef,
  lease: Lease,
  onSuccessor: (now: Lease) => void = () => {},
): Promise<boolean> {
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
    return renewed || at - standsStillSince >= LEASE_SECONDS * 1000;
  };
  const polling = pollUntil(settled, { everyMs: POLL_MS, limitMs: Number.POSITIVE_INFINITY, signal });
  await reportWhileWaiting(
    polling,
    { for: `${lease.spec.holderIdentity} to renew the Lease`, limitSeconds: LEASE_SECONDS },
    emit,
  );
  signal.throwIfAborted();
  return renewed;
}
