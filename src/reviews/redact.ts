import type { PathStep } from '../config/json-path.ts';

/** What replaces secrets before anything of a review is stored or shown. */

export interface Redacted<T> {
  value: T;
  /** How many values were replaced. */
  count: number;
}

/** Beginnings of the words in a key whose value is a secret, whatever else the key says. */
const SECRET_WORDS = [
  'token',
  'password',
  'passwd',
  'passphrase',
  'secret',
  'apikey',
  'private',
  'credential',
];
/** `secretName`, `tokenRef`, `passwordFile`: where a secret is, not what it is. */
const REFERENCE_WORDS = new Set([
  'name',
  'namespace',
  'ref',
  'refs',
  'file',
  'path',
  'type',
  'kind',
  'seconds',
]);
/** The same, below a key that names a secret. */
const REFERENCES = new Set([
  'name',
  'namespace',
  'kind',
  'apiVersion',
  'apiGroup',
  'path',
  'audience',
  'secretName',
]);
/** kube-apiserver's name for how the user logged in, such as the hash of a certificate. It is in nearly every review. */
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** No API of Kubernetes nests that much, and whatever follows a deeper value here would run out of stack. */
const MOST_LEVELS = 200;
const TOO_DEEP = `<redacted: more than ${MOST_LEVELS} levels>`;
export interface RedactOptions {
  /** It is about a Secret without saying so, as the answer to a review is. */
  isSecret?: boolean;
  /** What the user names, from the root of each Kubernetes object. */
  paths?: PathStep[][];
}

/** A copy without the data of Secrets, values whose keys name a secret, PEM blocks, what the user names, and what is nested too deep. */
export function redact<T>(value: T, { isSecret = false, paths = [] }: RedactOptions = {}): Redacted<T> {
  const counter = { count: 0, levels: 0 };
  const place: Place = { counter, isSecret, hides: 'nothing', paths, following: [] };
  return { value: walk(value, place) as T, count: counter.count };
}

interface Place {
  counter: { count: number; levels: number };
  /** In an object of kind Secret, or in a review of one. */
  isSecret: boolean;
  /** `all`: this value is a secret. `texts`: its texts are, wherever they are in it. `everything`: the user says so. */
  hides: 'nothing' | 'texts' | 'all' | 'everything';
  /** What the user names, and how it goes on from here. */
  paths: PathStep[][];
  following: PathStep[][];
}

