import type { PathStep } from '../config/json-path.ts';
import { type NamedStep, namedSteps, stepInto } from './named-fields.ts';
import { withoutPublicPem } from './secret-encodings.ts';
import { isNoSecret, namesSecret } from './secret-names.ts';

/**
 * The second look at reviews before they are written into a repository. Unlike redaction, it may guess at values, since a person decides.
 * Its rules are fixed here, and it changes nothing.
 */

/** A text that may be a secret: its place as a JSONPath from the root of the record, and what it looks like. */
export interface Suspect {
  path: string;
  looksLike: string;
  text: string;
}

/** Texts that may be secrets, except for those below an allowed path. */
export function suspectsIn(record: object, allowed: PathStep[][] = []): Suspect[] {
  const found: Suspect[] = [];
  look(record, { path: '', name: '', allowed: namedSteps(allowed), found });
  return found;
}

interface Place {
  path: string;
  /** The key of the value, or of the list that it is in. */
  name: string;
  allowed: NamedStep[];
  found: Suspect[];
}

function look(value: unknown, place: Place): void {
  if (typeof value === 'string') {
    const looksLike = resembles(value, place.name);
    if (looksLike !== undefined) place.found.push({ path: place.path, looksLike, text: value });
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(value)) {
    const { following, isNamed } = stepInto(place.allowed, key);
    if (isNamed) continue;
    const path = place.path + (isList ? `[${key}]` : stepTo(key));
    look(item, { ...place, path, name: isList ? place.name : nameOf(value, key), allowed: following });
  }
}

function stepTo(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) ? `.${key}` : `['${key.replaceAll("'", '')}']`;
}

/** In an entry such as `{name: PIN, value: x}`, the name of the value is the value of `name`. */
function nameOf(object: object, key: string): string {
  const { name } = object as { name?: unknown };
  return key === 'value' && typeof name === 'string' ? name : key;
}

/** Names that often, but not always, mean a secret. */
const DOUBTFUL =
  /(?:^|[^a-z])(?:auth|pin|otp|salt|seed|dsn|passcode|login|session|signature|connection ?string)s?$/;
/** Prefixes that well-known services give to their tokens. */
const TOKEN =
  /(?<![\w-])(?:A(?:KIA|SIA)[A-Z\d]{16}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|sk[-_](?:live|test|proj|ant)?[-_]?[\w-]{20,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|npm_\w{30,}|dop_v1_\w{30,}|hvs\.[\w-]{20,}|SG\.[\w-]{16,}|eyJ[\w-]{10,}\.)/;
const PRIVATE_KEY = /PRIVATE KEY-----/;
/** `user:password@host`. */
const LOGIN = /(?<![^\s"'=(,])[^\s"'/:@=(,]{1,200}:[^\s"'/@]{1,200}@(?!sha\d)[\w.[-]/;
const SHORTEST = 20;
const LEAST_CHANGES = 0.35;
/** A run of characters without a space that is long enough for a key. */
const RUN = /[\w+/=~.-]{20,}/g;
/** Digests, and the hash of the user's certificate, which is in nearly every review. */
const DIGEST = /sha\d+[:=][\da-f]{32,128}/gi;
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi;
const HEX = /(?<![\da-z])[\da-f]{32,}(?![\da-z])/i;
const REPLACED = /<redacted(?: \d{1,12} bytes|: more than \d+ levels)>/g;

function resembles(text: string, name: string): string | undefined {
  const bare = withoutPublic(text);
  if (PRIVATE_KEY.test(bare)) return 'a private key';
  if (TOKEN.test(bare)) return 'a token of a known service';
  if (LOGIN.test(bare)) return 'a user with a password';
  if (HEX.test(bare) || (bare.match(RUN) ?? []).some(isRandom)) return 'random characters';
  const value = bare.trim();
  const isText = value !== '' && !isNoSecret(value) && !value.startsWith('system:');
  return isText && (namesSecret(name) || DOUBTFUL.test(spaced(name)))
    ? `a secret, by the name ${name}`
    : undefined;
}

/** Without what redaction has replaced, public PEM blocks, digests and uids. */
function withoutPublic(text: string): string {
  return withoutPublicPem(text.replaceAll(REPLACED, '')).replaceAll(DIGEST, '').replaceAll(UUID, '');
}

function spaced(name: string): string {
  return name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
}

/** Keys change between capitals, small letters and digits much more often than names do. */
function isRandom(run: string): boolean {
  return run.split(/[/.=~]/).some((part) => {
    if (part.length < SHORTEST) return false;
    const classes = Array.from(part, classOf);
    const changes = classes.filter((one, at) => at > 0 && one !== classes[at - 1]).length;
    const count = (wanted: string): number => classes.filter((one) => one === wanted).length;
    const isMixed = count('digit') >= 1 && count('capital') >= 2 && count('small') >= 2;
    return isMixed && (count('digit') >= 4 || changes >= part.length * LEAST_CHANGES);
  });
}

function classOf(character: string): string {
  if (/\d/.test(character)) return 'digit';
  return /[A-Z]/.test(character) ? 'capital' : 'small';
}
