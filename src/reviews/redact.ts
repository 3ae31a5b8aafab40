import type { PathStep } from '../config/json-path.ts';
import { type NamedStep, namedSteps, stepInto, withSteps } from './named-fields.ts';
import { tokensOf, valueAt } from './patch.ts';
import { isNoSecret, namesSecret, REFERENCES } from './secret-names.ts';
import { hideInText, isCredentials, mayHaveSecret } from './secret-texts.ts';

/** Replaces secrets before anything of a review is stored or shown. */

export interface Redacted<T> {
  value: T;
  /** How many values were replaced. */
  count: number;
}

/** All keys that a reference to a key of a Secret can have. */
const IN_SELECTORS = new Set([...REFERENCES, 'key', 'property', 'optional', 'mode']);
/** The fields of a Secret whose values are hidden. Tools copy its data into annotations, in forms of their own. */
const IN_SECRETS = new Set(['data', 'stringData', 'annotations']);
/** The keys under which an entry of a list of variables or parameters has its value. */
const VALUES = new Set(['value', 'default']);
/** Headers that carry credentials, for example in the probes of a Pod. */
const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie']);
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** No API of Kubernetes nests this deeply, and code that walks a deeper value would run out of stack. */
const MOST_LEVELS = 200;
const TOO_DEEP = `<redacted: more than ${MOST_LEVELS} levels>`;
export interface RedactOptions {
  /** Whether the value is about a Secret without naming that kind, like the answer to a review. */
  isSecret?: boolean;
  /** What the user wants replaced, as paths from the root of each Kubernetes object. */
  paths?: PathStep[][];
  /** The object that a JSON patch in the value changes. */
  object?: unknown;
  /** The limit for the work: a unit for each value, each replacement, and each `TEXT_OF_UNIT` characters of text. */
  mostWork?: number;
}

const TEXT_OF_UNIT = 20;

/** Thrown when the limit for the work is exceeded. */
export class TooMuchWork extends Error {}

/**
 * A copy without the data of Secrets, values whose names show that they are secrets, PEM blocks, fields that the user names, and values
 * that are nested too deep. Takes time in proportion to the size of the value and of its object. Throws `TooMuchWork`.
 */
export function redact<T>(
  value: T,
  { isSecret = false, paths = [], object, mostWork = Number.POSITIVE_INFINITY }: RedactOptions = {},
): Redacted<T> {
  const counter: Counter = { count: 0, levels: 0, left: mostWork, secretLists: new Map() };
  const named = namedSteps(paths);
  const place: Place = { counter, isSecret, hides: 'nothing', paths: named, following: [], object };
  return { value: walk(value, place) as T, count: counter.count };
}

interface Counter {
  count: number;
  levels: number;
  /** The work that may still be done. */
  left: number;
  /** Whether a list of variables has one that is a secret: a patch may name the same list thousands of times. */
  secretLists: Map<unknown[], boolean>;
}

interface Place {
  counter: Counter;
  /** Whether the value is in an object of kind Secret, or in a review of a Secret. */
  isSecret: boolean;
  /** `all`: this value is a secret. `texts`: all texts in this value are secrets. `everything`: the user wants the whole value replaced. */
  hides: 'nothing' | 'texts' | 'all' | 'everything';
  /** The paths that the user names. `following` holds the rest of each path that continues below this value. */
  paths: NamedStep[];
  following: NamedStep[];
  /** The object that a JSON patch in this value changes. */
  object: unknown;
}

function work(counter: Counter, units: number): void {
  counter.left -= units;
  if (counter.left < 0) throw new TooMuchWork();
}

function walk(value: unknown, place: Place): unknown {
  work(place.counter, 1);
  if (typeof value !== 'object' || value === null) return leafAt(value, place);
  const { counter, hides } = place;
  if (counter.levels === MOST_LEVELS) {
    counter.count += 1;
    return TOO_DEEP;
  }
  counter.levels += 1;
  const copy = Array.isArray(value)
    ? value.map((item, index) => walk(item, below(place, String(index), hidesInList(value, index, hides))))
    : walkObject(value as Record<string, unknown>, place);
  counter.levels -= 1;
  return copy;
}

