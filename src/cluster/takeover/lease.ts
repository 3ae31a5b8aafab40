import { DevloopError, messageOf } from '../../errors.ts';
import { startElapsed } from '../../machine/elapsed.ts';
import { shellWord } from '../../phrases.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ObjectName } from '../../report/object-name.ts';
import { describe } from '../../report/object-name.ts';
import { isAlreadyExists, isForbidden } from '../api/errors.ts';
import type { Kind, ObjectRef } from '../api/kinds.ts';
import { type KubeObject, type Lease, microTime } from '../api/objects.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { inRounds, whileInConflict } from '../marks/change.ts';
import { sessionOf } from '../marks/marks.ts';
import { HOLDER_ANNOTATION, isLeaseFor, leasedObject, leaseRef, SESSION_LABEL } from '../names.ts';
import type { PlannedChange, Step } from '../step.ts';
import type { Work } from '../work.ts';

export const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5_000;

/**
 * Who is using an operator, and the state of their session. It is written to the Lease, so that `status` needs one call and no local file.
 */
export interface Holder {
  user: string;
  host: string;
  pid: number;
  /**
   * Distinguishes the process from others with the same pid; on Linux `<boot id>/<PID namespace>/<tick>`. Empty if the system does not
   * provide it.
   */
  processStart: string;
  since: string;
  route: string;
  targets: ObjectName[];
  /** The targets that were not ready before the session, so they are not expected to be ready after it. */
  unready?: ObjectName[];
  health: string;
  /** The ServiceAccount as which the controller works, as the API server calls it; absent while it works as the user. */
  account?: string | undefined;
  /** How many faults can still be met; absent if none can. */
  faults?: number | undefined;
}

/** `outdated`: not renewed in time, so others see the session as dead, and one of them may have taken the Lease. */
export type LeaseState = 'held' | 'outdated' | 'lost';

export interface HeldLease extends AsyncDisposable {
  update(holder: Partial<Holder>): Promise<void>;
  /** Resolves with the new holder's name when another session has taken the Lease. */
  readonly lost: Promise<string>;
  /** Known at once, also after this machine was asleep. */
  state(): LeaseState;
}

/**
 * The holder that a Lease records; undefined if devloop cannot have written it. Anybody who is allowed to write Leases can change this
 * record, and devloop sends signals to the process that it names.
 */
export function holderOf(lease: Lease): Holder | undefined {
  try {
    const value: unknown = JSON.parse(lease.metadata.annotations?.[HOLDER_ANNOTATION] ?? '');
    if (!isHolder(value)) return undefined;
    const { unready, ...rest } = value;
    const names = {
      targets: value.targets.map(nameOnly),
      ...(unready && { unready: unready.map(nameOnly) }),
    };
    return { ...rest, ...names };
  } catch {
    return undefined;
  }
}

/** The object of one of these kinds that a Lease is for, by the Lease's name or, for a long name, by the targets of its holder. */
export function leasedBy(
  { ref, object }: { ref: ObjectRef; object: KubeObject },
  kinds: Kind[],
): ObjectRef | undefined {
  if (ref.kind !== 'Lease') return undefined;
  const targets = (holderOf(object as Lease)?.targets ?? []) as ObjectRef[];
  return leasedObject(ref, kinds) ?? targets.find((one) => kinds.includes(one.kind) && isLeaseFor(ref, one));
}

/** Drops all other fields, because the name is printed, and other fields may have any size. */
function nameOnly({ kind, namespace, name }: ObjectName): ObjectName {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}

const TEXTS = ['user', 'host', 'processStart', 'since', 'route', 'health'] as const;

function isHolder(value: unknown): value is Holder {
  const holder = (value ?? {}) as Partial<Holder>;
  const isTarget = (one: Partial<ObjectName> | null): boolean =>
    typeof one?.kind === 'string' &&
    typeof one.name === 'string' &&
    typeof (one.namespace ?? '') === 'string';
  const areTargets = (all: unknown): boolean => Array.isArray(all) && all.every(isTarget);
  return (
    TEXTS.every((key) => typeof holder[key] === 'string') &&
    Number.isSafeInteger(holder.pid) &&
    holder.pid! > 0 &&
    typeof (holder.account ?? '') === 'string' &&
    Number.isSafeInteger(holder.faults ?? 0) &&
    areTargets(holder.targets) &&
    areTargets(holder.unready ?? [])
  );
}

export function identity(holder: Pick<Holder, 'user' | 'host' | 'pid'>): string {
  return `${holder.user}@${holder.host} (pid ${holder.pid})`;
}

function leasePermissions(namespace: string): Permission[] {
  return permissionsOn('Lease', 'get list create patch delete', {
    namespace,
    why: 'show others who is using the operator',
    without: 'others who take over the operator get no warning',
  });
}

/**
 * Creates the Lease of an object and renews it until disposed. Disposing leaves the Lease in place: it is deleted last, when everything
 * else of the session is restored. Resolves to undefined, after a warning, if the API server forbids the Lease.
 */
