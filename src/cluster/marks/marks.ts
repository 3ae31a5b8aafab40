/**
 * Marks: how the cluster itself remembers what devloop changed. A changed object carries a label with the session's id, and the
 * changed fields before and after. Both are written in the same patch as the change, so an object is never changed without
 * saying how to restore it.
 */
import type { Json, KubeObject } from '../api/objects.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../names.ts';

/** One field that a change owns. `undefined` stands for absent. */
export interface FieldChange {
  /** Path from the object's root: ['spec', 'selector']. */
  path: string[];
  before?: Json;
  after?: Json;
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
  /** Undefined for what `write` cannot have written. */
  read(text: string): Undo | undefined;
}

export const IN_ANNOTATION: UndoStore = {
  map: 'annotations',
  key: UNDO_ANNOTATION,
  write: JSON.stringify,
  read(text) {
    try {
      const undo = JSON.parse(text) as Undo | null;
      return undo?.v === 1 && Array.isArray(undo.fields) ? undo : undefined;
    } catch {
      return undefined;
    }
  },
};

export interface PatchOperation {
  op: 'add' | 'remove' | 'replace' | 'test';
  path: string;
  value?: Json;
}

/** A field that somebody else changed after devloop: their value is kept. */
export interface Kept {
  path: string[];
  now: Json | undefined;
  before: Json | undefined;
}

export function sessionOf(object: KubeObject): string | undefined {
  return object.metadata.labels?.[SESSION_LABEL];
}

export function undoOf(object: KubeObject, store = IN_ANNOTATION): Undo | undefined {
  const text = object.metadata[store.map]?.[store.key];
  return text === undefined ? undefined : store.read(text);
}

/** The patch that makes a change and marks it. It applies only to the version of the object that is passed in. */
export function changePatch(
  object: KubeObject,
  sessionId: string,
  wanted: { path: string[]; value?: Json }[],
  store = IN_ANNOTATION,
): PatchOperation[] {
  const fields = wanted.map(({ path, value }): FieldChange => {
    const before = valueAt(object, path);
    return {
      path,
      ...(before === undefined ? {} : { before }),
      ...(value === undefined ? {} : { after: value }),
    };
  });
  const marks = { labels: { [SESSION_LABEL]: sessionId } as Entries, annotations: {} as Entries };
  marks[store.map][store.key] = store.write({ v: 1, fields });
  return [
    ...guard(object),
    ...fields.flatMap((field) => write(field.path, field.before, field.after)),
    ...setEntries(object, 'labels', marks.labels),
    ...setEntries(object, 'annotations', marks.annotations),
  ];
}

/** The patch that restores the owned fields and removes the mark, and the fields that it keeps because somebody else changed them. */
export function undoPatch(
  object: KubeObject,
  store = IN_ANNOTATION,
): { patch: PatchOperation[]; kept: Kept[] } {
  const kept: Kept[] = [];
  const restores: PatchOperation[] = [];
  for (const { path, before, after } of undoOf(object, store)?.fields ?? []) {
    const now = valueAt(object, path);
    if (same(now, before)) continue;
    if (same(now, after)) restores.push(...write(path, now, before));
    else kept.push({ path, now, before });
  }
  const unmark = [
    ...removeEntry(object, 'labels', SESSION_LABEL),
    ...removeEntry(object, store.map, store.key),
  ];
  return { patch: [...guard(object), ...restores, ...unmark], kept };
}

export function valueAt(object: unknown, path: string[]): Json | undefined {
  let value = object as Json | undefined;
  for (const key of path) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
    value = Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
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

/** The API server answers a patch that names a resourceVersion with 409 once the object has moved on. */
function guard(object: KubeObject): PatchOperation[] {
  const version = object.metadata.resourceVersion;
  return version === undefined ? [] : [{ op: 'replace', path: '/metadata/resourceVersion', value: version }];
}

function write(path: string[], now: Json | undefined, value: Json | undefined): PatchOperation[] {
  const pointer = `/${path.map(escapeToken).join('/')}`;
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

function removeEntry({ metadata }: KubeObject, map: UndoStore['map'], key: string): PatchOperation[] {
  if (metadata[map]?.[key] === undefined) return [];
  return [{ op: 'remove', path: `/metadata/${map}/${escapeToken(key)}` }];
}

function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}