function walk(value: unknown, place: Place): unknown {
  if (typeof value !== 'object' || value === null) return leafAt(value, place);
  const { counter, hides } = place;
  if (counter.levels === MOST_LEVELS) {
    counter.count += 1;
    return TOO_DEEP;
  }
  counter.levels += 1;
  const copy = Array.isArray(value)
    ? value.map((item, index) => walk(item, below(place, String(index), hides)))
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

/** The place of a value in the one at `outer`. */
function below(outer: Place, key: string, hides: Place['hides']): Place {
  if (outer.following.length === 0) return hides === outer.hides ? outer : { ...outer, hides };
  const { following, isNamed } = stepInto(outer.following, key);
  return { ...outer, following, hides: isNamed ? 'everything' : hides };
}

function stepInto(paths: PathStep[][], key: string): { following: PathStep[][]; isNamed: boolean } {
  const taken = paths.filter(([step]) => step!.key === undefined || step!.key === key);
  const rest = taken.map((path) => path.slice(1));
  const still = paths.filter(([step]) => step!.isDeep);
  return {
    following: [...still, ...rest.filter(({ length }) => length > 0)],
    isNamed: rest.some(({ length }) => length === 0),
  };
}

function walkObject(object: Record<string, unknown>, outer: Place): Record<string, unknown> {
  const isSecret = outer.isSecret || isSecretKind(object);
  const following = isKubernetesObject(object) ? [...outer.following, ...outer.paths] : outer.following;
  const place = { ...outer, isSecret, following };
  const entries = Object.entries(object).map(([key, value]) => {
    if (key === LAST_APPLIED && typeof value === 'string') return [key, lastApplied(value, place)];
    if (key === 'value' && isOperation(object)) return [key, walk(value, atPointer(object, place))];
    return [key, walk(value, below(place, key, hidesAt(key, object, place)))];
  });
  return Object.fromEntries(entries);
}

function isKubernetesObject({ apiVersion, kind }: Record<string, unknown>): boolean {
  return typeof apiVersion === 'string' && typeof kind === 'string' && !REVIEWS.has(kind);
}

const REVIEWS = new Set(['AdmissionReview', 'ConversionReview']);

/** Of a JSON patch. */
function isOperation(
  object: Record<string, unknown>,
): object is Record<string, unknown> & { path: string; op: string } {
  return typeof object.path === 'string' && typeof object.op === 'string';
}

/** Where in the object the value of an operation is. */
function atPointer(operation: { path: string; op: string }, place: Place): Place {
  const tokens = operation.path.split('/').slice(1);
  let following = place.paths;
  let isNamed = false;
  for (const token of tokens) {
    const next = stepInto(following, token.replaceAll('~1', '/').replaceAll('~0', '~'));
    following = next.following;
    isNamed ||= next.isNamed;
  }
  const hides = isNamed ? 'everything' : hidesAt('value', operation, place);
  return { ...place, following, hides };
}

function hidesAt(key: string, object: object, { isSecret, hides }: Place): Place['hides'] {
  if (hides === 'everything') return hides;
  if (isSecret && (key === 'data' || key === 'stringData')) return 'all';
  if (isSecret && hides !== 'nothing') return 'all';
  if (key === 'value' && isSecretValue(object, isSecret)) return 'all';
  if (namesSecret(key)) return 'all';
  if (hides === 'nothing' || REFERENCES.has(key)) return 'nothing';
  return 'texts';
}

/** Of the entry of a list of variables, or of an operation of a JSON patch. */
function isSecretValue(object: object, isSecret: boolean): boolean {
  const { name, path, op } = object as Record<string, unknown>;
  if (typeof name === 'string' && namesSecret(name)) return true;
  return typeof path === 'string' && typeof op === 'string' && isSecretPath(path, isSecret);
}

/** The `request` of an AdmissionReview names the kind of its objects; the items of a list do not. */
function isSecretKind({ kind }: Record<string, unknown>): boolean {
  if (kind === 'Secret' || kind === 'SecretList') return true;
  return typeof kind === 'object' && kind !== null && Reflect.get(kind, 'kind') === 'Secret';
}

function isSecretPath(path: string, isSecret: boolean): boolean {
  const tokens = path.split('/').slice(1);
  return (isSecret && (tokens[0] === 'data' || tokens[0] === 'stringData')) || tokens.some(namesSecret);
}

/** The object that `kubectl apply` sent last, as JSON in an annotation. */
function lastApplied(text: string, place: Place): string {
  try {
    const hides = place.hides === 'everything' ? place.hides : 'nothing';
    return JSON.stringify(walk(JSON.parse(text), { ...place, hides, following: [] }));
  } catch {
    return hidden(text, place);
  }
}

/** The same few keys come in each review: without this, half the time of recording goes into their words. */
const known = new Map<string, boolean>();
const MOST_KNOWN = 5_000;
const LONGEST_KNOWN = 100;

/** `dbPassword`, `API_KEY`, `client-secret`; not `secretName`, which says where one is. */
export function namesSecret(key: string): boolean {
  const before = known.get(key);
  if (before !== undefined) return before;
  const names = hasSecretWord(key);
  if (known.size >= MOST_KNOWN) known.clear();
  if (key.length <= LONGEST_KNOWN) known.set(key, names);
  return names;
}

function hasSecretWord(key: string): boolean {
  if (key === CREDENTIAL_ID) return false;
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  if (REFERENCE_WORDS.has(words.at(-1) ?? '')) return false;
  return words.some(
    (word, index) =>
      SECRET_WORDS.some((secret) => word.startsWith(secret)) ||
      (word === 'api' && words[index + 1]?.startsWith('key')),
  );
}

function textAt(text: string, place: Place): string {
  if (place.hides !== 'nothing') return hidden(text, place);
  let shown = '';
  let rest = text;
  for (let begin = rest.indexOf(PEM_BEGIN); begin >= 0; begin = rest.indexOf(PEM_BEGIN)) {
    const end = endOfPem(rest, begin);
    shown += rest.slice(0, begin) + hidden(rest.slice(begin, end), place);
    rest = rest.slice(end);
  }
  return shown + rest;
}

/** Where the block that begins there ends; one without an end takes all of the rest. */
function endOfPem(text: string, begin: number): number {
  const last = text.indexOf(PEM_END, begin);
  const dashes = last < 0 ? -1 : text.indexOf(DASHES, last + PEM_END.length);
  return dashes < 0 ? text.length : dashes + DASHES.length;
}

const HIDDEN = /^<redacted \d+ bytes>$/;
const DASHES = '-----';
const PEM_BEGIN = '-----BEGIN ';
const PEM_END = '-----END ';

/** Says how long it was. What is hidden already stays as it is, in a review that is sent again. */
function hidden(text: string, { counter }: Place): string {
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
