/** How a changed object is restored: its undo is read and judged, then each field is compared with what devloop left there. */
import type { Json, KubeObject } from '../api/objects.ts';
import { SESSION_LABEL } from '../names.ts';
import {
  type FieldChange,
  guard,
  type OwnChange,
  type PatchOperation,
  removeEntry,
  same,
  sessionOf,
  write,
} from './marks.ts';
import { isOnlyOurs, type Owner, ownersOf, ownersWithIds } from './owners.ts';
import { covers, hasPlace, valueAt } from './paths.ts';

/** What a restore does with one field. */
export interface FieldUndo {
  path: string[];
  now: Json | undefined;
  before: Json | undefined;
  /** The value after the restore. */
  to: Json | undefined;
  /** Whether somebody else has changed the field since. If so, `to` is their value, without what devloop had added to it. */
  kept: boolean;
  /** Who owns the field again after the restore. */
  owners: Owner[];
}

/** What a restore leaves as it is: a field that somebody else changed, or the whole object, because its undo is not valid. */
export type Remainder = { path: string[]; now: Json | undefined; before: Json | undefined } | Fault;

/** Why an undo is not carried out: `devloop.dev/undo is missing`. */
export interface Fault {
  fault: string;
  /** Set if the object has lost its label; the fault then names what else a session left in it. */
  isUnmarked?: true;
}

/** What a restore by this plan leaves as it is. */
export function keptBy(plan: { fields: FieldUndo[] } | Fault): Remainder[] {
  if ('fault' in plan) return [plan];
  return plan.fields.filter(({ kept }) => kept).map(({ path, to, before }) => ({ path, now: to, before }));
}

/** The fields that the session changed in this object, or why its undo is not valid. */
export function undoOf(object: KubeObject, { store, fields: own }: OwnChange): FieldChange[] | Fault {
  const text = object.metadata[store.map]?.[store.key];
  if (text === undefined) return { fault: `${store.key} is missing` };
  const fields = store.read(text)?.fields ?? [];
  const names = new Set(fields.map(({ path }) => JSON.stringify(path)));
  if (fields.length === 0 || names.size < fields.length) return { fault: `${store.key} cannot be read` };
  for (const field of fields) {
    const declared = own.find(({ path }) => covers(path, field.path));
    const where = field.path.join('.').slice(0, 80);
    if (declared === undefined) return { fault: `${store.key} names ${where}, which devloop never changes` };
    if (!declared.isOwn(field, sessionOf(object) ?? ''))
      return { fault: `${store.key} holds values of ${where} that devloop never writes` };
  }
  return fields;
}

/** The patch that restores the fields and removes the mark; if the undo is not valid, only the reason. */
export function planUndo(
  object: KubeObject,
  own: OwnChange,
): { fields: FieldUndo[]; patch: PatchOperation[] } | Fault {
  const changed = undoOf(object, own);
  if ('fault' in changed) return changed;
  // If somebody has removed an entry of a list, nothing in it is left to restore.
  const fields = changed
    .filter(({ path }) => hasPlace(object, path))
    .map((change) => undoField(object, change));
  const { map, key } = own.store;
  const patch = [
    ...guard(object),
    ...fields.flatMap(({ path, now, to }) => (same(now, to) ? [] : write(object, path, to))),
    ...removeEntry(object, 'labels', SESSION_LABEL),
    ...removeEntry(object, map, key),
  ];
  return { fields, patch };
}

function undoField(object: KubeObject, change: FieldChange): FieldUndo {
  const { path, before, after } = change;
  const now = valueAt(object, path);
  const theirs = withoutOwn(change, now);
  const isAsLeft = same(now, after) || isOnlyOurs(object, path);
  const isOwn = isAsLeft || (same(theirs, undefined) && !same(now, undefined));
  const kept = !isOwn && !same(theirs, before);
  const owners = ownersOf(object, path);
  // A restore in two steps has already written the old value.
  const isOurs = isAsLeft || (same(now, before) && owners.length === 0);
  return {
    path,
    now,
    before,
    to: kept ? theirs : before,
    kept,
    owners: isOurs ? earlierOwners(object, change) : owners,
  };
}

function earlierOwners(object: KubeObject, { owners = [], ownerIds = [] }: FieldChange): Owner[] {
  return [...owners, ...ownersWithIds(object, ownerIds)];
}

/**
 * What others set in a field. A map is returned without the entries that devloop added or changed, since a three-way merge (`kubectl
 * apply`, Helm) adds the manifest's entries to them. Any other value comes from one writer as a whole.
 */
export function withoutOwn(
  { before, after }: Omit<FieldChange, 'path'>,
  now: Json | undefined,
): Json | undefined {
  if (!isMap(now) || !isMap(after)) return now;
  const isOwn = (key: string): boolean =>
    Object.hasOwn(after, key) && same(now[key], after[key]) && !same(valueAt(before, [key]), after[key]);
  return Object.fromEntries(Object.entries(now).filter(([key]) => !isOwn(key)));
}

function isMap(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