function leafAt(value: unknown, place: Place): unknown {
  if (typeof value === 'string') return textAt(value, place);
  if (typeof value === 'boolean' && place.hides === 'everything') return hiddenBoolean(place);
  return typeof value === 'number' && place.hides !== 'nothing' && place.hides !== 'texts'
    ? hiddenNumber(place)
    : value;
}

/** The place of a value inside the value at `outer`. */
function below(outer: Place, key: string, hides: Place['hides']): Place {
  if (outer.following.length === 0) return hides === outer.hides ? outer : { ...outer, hides };
  const { following, isNamed } = stepInto(outer.following, key);
  return { ...outer, following, hides: isNamed ? 'everything' : hides };
}

function walkObject(object: Record<string, unknown>, outer: Place): Record<string, unknown> {
  const isSecret = outer.isSecret || isSecretKind(object);
  const following = isKubernetesObject(object) ? withSteps(outer.following, outer.paths) : outer.following;
  const place = { ...outer, isSecret, following };
  const entries = Object.entries(object).map(([key, value]) => {
    if (key === LAST_APPLIED && typeof value === 'string') return [key, lastApplied(value, place)];
    if (key === 'value' && isOperation(object)) return [key, walk(value, atPointer(object, place))];
    const inner = below(place, key, hidesAt(key, object, place));
    const isProse = key === 'message' && inner.hides === 'nothing' && typeof value === 'string';
    return [key, isProse ? shown(value, inner, true) : walk(value, inner)];
  });
  return Object.fromEntries(entries);
}

function isKubernetesObject({ apiVersion, kind }: Record<string, unknown>): boolean {
  return typeof apiVersion === 'string' && typeof kind === 'string' && !REVIEWS.has(kind);
}

const REVIEWS = new Set(['AdmissionReview', 'ConversionReview']);

/** Whether it is an operation of a JSON patch. */
function isOperation(
  object: object & { path?: unknown; op?: unknown },
): object is object & { path: string; op: string } {
  return typeof object.path === 'string' && typeof object.op === 'string';
}

/** Where in the object the value of a patch operation goes. */
function atPointer(operation: { path: string; op: string }, place: Place): Place {
  const tokens = tokensOf(operation.path);
  let following = place.paths;
  let isNamed = false;
  for (const token of tokens) {
    const next = stepInto(following, token);
    following = next.following;
    isNamed ||= next.isNamed;
  }
  const hides = isNamed ? 'everything' : hidesAt('value', operation, place);
  return { ...place, following, hides };
}

function hidesAt(key: string, object: object, place: Place): Place['hides'] {
  const { isSecret, hides } = place;
  if (hides === 'everything') return hides;
  if (isSecret && IN_SECRETS.has(key)) return 'all';
  if (isSecret && hides !== 'nothing') return 'all';
  if (key === 'value' && isOperation(object) && isSecretPath(object.path, place)) return 'all';
  if (VALUES.has(key) && isSecretEntry(object)) return 'all';
  if (namesSecret(key) || isHeader(key, object)) return 'all';
  if (hides === 'nothing' || isReference(key, object)) return 'nothing';
  return 'texts';
}

/** `headers: {Authorization: Bearer …}`; but `authorization: enabled` is a setting. */
function isHeader(key: string, object: object): boolean {
  const value: unknown = Reflect.get(object, key);
  return SECRET_HEADERS.has(key.toLowerCase()) && typeof value === 'string' && isCredentials(value);
}

/** Whether a key below one that names a secret only refers to the secret: `{name: db, key: password}` shows where it is stored. */
function isReference(key: string, object: object): boolean {
  if (typeof Reflect.get(object, key) === 'object') return false;
  if (REFERENCES.has(key)) return true;
  const isSelector = 'name' in object || 'path' in object;
  return key === 'key' && isSelector && Object.keys(object).every((one) => IN_SELECTORS.has(one));
}

/** `{name: DB_PASSWORD, value: …}`, as variables, parameters or headers have it; an entry with an operator is a selector's requirement. */
function isSecretEntry(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { name, key, operator } = entry as Record<string, unknown>;
  return [name, operator === undefined ? key : undefined].some(
    (one) => typeof one === 'string' && (namesSecret(one) || SECRET_HEADERS.has(one.toLowerCase())),
  );
}

