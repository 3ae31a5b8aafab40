import type { Json, KubeObject } from '../../cluster/api/objects.ts';
import { type FieldChange, type OwnChange, same } from '../../cluster/marks/marks.ts';
import { type Difference, type Observation, observe } from '../../cluster/marks/observe.ts';
import { isSameOwner, OWN_MANAGER, type Owner, ownerId } from '../../cluster/marks/owners.ts';
import { valueAt } from '../../cluster/marks/paths.ts';
import { undoOf } from '../../cluster/marks/undo.ts';
import { SESSION_LABEL } from '../../cluster/names.ts';
import type { Writer } from '../../report/change.ts';

/** A field that somebody else changed: what this session had written, and what is there now. */
export interface OverwrittenField {
  path: string[];
  ours: Json | undefined;
  now: Json | undefined;
  by: Writer | undefined;
}

export type Judgement =
  /** As this session left it, or not changed by this session yet. */
  | { is: 'intact' }
  /** Deleted, or being deleted. */
  | { is: 'gone' }
  /** Somebody else wrote over this session's fields, or over its mark. */
  | { is: 'overwritten'; fields: OverwrittenField[]; observed: Observation }
  /** Another devloop has restored it. */
  | { is: 'restored' }
  /** Another session has marked it. */
  | { is: 'taken'; by: string };

/** What this session is, and what it has changed in one object. */
export interface Ours {
  sessionId: string;
  own: OwnChange;
  /** The changes as this session wrote them, whatever the object's mark contains later. Undefined before that write. */
  changes: FieldChange[] | undefined;
}

/** What has become of an object that this session changes. */
export function judge(object: KubeObject | undefined, ours: Ours): Judgement {
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return { is: 'gone' };
  const { sessionId, own, changes } = ours;
  if (changes === undefined) return { is: 'intact' };
  const observed = observe(object, changes);
  const { session, differing } = observed;
  if (session !== undefined && session !== sessionId) return { is: 'taken', by: session };
  if (isRestored(object, own, changes, observed)) return { is: 'restored' };
  const values = differing.map(
    ({ change, now, by }): OverwrittenField => ({
      path: change.path,
      ours: change.after,
      now,
      by: by ?? lastOther(observed),
    }),
  );
  const fields = [...values, ...markDifferences(object, { sessionId, own, changes }, observed)];
  return fields.length === 0 ? { is: 'intact' } : { is: 'overwritten', fields, observed };
}

/** The mark contains the undo, so it is guarded like the fields. */
function markDifferences(
  object: KubeObject,
  { sessionId, own, changes }: Required<Ours>,
  observed: Observation,
): OverwrittenField[] {
  const { store } = own;
  const label = ['metadata', 'labels', SESSION_LABEL];
  const stored = ['metadata', store.map, store.key];
  const by = lastOther(observed);
  const isLabelled = observed.session === sessionId;
  const isGone = !isLabelled && valueAt(object, stored) === undefined;
  // If the manager had no replicas before, there is nothing to remember, and nothing shows who has removed the mark.
  if (isGone && changes!.every(({ before, after }) => same(before, after))) return [];
  const isStored = hasUndo(object, own, changes!);
  return [
    ...(isLabelled ? [] : [{ path: label, ours: sessionId, now: valueAt(object, label), by }]),
    // Without the label, what is stored cannot be checked.
    ...(isStored || !isLabelled
      ? []
      : [{ path: stored, ours: store.write({ v: 1, fields: changes! }), now: valueAt(object, stored), by }]),
  ];
}

/** Whether the mark of an object contains exactly these changes. */
export function hasUndo(object: KubeObject, own: OwnChange, changes: FieldChange[]): boolean {
  return same(undoOf(object, own) as unknown as Json, changes as unknown as Json);
}

/** The last writer; undefined if it was devloop, or if none is recorded. */
export function lastOther({ lastWriter }: Observation): Writer | undefined {
  return lastWriter?.manager === OWN_MANAGER ? undefined : lastWriter;
}

/**
 * Whether another devloop wrote the old values back, as `devloop down` does: this session does not do that while it guards the object.
 * After `down` has removed the mark, it also returns the fields to their earlier owners, whereas anybody else who writes a value becomes
 * its owner at that moment. So a value that has no owner, or only owners with the times in the undo, was written by `down`. A removed field
 * has no owner; it counts if the mark is gone or shows that the object is being restored.
 */
function isRestored(
  object: KubeObject,
  own: OwnChange,
  changes: FieldChange[],
  { session, differing }: Observation,
): boolean {
  const isBack = changes.every(({ path, before }) => same(valueAt(object, path), before));
  const isUnmarked = session === undefined || own.isResuming?.(object) === true;
  const isReturned = ({ change, owners }: Difference): boolean =>
    isUnmarked && owners.every((owner) => isEarlierOwner(owner, change));
  const isByDevloop = (one: Difference): boolean => one.by?.manager === OWN_MANAGER || isReturned(one);
  return isBack && differing.length > 0 && differing.every(isByDevloop);
}

function isEarlierOwner(owner: Owner, { owners = [], ownerIds = [] }: FieldChange): boolean {
  return owners.some((before) => isSameOwner(before, owner)) || ownerIds.includes(ownerId(owner));
}
