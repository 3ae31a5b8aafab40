import { keptBy, planUndo } from '../../cluster/marks/undo.ts';
import type { MarkedObject, SearchResult } from '../../cluster/takeover/find-marked.ts';
import { isHandMade } from '../../cluster/takeover/hand-made.ts';
import type { LeaseHolder } from '../../cluster/takeover/lease-holder.ts';
import { isChanged, ownChangeOf, type RestoreResult } from '../../cluster/takeover/restore-steps.ts';
import { findUnmarked } from '../../cluster/takeover/unmarked.ts';
import type { Work } from '../../cluster/work.ts';
import type { FieldValues } from '../../report/change.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { takenBy } from '../context/named.ts';
import { refusePart } from './refuse-part.ts';
import { wasUnready } from './restore-pass.ts';
import { reportKept } from './unfinished.ts';

/**
 * Prints what `down` would restore and delete, with the values of each field before and after. Returns what `down` would leave unchanged.
 * Like `down`, throws if the account is not allowed to list something that may have changed. A live session (`holder`) guards its objects
 * and restores them itself, so nothing would be left.
 */
export async function printRestore(
  work: Work,
  found: Pick<SearchResult, 'marked' | 'unseen'>,
  holder: LeaseHolder | undefined,
): Promise<RestoreResult[]> {
  const { api, sessionId, emit } = work;
  const { marked } = found;
  if (holder) {
    const pid = holder.holder?.pid;
    emit(notice('restore.would-ask', { session: sessionId, pid }));
  }
  const planned = marked.map((one) => printPlanned(work, one));
  if (holder) return [];
  const taken = takenBy(sessionId, marked).map(({ ref }) => ref);
  const unmarked = await findUnmarked(work, taken, marked, (ref) => wasUnready(ref, marked));
  const left = [...planned, ...unmarked].filter(({ kept }) => kept.length > 0);
  reportKept({ context: api.context, left }, emit);
  refusePart(sessionId, found);
  return left;
}

function printPlanned({ sessionId, emit }: Work, one: MarkedObject): RestoreResult {
  const { ref } = one;
  const plan = planOf(one, sessionId);
  const kept = plan === undefined ? [] : keptBy(plan);
  const { action, fields, fault } = plannedRestore(one, sessionId);
  if (fault !== undefined) return { ref, kept };
  const detail = `session ${sessionId}`;
  const change = { type: 'change', action, object: ref, detail, dryRun: true } as const;
  emit(fields ? { ...change, fields } : change);
  return { ref, kept };
}

/** What the end of a session does with one object. */
export interface PlannedRestore {
  action: 'restore' | 'delete';
  /** Fields of a user's object that the session changed. */
  fields?: FieldValues[];
  /** Why nothing is restored. */
  fault?: string;
}

export function plannedRestore(one: MarkedObject, sessionId: string): PlannedRestore {
  const action = plannedAction(one, sessionId);
  const plan = planOf(one, sessionId);
  if (plan === undefined) return { action };
  if ('fault' in plan) return { action, fault: plan.fault };
  const fields = plan.fields.map(({ path, now, to }) => ({
    path: path.join('.'),
    now: now ?? null,
    after: to ?? null,
  }));
  return { action, fields };
}

/** The plan that undoes the session's changes of an object; undefined for an object that is deleted as a whole. */
function planOf(one: MarkedObject, sessionId: string): ReturnType<typeof planUndo> | undefined {
  const { ref, object } = one;
  const own = isChanged(ref, sessionId) || isHandMade(one) ? ownChangeOf(ref.kind) : undefined;
  return own && planUndo(object, own);
}

/** The user's objects are restored, devloop's own are deleted. Kubernetes itself restores Endpoints, unless they are hand-made. */
export function plannedAction(one: MarkedObject, sessionId: string): 'restore' | 'delete' {
  return isChanged(one.ref, sessionId) || isHandMade(one) || one.ref.kind === 'Endpoints'
    ? 'restore'
    : 'delete';
}