/** `--password` and its value may be two arguments. */
function hidesInList(list: unknown[], index: number, hides: Place['hides']): Place['hides'] {
  const [flag, value] = [list[index - 1], list[index]];
  if (hides !== 'nothing' || typeof flag !== 'string' || typeof value !== 'string') return hides;
  return /^--?[\w-]+$/.test(flag) && !value.startsWith('-') && namesSecret(flag) ? 'all' : hides;
}

/** The `request` of an AdmissionReview names the kind of its objects; the items of a list do not. */
function isSecretKind({ kind }: Record<string, unknown>): boolean {
  if (kind === 'Secret' || kind === 'SecretList') return true;
  return typeof kind === 'object' && kind !== null && Reflect.get(kind, 'kind') === 'Secret';
}

function isSecretPath(path: string, { isSecret, object, counter }: Place): boolean {
  const tokens = tokensOf(path);
  if (isSecret && (IN_SECRETS.has(tokens[0]!) || IN_SECRETS.has(tokens[1]!))) return true;
  const last = tokens.at(-1) ?? '';
  if (tokens.some(namesSecret)) return namesSecret(last) || !REFERENCES.has(last);
  // The patch alone does not name the variable. Earlier operations may have moved the entries of the list, so all entries are checked.
  const list = VALUES.has(last) && valueAt(object, path.split('/').slice(0, -2).join('/'));
  return Array.isArray(list) && hasSecretEntry(list, counter);
}

function hasSecretEntry(list: unknown[], counter: Counter): boolean {
  const known = counter.secretLists.get(list);
  if (known !== undefined) return known;
  work(counter, list.length);
  const has = list.some(isSecretEntry);
  counter.secretLists.set(list, has);
  return has;
}

/** Redacts the object that `kubectl apply` sent last, which is JSON in an annotation. */
function lastApplied(text: string, place: Place): string {
  try {
    const hides = place.hides === 'everything' ? place.hides : 'nothing';
    return JSON.stringify(walk(JSON.parse(text), { ...place, hides, following: [] }));
  } catch (error) {
    if (error instanceof TooMuchWork) throw error;
    return hidden(text, place);
  }
}

function textAt(text: string, place: Place): string {
  const { hides, isSecret, counter } = place;
  if (hides === 'nothing') return shown(text, place, false);
  work(counter, text.length / TEXT_OF_UNIT);
  return hides !== 'everything' && !isSecret && isNoSecret(text) ? text : hidden(text, place);
}

/** The text without the secrets in it. `isProse`: see `Hiding`. */
function shown(text: string, place: Place, isProse: boolean): string {
  const hide = (secret: string): string => hidden(secret, place);
  const read = (characters: number): void => work(place.counter, characters / TEXT_OF_UNIT);
  read(text.length);
  return jsonText(text, place) ?? hideInText(text, { hide, isProse, read });
}

/**
 * Redacts a text that is itself a JSON object or list; undefined if it is not, or cannot contain a secret. A text without secrets stays
 * exactly as it was.
 */
function jsonText(text: string, place: Place): string | undefined {
  if (!/^\s*[{[]/.test(text) || (place.paths.length === 0 && !mayHaveSecret(text))) return undefined;
  const before = place.counter.count;
  try {
    const safe = walk(JSON.parse(text), { ...place, following: [] });
    return place.counter.count === before ? text : JSON.stringify(safe);
  } catch (error) {
    if (error instanceof TooMuchWork) throw error;
    return undefined;
  }
}

const HIDDEN = /^<redacted \d+ bytes>$/;

/** Shows how many bytes were replaced. In a review that is sent again, earlier replacements stay as they are. */
function hidden(text: string, { counter }: Place): string {
  work(counter, 1);
  counter.count += 1;
  if (HIDDEN.test(text)) return text;
  return `<redacted ${Buffer.byteLength(text)} bytes>`;
}

/** Stays a number, so that the object still fits its schema. */
function hiddenNumber({ counter }: Place): number {
  counter.count += 1;
  return 0;
}

function hiddenBoolean({ counter }: Place): boolean {
  counter.count += 1;
  return false;
}
