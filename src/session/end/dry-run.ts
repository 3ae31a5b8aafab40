import { planUndo } from '../../cluster/marks/undo.ts';
import type { Marked } from '../../cluster/takeover/find-marked.ts';
import type { LeaseHolder } from '../../cluster/takeover/lease-holder.ts';
import { isChanged, ownChangeOf } from '../../cluster/takeover/restore.ts';
import type { Emit } from '../../report/events.ts';
import type { Traces } from '../context/holders.ts';
import { reportKept } from './restore.ts';

/** Prints what `down` would restore and delete of a session, with the values of each field now and then. */
export function printRestore(
  context: string,
  { sessionId, objects }: Traces,
  holder: LeaseHolder | undefined,
  emit: Emit,
): void {
  if (holder) {
    const message = `Session ${sessionId} is running on this machine (pid ${holder.holder?.pid}); devloop down would ask it to restore everything.`;
    emit({ type: 'note', message });
  }
  for (const { ref, object } of objects) {
    const own = isChanged(ref, sessionId) ? ownChangeOf(ref.kind) : undefined;
    const plan = own && planUndo(object, own);
    if (plan && 'fault' in plan) {
      reportKept({ context, left: [{ ref, kept: [plan] }] }, emit);
      continue;
    }
    const action = plannedAction(ref, sessionId);
    const fields = plan?.fields.map(({ path, now, to }) => ({
      path: path.join('.'),
      now: now ?? null,
      after: to ?? null,
    }));
    const change = {
      type: 'change',
      action,
      object: ref,
      detail: `session ${sessionId}`,
      dryRun: true,
    } as const;
    emit(fields ? { ...change, fields } : change);
  }
}

/** The user's objects are restored, devloop's own are deleted. Kubernetes itself restores Endpoints. */
export function plannedAction(ref: Marked['ref'], sessionId: string): 'restore' | 'delete' {
  return isChanged(ref, sessionId) || ref.kind === 'Endpoints' ? 'restore' : 'delete';
}
