/**
 * Marks: how the cluster itself remembers what devloop changed. A changed object carries a label with the session's id and an
 * annotation with the owned fields before and after; both are written in the same patch as the change, so there is no moment
 * at which an object is changed but does not say how to undo it. All functions here are pure.
 */
import type { Json, KubeObject } from './objects.ts';

export const SESSION_LABEL = 'devloop.dev/session';
export const UNDO_ANNOTATION = 'devloop.dev/undo';

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

export interface PatchOperation {
  op: 'add' | 'remove' | 'replace' | 'test';
  path: string;
  value?: Json;
}

/** What stands at a path now that neither devloop wrote nor found there: somebody else's, and theirs to keep. */
export interface Kept {
  path: string[];
  now: Json | undefined;
  before: Json | undefined;
}

export function sessionOf(object: KubeObject): string | undefined {
  return object.metadata.labels?.[SESSION_LABEL];
}

export function undoOf(object: KubeObject): Undo | undefined {
  const text = object.metadata.annotations?.[UNDO_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    const undo = JSON.parse(text) as Undo | null;
    return undo?.v === 1 && Array.isArray(undo.fields) ? undo : undefined;
  } catch {
    return undefined;
  }
}

/** The patch that makes a change and marks it. It only applies to the very version of the object that was looked at. */
export function changePatch(
  object: KubeObject,
  session: string,
  wanted: { path: string[]; value?: Json }[],
): PatchOperation[] {
  const fields = wanted.map(({ path, value }): FieldChange => {
    const before = valueAt(object, path);
    return {
      path,
      ...(before === undefined ? {} : { before }),
      ...(value === undefined ? {} : { after: value }),
    };
  });
  const undo: Undo = { v: 1, fields };
  return [
    ...guard(object),
    ...fields.flatMap((field) => write(field.path, field.before, field.after)),
    ...setEntry(object.metadata.labels, 'labels', SESSION_LABEL, session),
    ...setEntry(object.metadata.annotations, 'annotations', UNDO_ANNOTATION, JSON.stringify(undo)),
  ];
}

/** The patch that puts the owned fields back and removes the mark, and what it leaves alone because somebody else changed it. */
export function undoPatch(object: KubeObject): { patch: PatchOperation[]; kept: Kept[] } {
  const undo = undoOf(object);
  const kept: Kept[] = [];
  const restores: PatchOperation[] = [];
  for (const { path, before, after } of undo?.fields ?? []) {
    const now = valueAt(object, path);
    if (same(now, before)) continue;
    if (same(now, after)) restores.push(...write(path, now, before));
    else kept.push({ path, now, before });
  }
  const unmark = [
    ...removeEntry(object.metadata.labels, 'labels', SESSION_LABEL),
    ...removeEntry(object.metadata.annotations, 'annotations', UNDO_ANNOTATION),
  ];
  return { patch: [...guard(object), ...restores, ...unmark], kept };
}

/** Fields of a marked object that no longer hold what the change wrote. */
export function drift(object: KubeObject): Kept[] {
  return (undoOf(object)?.fields ?? []).flatMap(({ path, before, after }) => {
    const now = valueAt(object, path);
    return same(now, after) ? [] : [{ path, now, before }];
  });
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

/** A patch that names the resourceVersion answers 409 when the object has moved on. */
function guard(object: KubeObject): PatchOperation[] {
  const version = object.metadata.resourceVersion;
  return version === undefined ? [] : [{ op: 'replace', path: '/metadata/resourceVersion', value: version }];
}

function write(path: string[], now: Json | undefined, value: Json | undefined): PatchOperation[] {
  const pointer = `/${path.map(escapeToken).join('/')}`;
  if (value !== undefined) return [{ op: now === undefined ? 'add' : 'replace', path: pointer, value }];
  return now === undefined ? [] : [{ op: 'remove', path: pointer }];
}

type StringMap = Record<string, string> | undefined;

function setEntry(
  map: StringMap,
  field: 'labels' | 'annotations',
  key: string,
  value: string,
): PatchOperation[] {
  const create: PatchOperation[] =
    map === undefined ? [{ op: 'add', path: `/metadata/${field}`, value: {} }] : [];
  return [...create, { op: 'add', path: `/metadata/${field}/${escapeToken(key)}`, value }];
}

function removeEntry(map: StringMap, field: 'labels' | 'annotations', key: string): PatchOperation[] {
  return map?.[key] === undefined ? [] : [{ op: 'remove', path: `/metadata/${field}/${escapeToken(key)}` }];
}

function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}
