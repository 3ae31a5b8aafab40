import { setTimeout as pause } from 'node:timers/promises';
import type { ObjectRef } from '../api/kinds.ts';
import type { Lease } from '../api/objects.ts';
import { sessionOf } from '../marks/marks.ts';
import type { Observer } from '../work.ts';
import { type Holder, holderOf, LEASE_SECONDS } from './lease.ts';

/** Somebody who holds, or held, an operator. */
export interface LeaseHolder {
  sessionId: string;
  identity: string;
  holder: Holder | undefined;
  alive: boolean;
  /** On this machine. */
  local: boolean;
}

/** How the processes of this machine are known. */
export interface Here {
  isHere(holder: Holder): boolean;
  isRunning(holder: Holder): Promise<boolean>;
}

/** Whether a Lease's session lives: known at once for processes of this machine, observed for its whole duration otherwise. */
export async function readHolder(
  observer: Observer,
  ref: ObjectRef,
  here: Here,
): Promise<LeaseHolder | undefined> {
  const lease = await observer.api.get<Lease>(ref);
  const sessionId = lease && sessionOf(lease);
  if (lease === undefined || sessionId === undefined) return undefined;
  const holder = holderOf(lease);
  const result = {
    sessionId,
    holder,
    identity: lease.spec.holderIdentity ?? 'unknown',
    local: holder !== undefined && here.isHere(holder),
  };
  if (holder && result.local) return { ...result, alive: await here.isRunning(holder) };
  return { ...result, alive: await moves(observer, ref, lease) };
}

/** Clocks of two machines are never compared: a Lease is dead when it stood still here for its whole duration. */
async function moves({ api, emit, signal }: Observer, ref: ObjectRef, lease: Lease): Promise<boolean> {
  const limitSeconds = lease.spec.leaseDurationSeconds ?? LEASE_SECONDS;
  const started = Date.now();
  for (let seconds = 0; seconds <= limitSeconds; seconds = (Date.now() - started) / 1000) {
    emit({
      type: 'waiting',
      for: `a sign of life from ${lease.spec.holderIdentity}`,
      seconds: Math.round(seconds),
      limitSeconds,
    });
    await pause(500);
    signal.throwIfAborted();
    const now = await api.get<Lease>(ref, { signal });
    if (now === undefined) return false;
    if (now.spec.renewTime !== lease.spec.renewTime || now.metadata.uid !== lease.metadata.uid) return true;
  }
  return false;
}