export function holdLease(
  object: ObjectRef,
): Step<(work: Work, holder: Holder) => Promise<HeldLease | undefined>> {
  const ref = leaseRef(object);
  const detail = 'records who is using it';
  const change: PlannedChange = { action: 'create', object: ref, detail, temporary: true };
  return {
    changes: [change],
    permissions: leasePermissions(ref.namespace!),
    async apply(work, holder) {
      const lease = await createLease(work, ref, holder);
      if (lease === undefined) return undefined;
      work.emit({ type: 'change', ...change });
      return keepRenewing(work, ref, lease, holder);
    },
  };
}

async function createLease(work: Work, ref: ObjectRef, holder: Holder): Promise<Lease | undefined> {
  return await inRounds(work, ref, () => createOrFind(work, ref, holder));
}

async function createOrFind(
  { api, sessionId, emit }: Work,
  ref: ObjectRef,
  holder: Holder,
): Promise<Lease | undefined> {
  try {
    return await api.create<Lease>(ref, leaseObject(ref, sessionId, holder));
  } catch (error) {
    if (isForbidden(error)) {
      emit(notice('session.no-leases', { cause: error.message }));
      return undefined;
    }
    if (!isAlreadyExists(error)) throw error;
    // An earlier attempt, whose answer was lost, may have created the Lease.
    const existing = await api.get<Lease>(ref);
    // If its holder has just deleted it, the next round creates it.
    if (existing === undefined) throw error;
    const session = sessionOf(existing);
    if (session === sessionId) return existing;
    if (session === undefined) throw unlabelled(api.context, ref, existing);
    throw new DevloopError('session.held', `Another session has just taken ${describe(ref)}.`, {
      hint: 'devloop status',
      cause: error,
    });
  }
}

/** A Lease that devloop cannot find by its label: somebody removed the label, or created the Lease. */
function unlabelled(context: string, ref: ObjectRef, { spec }: Lease): DevloopError {
  const message = `${describe(ref)} is in the way: it names ${spec.holderIdentity ?? 'nobody'} as its holder, and has no label ${SESSION_LABEL}, so devloop status and devloop down do not see it.`;
  const remove = `kubectl --context ${shellWord(context)} -n ${shellWord(ref.namespace)} delete lease ${shellWord(ref.name)}`;
  return new DevloopError('session.held', message, { hint: `If nobody is using it: ${remove}` });
}

function keepRenewing({ api, emit }: Work, ref: ObjectRef, created: Lease, first: Holder): HeldLease {
  let holder = first;
  let sinceRenewed = startElapsed();
  let isLost = false;
  const lost = Promise.withResolvers<string>();
  const lose = (by: string): void => {
    isLost = true;
    lost.resolve(by);
  };
  const isOutdated = (): boolean => sinceRenewed() >= LEASE_SECONDS * 1000;
  // The patch names a version, so the API server rejects it if another session or a newer renewal wrote the Lease first. Renewals do not
  // wait for each other, since one that hangs must not delay the next.
  const renew = async (): Promise<void> => {
    // Counted from the beginning, because the time in the Lease is that of the write.
    const elapsed = startElapsed();
    await whileInConflict(async () => {
      const now = await api.get<Lease>(ref);
      if (now?.metadata.uid !== created.metadata.uid)
        return lose(now ? (now.spec.holderIdentity ?? 'somebody') : 'somebody who deleted the Lease');
      const { resourceVersion } = now!.metadata;
      const metadata = { resourceVersion, annotations: { [HOLDER_ANNOTATION]: JSON.stringify(holder) } };
      await api.patch(ref, 'merge', { metadata, spec: { renewTime: microTime() } });
    });
    sinceRenewed = elapsed;
  };
  let warned = false;
  // A failed renewal is repeated at the next tick: the Lease outlasts two failed renewals.
  const tick = async (): Promise<void> => {
    try {
      await renew();
      warned = false;
    } catch (error) {
      if (warned || !isOutdated()) return;
      warned = true;
      const cause = messageOf(error).replace(/\.$/, '');
      emit(notice('session.lease-outdated', { seconds: LEASE_SECONDS, cause }));
    }
  };
  const timer = setInterval(() => void tick(), RENEW_EVERY_MS);
  return {
    lost: lost.promise,
    state: () => (isLost ? 'lost' : isOutdated() ? 'outdated' : 'held'),
    async update(change) {
      holder = { ...holder, ...change };
      await renew().catch(() => {});
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
    },
  };
}

function leaseObject(ref: ObjectRef, sessionId: string, holder: Holder): Lease {
  const now = microTime();
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: ref.name,
      ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
      labels: { [SESSION_LABEL]: sessionId },
      annotations: { [HOLDER_ANNOTATION]: JSON.stringify(holder) },
    },
    spec: {
      holderIdentity: identity(holder),
      leaseDurationSeconds: LEASE_SECONDS,
      acquireTime: now,
      renewTime: now,
    },
  };
}
