/**
 * Marks: how the cluster itself remembers what devloop changed. A changed object carries a label with the session's id and an
 * annotation with the owned fields before and after; both are written in the same patch as the change, so there is no moment
 * at which an object is changed but does not say how to undo it. All functions here are pure.
 */
import type { Json, KubeObject } from '../api/objects.ts';
import { REPLICAS_LABEL, SESSION_LABEL, UNDO_ANNOTATION } from '../names.ts';

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
  const replicas = object.metadata.labels?.[REPLICAS_LABEL];
  if (replicas !== undefined) return /^\d+$/.test(replicas) ? quieted(Number(replicas)) : undefined;
  const text = object.metadata.annotations?.[UNDO_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    const undo = JSON.parse(text) as Undo | null;
    return undo?.v === 1 && Array.isArray(undo.fields) ? undo : undefined;
  } catch {
    return undefined;
  }
}

const REPLICAS = ['spec', 'replicas'];

function quieted(before: number): Undo {
  return { v: 1, fields: [{ path: REPLICAS, before, after: 0 }] };
}

/** Set when the change does nothing but quiet a workload; then it is undone by a label. */
function replicasBefore(fields: FieldChange[]): number | undefined {
  const [field] = fields;
  const isQuieting = fields.length === 1 && field?.path.join('.') === REPLICAS.join('.') && field.after === 0;
  return isQuieting && Number.isInteger(field.before) ? (field.before as number) : undefined;
}

/** The patch that makes a change and marks it. It only applies to the very version of the object that was looked at. */
export function changePatch(
  object: KubeObject,
  sessionId: string,
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
  const replicas = replicasBefore(fields);
  const label = replicas === undefined ? {} : { [REPLICAS_LABEL]: String(replicas) };
  const undo: Undo = { v: 1, fields };
  const annotation = replicas === undefined ? { [UNDO_ANNOTATION]: JSON.stringify(undo) } : {};
  return [
    ...guard(object),
    ...fields.flatMap((field) => write(field.path, field.before, field.after)),
    ...setEntries(object.metadata.labels, 'labels', { [SESSION_LABEL]: sessionId, ...label }),
    ...setEntries(object.metadata.annotations, 'annotations', annotation),
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
    ...removeEntry(object.metadata.labels, 'labels', REPLICAS_LABEL),
    ...removeEntry(object.metadata.annotations, 'annotations', UNDO_ANNOTATION),
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

function setEntries(
  map: StringMap,
  field: 'labels' | 'annotations',
  entries: Record<string, string>,
): PatchOperation[] {
  const set = Object.entries(entries).map(
    ([key, value]): PatchOperation => ({ op: 'add', path: `/metadata/${field}/${escapeToken(key)}`, value }),
  );
  const create: PatchOperation = { op: 'add', path: `/metadata/${field}`, value: {} };
  return map === undefined && set.length > 0 ? [create, ...set] : set;
}

function removeEntry(map: StringMap, field: 'labels' | 'annotations', key: string): PatchOperation[] {
  return map?.[key] === undefined ? [] : [{ op: 'remove', path: `/metadata/${field}/${escapeToken(key)}` }];
}

function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}
