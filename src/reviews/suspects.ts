import type { PathStep } from '../config/json-path.ts';
import { type NamedStep, namedSteps, stepInto } from './named-fields.ts';
import { haveFlag, resembles } from './secret-guesses.ts';

/**
 * The second look at reviews before they are written into a repository. Unlike redaction, it may guess at values, since a person decides.
 * Its rules are fixed here, and it changes nothing.
 */

/** A text that may be a secret: its place as a JSONPath from the root of the record, and what it looks like. */
export interface Suspect {
  /** One line of limited length. It ends early, or has `[*]`, where a key is too long to be shown, or may be the secret. */
  path: string;
  looksLike: string;
  text: string;
}

/** Texts that may be secrets, keys included, except for those below an allowed path. */
export function suspectsIn(record: object, allowed: PathStep[][] = []): Suspect[] {
  const found: Suspect[] = [];
  look(record, { path: '', isCut: false, name: '', allowed: namedSteps(allowed), found });
  return found;
}

interface Place {
  path: string;
  /** Whether the path would be too long, and therefore ends at an outer value. */
  isCut: boolean;
  /** The key of the value, or of the list that it is in. */
  name: string;
  allowed: NamedStep[];
  found: Suspect[];
}

function look(value: unknown, place: Place): void {
  if (typeof value === 'string') suspect(value, resembles(value, place.name), place);
  if (typeof value !== 'object' || value === null) return;
  const before = place.found.length;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    const { following, isNamed } = stepInto(place.allowed, key);
    if (isNamed) continue;
    const keyLooksLike = isList ? undefined : resembles(key);
    const step = isList ? `[${key}]` : stepTo(key, keyLooksLike !== undefined);
    const name = isList ? place.name : nameOf(value, key);
    const inner = { ...place, ...stepped(place, step), name, allowed: following };
    suspect(key, keyLooksLike, inner);
    look(item, inner);
  }
  const isFound = place.found.length > before;
  if (isList && !isFound && value.every((item) => typeof item === 'string') && haveFlag(value))
    suspect(JSON.stringify(value), 'a command with a password', place);
}

function suspect(text: string, looksLike: string | undefined, { path, found }: Place): void {
  if (looksLike !== undefined) found.push({ path, looksLike, text });
}

const LONGEST_KEY = 100;
const LONGEST_PATH = 500;

function stepped({ path, isCut }: Place, step: string): Pick<Place, 'path' | 'isCut'> {
  return isCut || path.length + step.length > LONGEST_PATH
    ? { path, isCut: true }
    : { path: path + step, isCut };
}

function stepTo(key: string, isSuspect: boolean): string {
  if (isSuspect || key.length > LONGEST_KEY || /[\p{C}\p{Zl}\p{Zp}']/u.test(key)) return '[*]';
  return /^[A-Za-z_][\w-]*$/.test(key) ? `.${key}` : `['${key}']`;
}

/** In an entry such as `{name: PIN, value: x}`, the name of the value is the value of `name`. */
function nameOf(object: object, key: string): string {
  const { name } = object as { name?: unknown };
  return key === 'value' && typeof name === 'string' ? name : key;
}
