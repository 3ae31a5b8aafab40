import type { Lease } from '../../cluster/api/objects.ts';
import { resourcesOf, type SearchResult, type UnseenKind } from '../../cluster/takeover/find-marked.ts';
import { type Holder, holderOf, leasedBy } from '../../cluster/takeover/lease.ts';
import { DevloopError } from '../../errors.ts';
import { unseenText } from '../../report/notices/command.ts';

/** What a session may have changed: its targets, and the objects that point its Services to its route. */
export type ChangeScope = Pick<Holder, 'targets' | 'route'>;

/**
 * Throws if the account is not allowed to list the kind of an object that the session may have changed, because then devloop cannot tell
 * whether that object is restored. A Lease names such objects: the one that it stands for, and those that its holder wrote into it. A
 * session that ends itself knows them without a Lease (`own`).
 */
export function refusePart(
  sessionId: string,
  { marked, unseen }: Pick<SearchResult, 'marked' | 'unseen'>,
  own?: ChangeScope,
): void {
  // A Lease whose object cannot be seen counts, too: devloop must not report that something is restored which it cannot see.
  const leases = marked.filter(({ ref }) => ref.kind === 'Lease');
  const held = leases.flatMap(({ object }) => holderOf(object as Lease) ?? []);
  const all = own === undefined ? held : [...held, own];
  const isHidden = (one: UnseenKind): boolean =>
    leases.some((lease) => leasedBy(lease, [one.kind]) && lease.ref.namespace === one.namespace) ||
    all.some((changing) => mayHaveChanged(changing, one));
  const hidden = unseen.filter(isHidden);
  if (hidden.length === 0) return;
  throw new DevloopError(
    'cluster.forbidden',
    `Session ${sessionId} may have changed objects that your account is not allowed to list: ${unseenText(resourcesOf(hidden))}. The rest is restored.`,
    { hint: 'Run devloop down with an account that is allowed to list and patch them.' },
  );
}

/**
 * With the relay, Kubernetes itself writes the endpoints, so an account that is not allowed to list them, which is common, is not refused.
 */
function mayHaveChanged({ targets, route }: ChangeScope, { kind, namespace }: UnseenKind): boolean {
  const isOfRoute = kind === 'EndpointSlice' || kind === 'Endpoints';
  const wanted = isOfRoute && /^(direct|ssh)\b/.test(route) ? 'Service' : kind;
  return targets.some((one) => one.kind === wanted && one.namespace === namespace);
}
