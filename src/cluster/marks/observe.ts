/** Compares an object with what a session changed in it, while the session runs. */
import type { Json, KubeObject, ManagedFields } from '../api/objects.ts';
import { type FieldChange, ownedBy, same, sessionOf } from './marks.ts';
import { type Owner, ownersOf, partOf } from './owners.ts';
import { hasPlace, valueAt } from './paths.ts';
import { withoutOwn } from './undo.ts';

/** A writer, as recorded in the object's managedFields. */
export type Writer = Omit<ManagedFields, 'fieldsV1'>;

export interface Observation {
  /** The session that the object's label names now: this one, another one, or none. */
  session: string | undefined;
  /** Who wrote to the object last, apart from its status. */
  lastWriter: Writer | undefined;
  /** The fields that are not as this session wrote them. */
  differing: Difference[];
}

/** A field that somebody else changed during the session. */
export interface Difference {
  /** What the session wrote, and what was there before. */
  change: FieldChange;
  now: Json | undefined;
  /** The others' value: `now` without what this session had added to it. A restore has to write this value. */
  theirs: Json | undefined;
  /** Who set `now`; unknown if the field is gone. */
  by: Writer | undefined;
  /** Everybody else who owns the field now. */
  owners: Owner[];
}

/** Compares an object with the changes that this session made in it: `before` is what it found, `after` what it wrote. */
export function observe(object: KubeObject, changes: FieldChange[]): Observation {
  const differing = changes.flatMap((change): Difference[] => {
    const now = valueAt(object, change.path);
    if (same(now, change.after) || !hasPlace(object, change.path)) return [];
    const by = writerOf(object, change.path);
    return [{ change, now, theirs: withoutOwn(change, now), by, owners: ownersOf(object, change.path) }];
  });
  const writers = (object.metadata.managedFields ?? []).filter(({ subresource }) => subresource !== 'status');
  return { session: sessionOf(object), lastWriter: latest(writers), differing };
}

/**
 * The changes with which the session writes its fields again. A value that others have set becomes the value to restore, with its owners.
 * If a field is merely gone, nobody has set another value, so the value to restore stays as it was.
 */
export function changesAfter(changes: FieldChange[], { differing }: Observation): FieldChange[] {
  return changes.map((change) => {
    const { theirs, owners } = differing.find((one) => one.change === change) ?? {};
    return same(theirs, undefined) ? change : ownedBy({ ...change, before: theirs! }, owners);
  });
}

/** Who set a field last; undefined if the field is absent, since nobody owns it. */
export function writerOf(object: KubeObject, path: string[]): Writer | undefined {
  return latest(
    (object.metadata.managedFields ?? []).filter(({ fieldsV1 }) => partOf(fieldsV1, path) !== undefined),
  );
}

/** The last writer; of two that wrote in the same second, the one with the later entry. */
/** The last entry of managedFields to be written. */
export function latest(writers: ManagedFields[]): Writer | undefined {
  const [first, ...others] = writers;
  if (first === undefined) return undefined;
  const { fieldsV1: _, ...writer } = others.reduce(
    (found, one) => ((one.time ?? '') >= (found.time ?? '') ? one : found),
    first,
  );
  return writer;
}
