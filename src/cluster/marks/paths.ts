/** Paths of fields, as marks name them: an entry of a list of named objects is identified by its `name`, since its index can change. */
import type { Json } from '../api/objects.ts';

/** In the path of an `OwnField`, stands for the name of any list entry. */
export const ANY_ENTRY = '*';

export function valueAt(object: unknown, path: string[]): Json | undefined {
  let value = object as Json | undefined;
  for (const key of path) value = below(value, key);
  return value;
}

function below(value: Json | undefined, key: string): Json | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) return value[indexOf(value, key)];
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Lists of named objects. The API server omits such a list if it is empty. */
const NAMED_LISTS = ['webhooks'];

/** Whether a field can be written; false if the list entry that contains it is gone. */
export function hasPlace(object: unknown, path: string[]): boolean {
  return path.every((key, depth) => {
    const parent = valueAt(object, path.slice(0, depth));
    if (parent === undefined) return !NAMED_LISTS.includes(path[depth - 1]!);
    return !Array.isArray(parent) || indexOf(parent, key) >= 0;
  });
}

/** The path as a JSON Pointer. */
export function pointerTo(object: unknown, path: string[]): string {
  const tokens = path.map((key, depth) => {
    const parent = valueAt(object, path.slice(0, depth));
    return escapeToken(Array.isArray(parent) ? String(indexOf(parent, key)) : key);
  });
  return `/${tokens.join('/')}`;
}

export function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Whether a declared path covers the given one. */
export function covers(declared: string[], path: string[]): boolean {
  return (
    declared.length === path.length &&
    declared.every((key, depth) => key === ANY_ENTRY || key === path[depth])
  );
}

function indexOf(list: Json[], name: string): number {
  return list.findIndex(
    (one) => one !== null && typeof one === 'object' && !Array.isArray(one) && one.name === name,
  );
}
