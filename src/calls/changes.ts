import { escaped, type PatchOperation, patchWords, valueAt } from '../reviews/patch.ts';

/** Nobody reads more, and each is kept. */
const MOST = 20;
/** No object of Kubernetes is nested this deeply. */
const MOST_LEVELS = 100;
/** Fields of metadata that each write changes. */
const NOISE = new Set(['/metadata/managedFields', '/metadata/resourceVersion', '/metadata/generation']);

export interface Changes {
  changes: string[];
  /** How many there are, if these are only the first. */
  more?: number;
}

/**
 * The fields in which two objects differ, apart from those of metadata that each write changes. Takes time in proportion to the size of both:
 * items of lists are compared by their place.
 */
export function differences(before: unknown, after: unknown): PatchOperation[] {
  const found: PatchOperation[] = [];
  compare(before, after, { path: '', level: 0, found });
  return found;
}

/** The first of them in words: `~spec.replicas=2`. The values are those of `shown`, the second object without its secrets. */
export function inWords(found: PatchOperation[], shown: unknown): Changes {
  const operations = found.slice(0, MOST).map((one) => ({ ...one, value: valueAt(shown, one.path) }));
  return { changes: patchWords(operations), ...(found.length > MOST ? { more: found.length } : {}) };
}

interface Place {
  path: string;
  level: number;
  found: PatchOperation[];
}

function compare(before: unknown, after: unknown, { path, level, found }: Place): void {
  if (before === after || NOISE.has(path)) return;
  if (
    !isNested(before) ||
    !isNested(after) ||
    Array.isArray(before) !== Array.isArray(after) ||
    level === MOST_LEVELS
  ) {
    if (!isNested(before) || !isNested(after) || !isSame(before, after)) found.push({ op: 'replace', path });
    return;
  }
  // Most are equal, and their path is not needed.
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  for (const key of keys.filter((one) => !isSameAt(one, before, after))) {
    const below = `${path}/${escaped(key)}`;
    if (NOISE.has(below)) continue;
    if (!Object.hasOwn(after, key)) found.push({ op: 'remove', path: below });
    else if (!Object.hasOwn(before, key)) found.push({ op: 'add', path: below });
    else compare(Reflect.get(before, key), Reflect.get(after, key), { path: below, level: level + 1, found });
  }
}

function isSameAt(key: string, before: object, after: object): boolean {
  if (Reflect.get(before, key) !== Reflect.get(after, key)) return false;
  return Object.hasOwn(before, key) === Object.hasOwn(after, key);
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
