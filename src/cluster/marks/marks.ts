/**
 * Marks record in the cluster what devloop changed. A changed object carries a label with the session's id, and the values of the changed
 * fields before and after. The patch that makes the change also writes the mark, so every changed object contains what is needed to restore
 * it.
 */
import type { Json, KubeObject } from '../api/objects.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../names.ts';
import { isOwner, type Owner, ownersOf } from './owners.ts';
import { escapeToken, hasPlace, pointerTo, valueAt } from './paths.ts';

/** One changed field. An undefined value means that the field is absent. */
export interface FieldChange {
  /** Path from the object's root: ['spec', 'selector'], or ['webhooks', 'a.example.com', 'timeoutSeconds']. */
  path: string[];
  before?: Json;
  after?: Json;
  /** Who owned `before`, if that is known and the mark has room for it. */
  owners?: Owner[];
  /** The ids of these owners, from a mark that has no room for more. */
  ownerIds?: string[];
}

export interface Undo {
  v: 1;
  fields: FieldChange[];
}

/** Where a changed object keeps its undo, and in what form. */
export interface UndoStore {
  map: 'labels' | 'annotations';
  key: string;
  write(undo: Undo): string;
  /** Returns undefined if `write` cannot have written the text. */
  read(text: string): Undo | undefined;
}

/**
 * What devloop itself changes in the objects of a kind. Whoever can write to an object can write an undo, so an undo that names anything
 * else is not devloop's, and is never carried out.
 */
export interface OwnChange {
  store: UndoStore;
  fields: OwnField[];
  /** Whether a devloop process is already restoring the object; it removes the mark last. */
  isResuming?(object: KubeObject): boolean;
}

export interface OwnField {
  /** May contain ANY_ENTRY. */
  path: string[];
  /** Whether a session can have found this `before` and have written this `after`. */
  isOwn(change: Pick<FieldChange, 'before' | 'after'>, sessionId: string): boolean;
}

export const IN_ANNOTATION: UndoStore = {
  map: 'annotations',
  key: UNDO_ANNOTATION,
  write: JSON.stringify,
  read(text) {
    try {
      const undo: unknown = JSON.parse(text);
      return isUndo(undo) ? { v: 1, fields: undo.fields.map(withBelievableOwners) } : undefined;
    } catch {
      return undefined;
    }
  },
};

function isUndo(value: unknown): value is Undo {
  const { v, fields } = (value ?? {}) as Partial<Undo>;
  return v === 1 && Array.isArray(fields) && fields.every((field) => isPath(field?.path));
}

/** A field has one owner, or a few that have applied the same value. */
const MOST_OWNERS = 10;

/** Drops owners that devloop cannot have written. The field is kept without them, since they do not affect its value. */
function withBelievableOwners({ owners, ...field }: FieldChange): FieldChange {
  return ownedBy(field, Array.isArray(owners) ? owners.slice(0, MOST_OWNERS).filter(isOwner) : []);
}

export function ownedBy(
  { owners: _, ownerIds: __, ...field }: FieldChange,
  owners: Owner[] = [],
): FieldChange {
  return owners.length === 0 ? field : { ...field, owners };
}

function isPath(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((key) => typeof key === 'string');
}

export interface PatchOperation {
  op: 'add' | 'remove' | 'replace' | 'test';
  path: string;
  value?: Json;
}

export function sessionOf(object: KubeObject): string | undefined {
  return object.metadata.labels?.[SESSION_LABEL];
}

/** The patch that makes a change and marks it. It applies only to the version of the object that is passed in. */
export function changePatch(
  object: KubeObject,
  sessionId: string,
  wanted: { path: string[]; value?: Json }[],
  store = IN_ANNOTATION,
): PatchOperation[] {
  const possible = wanted.filter(({ path }) => hasPlace(object, path));
  const fields = possible.map(({ path, value }): FieldChange => {
    const before = valueAt(object, path);
    const change = {
      path,
      ...(before === undefined ? {} : { before }),
      ...(value === undefined ? {} : { after: value }),
    };
    return ownedBy(change, ownersOf(object, path));
  });
  return markedPatch(object, sessionId, fields, store);
}

/** The patch that writes `after` to each field and records in the mark how to return to `before`, whatever the object contains now. */
export function markedPatch(
  object: KubeObject,
  sessionId: string,
  fields: FieldChange[],
  store: UndoStore,
): PatchOperation[] {
  const marks = { labels: { [SESSION_LABEL]: sessionId } as Entries, annotations: {} as Entries };
  marks[store.map][store.key] = store.write({ v: 1, fields });
  return [
    ...guard(object),
    ...fields
      .filter(({ path }) => hasPlace(object, path))
      .flatMap(({ path, after }) => [...missingParents(object, path), ...write(object, path, after)]),
    ...setEntries(object, 'labels', marks.labels),
    ...setEntries(object, 'annotations', marks.annotations),
  ];
}

/** Deep equality of JSON; an empty map equals an absent one, since the API server drops empty maps. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: Json | undefined): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const keys = Object.keys(value).sort();
  return keys.length === 0
    ? 'null'
    : `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`;
}

/** Makes the API server refuse a patch with 409 if the object has changed since it was read. */
export function guard(object: KubeObject): PatchOperation[] {
  const version = object.metadata.resourceVersion;
  return version === undefined ? [] : [{ op: 'replace', path: '/metadata/resourceVersion', value: version }];
}

/** Creates the missing parents of a field: a node selector, for example, is absent until somebody adds to it. */
function missingParents(object: KubeObject, path: string[]): PatchOperation[] {
  const parents = path.slice(0, -1).map((_, index) => path.slice(0, index + 1));
  return parents
    .filter((parent) => valueAt(object, parent) === undefined)
    .map((parent) => ({ op: 'add', path: pointerTo(object, parent), value: {} }));
}

export function write(object: KubeObject, path: string[], value: Json | undefined): PatchOperation[] {
  const now = valueAt(object, path);
  const pointer = pointerTo(object, path);
  if (value !== undefined) return [{ op: now === undefined ? 'add' : 'replace', path: pointer, value }];
  return now === undefined ? [] : [{ op: 'remove', path: pointer }];
}

type Entries = Record<string, string>;

function setEntries({ metadata }: KubeObject, map: UndoStore['map'], entries: Entries): PatchOperation[] {
  const set = Object.entries(entries).map(
    ([key, value]): PatchOperation => ({ op: 'add', path: `/metadata/${map}/${escapeToken(key)}`, value }),
  );
  const create: PatchOperation = { op: 'add', path: `/metadata/${map}`, value: {} };
  return metadata[map] === undefined && set.length > 0 ? [create, ...set] : set;
}

export function removeEntry({ metadata }: KubeObject, map: UndoStore['map'], key: string): PatchOperation[] {
  if (metadata[map]?.[key] === undefined) return [];
  return [{ op: 'remove', path: `/metadata/${map}/${escapeToken(key)}` }];
}
