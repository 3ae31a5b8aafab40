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
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/**
 * A copy without the data of Secrets, values whose keys name a secret, and PEM blocks. `isSecret`: it is about a Secret without saying so,
 * as the answer to a review is.
 */
export function redact<T>(value: T, isSecret = false): Redacted<T> {
  const counter = { count: 0 };
  return { value: walk(value, { counter, isSecret, hides: 'nothing' }) as T, count: counter.count };
}

interface Place {
  counter: { count: number };
  /** In an object of kind Secret, or in a review of one. */
  isSecret: boolean;
  /** `all`: this value is a secret. `texts`: its texts are, wherever they are in it. */
  hides: 'nothing' | 'texts' | 'all';
}

function walk(value: unknown, place: Place): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, place));
  if (typeof value === 'object' && value !== null) return walkObject(value as Record<string, unknown>, place);
  if (typeof value === 'string') return textAt(value, place);
  return typeof value === 'number' && place.hides === 'all' ? hiddenNumber(place) : value;
}

function walkObject(object: Record<string, unknown>, outer: Place): Record<string, unknown> {
  const isSecret = outer.isSecret || isSecretKind(object);
  const entries = Object.entries(object).map(([key, value]) => {
    if (key === LAST_APPLIED && typeof value === 'string')
      return [key, lastApplied(value, { ...outer, isSecret })];
    return [key, walk(value, { ...outer, isSecret, hides: hidesAt(key, object, { ...outer, isSecret }) })];
  });
  return Object.fromEntries(entries);
}

function hidesAt(key: string, object: Record<string, unknown>, { isSecret, hides }: Place): Place['hides'] {
  if (isSecret && (key === 'data' || key === 'stringData')) return 'all';
  if (isSecret && hides !== 'nothing') return 'all';
  if (key === 'value') {
    const { name, path, op } = object;
    // The entry of a list of variables; an operation of a JSON patch.
    if (typeof name === 'string' && namesSecret(name)) return 'all';
    if (typeof path === 'string' && typeof op === 'string' && isSecretPath(path, isSecret)) return 'all';
  }
  if (namesSecret(key)) return 'all';
  if (hides === 'nothing' || REFERENCES.has(key)) return 'nothing';
  return 'texts';
}

/** The `request` of an AdmissionReview says of which kind its objects are; the items of a list do not. */
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
    return JSON.stringify(walk(JSON.parse(text), { ...place, hides: 'nothing' }));
  } catch {
    return hidden(text, place);
  }
}

/** `dbPassword`, `API_KEY`, `client-secret`; not `secretName`, which says where one is. */
export function namesSecret(key: string): boolean {
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

const DASHES = '-----';
const PEM_BEGIN = '-----BEGIN ';
const PEM_END = '-----END ';

/** Says how long it was. */
function hidden(text: string, { counter }: Place): string {
  counter.count += 1;
  return `<redacted ${Buffer.byteLength(text)} bytes>`;
}

/** Stays a number, so that the object still fits its schema. */
function hiddenNumber({ counter }: Place): number {
  counter.count += 1;
  return 0;
}
