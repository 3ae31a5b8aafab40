import type { ObjectRef } from '../../cluster/api/kinds.ts';
import { sessionOf } from '../../cluster/marks/marks.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import type { Manager } from '../../cluster/takeover/pause/pause.ts';
import { isReady } from '../../cluster/takeover/pause/waits.ts';
import { whyNotStarted } from '../../cluster/takeover/pause/why-not-started.ts';
import { ownChangeOf } from '../../cluster/takeover/restore-steps.ts';
import type { Observer } from '../../cluster/work.ts';
import type { Target } from '../../operator/target.ts';
import { notice } from '../../report/notices/catalogue.ts';
import type { ObjectName } from '../../report/object-name.ts';
import { describe } from '../../report/object-name.ts';

/**
 * What `up` pauses although it has no ready Pod when the session begins, even if its replicas are 0: then it need not be ready at the
 * session's end either. `known`: what was not ready before the sessions that are in the way.
 */
export function unreadyManagers(
  { manager, reconcilers = [] }: Target,
  known: ObjectName[] = [],
): ObjectRef[] {
  const names = new Set(known.map(describe));
  return [manager, ...reconcilers]
    .filter((one) => one !== undefined)
    .filter((one) => isUnready(one) || names.has(describe(one.ref)))
    .map(({ ref }) => ref);
}

/** If another session has paused the manager, its state before that session counts. */
function isUnready({ ref, object }: Manager): boolean {
  const own = ownChangeOf(ref.kind);
  const undo = own !== undefined && sessionOf(object) !== undefined ? undoOf(object, own) : [];
  const [paused] = 'fault' in undo ? [] : undo;
  return paused ? paused.before === 0 : object.spec.replicas === 0 || !isReady(object);
}

/** Says why each of them is not ready, as far as that can be seen. */
export async function reportUnready(
  { api, emit }: Pick<Observer, 'api' | 'emit'>,
  unready: ObjectRef[],
): Promise<void> {
  const causes = await Promise.all(unready.map((ref) => whyNotStarted(api, ref).catch(() => undefined)));
  for (const one of causes) {
    if (one === undefined) continue;
    emit(notice('manager.unready-before', { manager: one.ref, cause: one.cause }));
  }
}
