import { sleep } from '../../../async.ts';
import { DevloopError, messageOf } from '../../../errors.ts';
import { notice } from '../../../report/notices/catalogue.ts';
import { describe } from '../../../report/object-name.ts';
import { conflictIfGone } from '../../api/errors.ts';
import type { ObjectRef } from '../../api/kinds.ts';
import { type Lease, microTime } from '../../api/objects.ts';
import { inRounds } from '../../marks/change.ts';
import { leaderIdentity } from '../../names.ts';
import type { Work } from '../../work.ts';

/** A leader election Lease that this session holds. */
export interface HeldLeader {
  /** Releases the Lease, if the session still holds it. */
  release(ending: Work): Promise<void>;
  /** Resolves when somebody else has taken the Lease, and keeps renewing it. */
  lost: Promise<DevloopError>;
}

interface Wanted {
  ref: ObjectRef;
  durationSeconds: number;
  /** For display: `held in place of manager-0`. */
  detail: string;
}

/** Somebody else who holds the Lease, and the time (by performance.now()) at which that was noticed. */
interface Other {
  holder: string;
  renewTime: string | undefined;
  since: number;
}

/** What to do about a Lease that this session should hold. */
export type Turn =
  /** The Lease is held by this session or by nobody. */
  | { do: 'renew' }
  /** Somebody else holds the Lease. Its duration shows whether they renew it. */
  | { do: 'wait'; other: Other }
  /** The other holder has not renewed the Lease within its duration. */
  | { do: 'take' }
  | { do: 'end'; holder: string };

/**
 * Follows the rules of leader election: a Lease that somebody else holds is taken only if they have not renewed it for its duration, as
 * seen from here. `other`: the holder that the last turn returned, if any.
 */
export function turnOf(
  { holderIdentity: holder = '', renewTime }: Lease['spec'],
  own: string,
  other: Other | undefined,
  clock: { now: number; durationMs: number },
): Turn {
  if (holder === own || holder === '') return { do: 'renew' };
  if (other === undefined) return { do: 'wait', other: { holder, renewTime, since: clock.now } };
  if (clock.now - other.since < clock.durationMs) return { do: 'wait', other };
  const isStill = holder === other.holder && renewTime === other.renewTime;
  return isStill ? { do: 'take' } : { do: 'end', holder };
}

/** Takes the Lease from its leader and renews it until it is released. */
export async function holdLeader(work: Work, { ref, durationSeconds, detail }: Wanted): Promise<HeldLeader> {
  const { api, emit } = work;
  const identity = leaderIdentity(work.sessionId);
  const durationMs = durationSeconds * 1000;
  await inRounds(work, ref, async () => take(work, ref, identity, await api.get<Lease>(ref)));
  emit({ type: 'change', action: 'update', object: ref, detail });
  const lost = Promise.withResolvers<DevloopError>();
  let other: Other | undefined;
  let hasWarned = false;
  const over = new AbortController();
  const renew = async (): Promise<void> => {
    const now = await api.get<Lease>(ref);
    if (over.signal.aborted) return;
    const turn = turnOf(now?.spec ?? {}, identity, other, { now: performance.now(), durationMs });
    if (turn.do === 'wait') {
      if (other === undefined) emit(notice('pause.lease-taken', { lease: ref, holder: turn.other.holder }));
      other = turn.other;
    } else if (turn.do === 'end') {
      over.abort();
      lost.resolve(keptBy(ref, turn.holder));
    } else {
      await take(work, ref, identity, now);
      if (other !== undefined) emit({ type: 'change', action: 'update', object: ref, detail: 'taken again' });
      other = undefined;
    }
  };
  const tick = async (): Promise<void> => {
    try {
      await renew();
      hasWarned = false;
    } catch (error) {
      const values = { lease: ref, cause: messageOf(error) };
      if (!hasWarned) emit(notice('pause.lease-not-renewed', values));
      hasWarned = true;
    }
  };
  // A renewal starts only after the previous one has ended, so that no renewal overtakes a slow one.
  const renewing = async (): Promise<void> => {
    while (await sleep(durationMs / 3, over.signal)) await tick();
  };
  void renewing();
  return {
    lost: lost.promise,
    async release(ending) {
      over.abort();
      await giveBack(ending, ref, identity);
    },
  };
}

async function take({ api }: Work, ref: ObjectRef, identity: string, now: Lease | undefined): Promise<void> {
  const resourceVersion = now?.metadata.resourceVersion;
  const time = microTime();
  const spec = {
    holderIdentity: identity,
    ...(now?.spec.holderIdentity === identity ? {} : { acquireTime: time }),
    renewTime: time,
  };
  await api.patch(ref, 'merge', { metadata: { resourceVersion }, spec });
}

/** A Lease without a holder is free at once: a Pod of the manager takes it within seconds. */
async function giveBack(work: Work, ref: ObjectRef, identity: string): Promise<void> {
  const { api, emit } = work;
  await inRounds(work, ref, async () => {
    const now = await api.get<Lease>(ref);
    if (now?.spec.holderIdentity !== identity) return;
    const { resourceVersion } = now.metadata;
    const patch = { metadata: { resourceVersion }, spec: { holderIdentity: null } };
    await api.patch(ref, 'merge', patch).catch(conflictIfGone);
    emit({ type: 'change', action: 'restore', object: ref, detail: 'free for the manager' });
  });
}

function keptBy(ref: ObjectRef, holder: string): DevloopError {
  return new DevloopError(
    'session.lost',
    `${describe(ref)} was taken by ${holder}, so the in-cluster manager works on the same objects as the controller here.`,
    { hint: 'Run devloop up again.' },
  );
}
