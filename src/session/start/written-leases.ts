import { isWrite } from '../../api-proxy/api-call.ts';
import type { ServedCall } from '../../api-proxy/observed.ts';
import { type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import type { Lease } from '../../cluster/api/objects.ts';
import { describe } from '../../report/object-name.ts';

/** A Lease that one program has written last, as far as it knows. */
export interface WrittenLease {
  ref: ObjectRef;
  holder: string;
  resourceVersion: string;
  /** Whether the client that wrote it is one of a leader election. */
  elects: boolean;
}

/** How client-go and controller-runtime end the name of a client that elects a leader. */
const ELECTS = /\/leader-election$/;
/** A program elects a leader with one Lease or a few, but it can write others: heartbeats and locks. */
const MOST_LEASES = 64;

/** The Leases that a program holds, from its own writes. */
export class WrittenLeases {
  #held = new Map<string, WrittenLease>();

  served({ call, headers, answer }: ServedCall): void {
    const { group, resource } = call.resource ?? {};
    if (resource !== 'leases' || group !== 'coordination.k8s.io' || !isWrite(call)) return;
    const lease = answer && leaseIn(answer);
    if (lease === undefined) return;
    const { metadata, spec } = lease;
    const ref = refOf('Lease', metadata);
    this.#held.delete(describe(ref));
    // A leader that gives up its Lease empties it.
    if (!spec.holderIdentity || !metadata.resourceVersion) return;
    const [oldest] = this.#held.keys();
    if (oldest !== undefined && this.#held.size >= MOST_LEASES) this.#held.delete(oldest);
    const elects = ELECTS.test(headers['user-agent'] ?? '');
    const { resourceVersion } = metadata;
    this.#held.set(describe(ref), { ref, holder: spec.holderIdentity, resourceVersion, elects });
  }

  /** Those with which it leads. `named`: says whether the program calls a Lease that of an election. */
  led(named: (ref: ObjectRef) => boolean): WrittenLease[] {
    return [...this.#held.values()].filter(({ ref, elects }) => elects || named(ref));
  }
}

/** Whether nobody has written the Lease since. */
export function isLastWrite({ metadata, spec }: Lease, { holder, resourceVersion }: WrittenLease): boolean {
  return spec.holderIdentity === holder && metadata.resourceVersion === resourceVersion;
}

/** Undefined for an answer that is none to a write of a Lease that took effect. */
function leaseIn({ status, body }: NonNullable<ServedCall['answer']>): Lease | undefined {
  if (status >= 300 || body === undefined) return undefined;
  try {
    const lease = JSON.parse(String(body)) as Partial<Lease> | null;
    return lease?.kind === 'Lease' && lease.metadata && lease.spec ? (lease as Lease) : undefined;
  } catch {
    return undefined;
  }
}
