import type { Lease } from '../../cluster/api/objects.ts';
import { isLeaseOf } from '../../cluster/names.ts';
import { type Found, type Unseen, unseenText } from '../../cluster/takeover/find-marked.ts';
import { type Holder, holderOf } from '../../cluster/takeover/lease.ts';
import { DevloopError } from '../../errors.ts';

/** What a session may have changed: its targets, and the objects that point its Services to its route. */
export type Changing = Pick<Holder, 'targets' | 'route'>;

/**
 * A Lease names the objects that may have been changed: the one that it is for, and those that its holder wrote into it. A session that
 * ends itself knows them anyway. If the account cannot list their kinds, nothing shows whether they were restored.
 */
export function refusePart(
  sessionId: string,
  { marked, unseen }: Pick<Found, 'marked' | 'unseen'>,
  own?: Changing,
): void {
  const leases = marked.filter(({ ref }) => ref.kind === 'Lease');
  const held = leases.flatMap(({ object }) => holderOf(object as Lease) ?? []);
  const all = own === undefined ? held : [...held, own];
  const isHidden = (one: Unseen): boolean =>
    leases.some(({ ref }) => isLeaseOf(ref, one.kind) && ref.namespace === one.namespace) ||
    all.some((changing) => mayHaveChanged(changing, one));
  const hidden = unseen.filter(isHidden);
  if (hidden.length === 0) return;
  throw new DevloopError(
    'cluster.forbidden',
    `Session ${sessionId} may have changed objects that your account is not allowed to list: ${unseenText(hidden)}. The rest is restored.`,
    { hint: 'Run devloop down with an account that is allowed to list and patch them.' },
  );
}

/** Over the relay, Kubernetes itself writes the endpoints, so an account without permission to list them, as is common, is not refused. */
function mayHaveChanged({ targets, route }: Changing, { kind, namespace }: Unseen): boolean {
  const isOfRoute = kind === 'EndpointSlice' || kind === 'Endpoints';
  const wanted = isOfRoute && /^(direct|ssh)\b/.test(route) ? 'Service' : kind;
  return targets.some((one) => one.kind === wanted && one.namespace === namespace);
}
