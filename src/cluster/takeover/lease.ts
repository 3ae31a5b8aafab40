import { DevloopError, messageOf } from '../../errors.ts';
import type { ObjectName } from '../../report/events.ts';
import { ApiError, rejected } from '../api/errors.ts';
import { describe, type ObjectRef } from '../api/kinds.ts';
import type { Lease } from '../api/objects.ts';
import { HOLDER_ANNOTATION, SESSION_LABEL } from '../names.ts';
import type { Work } from '../work.ts';

export const LEASE_SECONDS = 15;
const RENEW_EVERY_MS = 5_000;

/** Who holds an operator, from where, and how it does. Stands on the Lease, so that `status` needs one call and no local file. */
export interface Holder {
  user: string;
  host: string;
  pid: number;
  /** Identifies the process beyond its pid, on Linux `<boot id>/<tick>`; empty where the system does not tell. */
  processStart: string;
  since: string;
  route: string;
  targets: ObjectName[];
  health: string;
}

export interface HeldLease extends AsyncDisposable {
  update(holder: Partial<Holder>): Promise<void>;
  /** Resolves when another session took the Lease, with its holder's name. */
  readonly lost: Promise<string>;
}

export function holderOf(lease: Lease): Holder | undefined {
  try {
    return JSON.parse(lease.metadata.annotations?.[HOLDER_ANNOTATION] ?? '') as Holder;
  } catch {
    return undefined;
  }
}

export function identity(holder: Pick<Holder, 'user' | 'host' | 'pid'>): string {
  return `${holder.user}@${holder.host} (pid ${holder.pid})`;
}

/** Creates the Lease and renews it until disposed, which deletes it. Undefined where Leases are forbidden: said once, then done without. */
export async function holdLease(
  { api, sessionId, emit }: Work,
  ref: ObjectRef,
  first: Holder,
): Promise<HeldLease | undefined> {
  let holder = first;
  let created: Lease;
  try {
    created = await api.create<Lease>(ref, leaseObject(ref, sessionId, holder));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.isForbidden) {
      emit({
        type: 'warning',
        message: `Leases are forbidden here, so nothing warns a second person who takes over the same operator (${error.message}).`,
      });
      return undefined;
    }
    if (error.reason !== 'AlreadyExists') throw rejected(error, `Creating ${describe(ref)}`);
    throw new DevloopError('session.held', `${describe(ref)} was taken by another session just now.`, {
      hint: 'devloop status',
      cause: error,
    });
  }
  const lost = Promise.withResolvers<string>();
  const renew = async (): Promise<void> => {
    const patch = {
      // With its uid the API server refuses the patch where another session's Lease came in between.
      metadata: {
        ...(created.metadata.uid === undefined ? {} : { uid: created.metadata.uid }),
        annotations: { [HOLDER_ANNOTATION]: JSON.stringify(holder) },
      },
      spec: { renewTime: microTime() },
    };
    const now = await api.get<Lease>(ref);
    if (now?.metadata.uid !== created.metadata.uid)
      lost.resolve(now ? (now.spec.holderIdentity ?? 'somebody') : 'nobody (the Lease was deleted)');
    else await api.patch(ref, 'merge', patch);
  };
  let renewedAt = Date.now();
  let told = false;
  // A renewal that fails is tried again at the next tick: the Lease outlasts two of them.
  const tick = async (): Promise<void> => {
    try {
      await renew();
      renewedAt = Date.now();
      told = false;
    } catch (error) {
      if (told || Date.now() - renewedAt < LEASE_SECONDS * 1000) return;
      told = true;
      emit({ type: 'warning', message: outdated(error) });
    }
  };
  const timer = setInterval(() => void tick(), RENEW_EVERY_MS);
  return {
    lost: lost.promise,
    async update(change) {
      holder = { ...holder, ...change };
      await renew().catch(() => {});
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
    },
  };
}

function outdated(error: unknown): string {
  const cause = messageOf(error).replace(/\.$/, '');
  return `The Lease of this session was not renewed for ${LEASE_SECONDS} s: ${cause}. Until it is, others take the session for dead, and may take over.`;
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

function microTime(): string {
  return new Date().toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}
