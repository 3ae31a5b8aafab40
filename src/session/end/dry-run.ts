import { planUndo } from '../../cluster/marks/undo.ts';
import type { Marked } from '../../cluster/takeover/find-marked.ts';
import type { LeaseHolder } from '../../cluster/takeover/lease-holder.ts';
import { isChanged, ownChangeOf } from '../../cluster/takeover/restore.ts';
import type { Emit, FieldValues } from '../../report/events.ts';
import type { Traces } from '../context/holders.ts';
import { reportKept } from './unfinished.ts';

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
  for (const one of objects) {
    const { action, fields, fault } = plannedRestore(one, sessionId);
    if (fault !== undefined) {
      reportKept({ context, left: [{ ref: one.ref, kept: [{ fault }] }] }, emit);
      continue;
    }
    const detail = `session ${sessionId}`;
    const change = { type: 'change', action, object: one.ref, detail, dryRun: true } as const;
    emit(fields ? { ...change, fields } : change);
  }
}

/** What the end of a session does with one object. */
export interface PlannedRestore {
  action: 'restore' | 'delete';
  /** Of the user's objects that the session changed. */
  fields?: FieldValues[];
  /** Why nothing is restored. */
  fault?: string;
}

export function plannedRestore({ ref, object }: Marked, sessionId: string): PlannedRestore {
  const action = plannedAction(ref, sessionId);
  const own = isChanged(ref, sessionId) ? ownChangeOf(ref.kind) : undefined;
  const plan = own && planUndo(object, own);
  if (plan === undefined) return { action };
  if ('fault' in plan) return { action, fault: plan.fault };
  const fields = plan.fields.map(({ path, now, to }) => ({
    path: path.join('.'),
    now: now ?? null,
    after: to ?? null,
  }));
  return { action, fields };
}

/** The user's objects are restored, devloop's own are deleted. Kubernetes itself restores Endpoints. */
export function plannedAction(ref: Marked['ref'], sessionId: string): 'restore' | 'delete' {
  return isChanged(ref, sessionId) || ref.kind === 'Endpoints' ? 'restore' : 'delete';
}
