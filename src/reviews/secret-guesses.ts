import { shortened } from '../phrases.ts';
import { withoutPublicPem } from './secret-encodings.ts';
import { isNoSecret, namesSecret } from './secret-names.ts';

/** Guesses whether a text is a secret, by its name, its form, or its characters. */

/** Names that often, but not always, mean a secret. */
const DOUBTFUL =
  /(?:^|[^a-z])(?:auth|pin|otp|salt|seed|dsn|pw|login|session|signature|connection ?string)s?$|(?<!by|com|over|sur|under)pass$/;
const LONGEST_NAME = 60;
/** Prefixes that well-known services give to their tokens. */
const TOKEN =
  /(?<![\w-])(?:A(?:KIA|SIA)[A-Z\d]{16}|gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|sk[-_](?:live|test|proj|ant)?[-_]?[\w-]{20,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|npm_\w{30,}|dop_v1_\w{30,}|hvs\.[\w-]{20,}|SG\.[\w-]{16,}|eyJ[\w-]{10,}\.)/;
const PRIVATE_KEY = /PRIVATE KEY-----/;
/** `user:password@host`. */
const LOGIN = /(?<![^\s"'=(,])[^\s"'/:@=(,]{1,200}:[^\s"'/@]{1,200}@(?!sha\d)[\w.[-]/;
/** What a password in a command begins with, unless it is a variable. */
const VALUE = `["']?[^\\s"'$</]`;
/** `-u user:password`, but not `-u 1000:1000`, as for the user and the group of a container. */
const USER_FLAG = `(?:-[a-zA-Z]{0,3}[uU]|--(?:proxy-)?user)[ =]{1,9}["']?(?!\\d+:\\d|system:)[^\\s"':/]{1,200}:${VALUE}`;
/** Flags that mean a password only in some commands. */
const COMMANDS = [
  `sshpass\\s{1,9}-p\\s{0,9}${VALUE}`,
  `(?:mysql|mariadb)[\\w-]{0,20}\\s[^\\n]{0,200}?(?<=\\s)-p${VALUE}`,
  `redis-cli\\s[^\\n]{0,200}?(?<=\\s)-a\\s{1,9}${VALUE}`,
  `login\\s[^\\n]{0,200}?(?<=\\s)-p[\\s=]{1,9}${VALUE}`,
];
const PASSWORD_FLAG = new RegExp(`(?<!\\S)${USER_FLAG}|(?<![\\w-])(?:${COMMANDS.join('|')})`);
const SHORTEST = 20;
const LEAST_CHANGES = 0.35;
/** A run of characters without a space that is long enough for a key. */
const RUN = /[\w+/=~.-]{20,}/g;
/** Digests, and the hash of the user's certificate, which is in nearly every review. */
const DIGEST = /sha\d+[:=][\da-f]{32,128}/gi;
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gi;
const HEX = /(?<![\da-z])[\da-f]{32,}(?![\da-z])/i;
const REPLACED = /<redacted(?: \d{1,12} bytes|: more than \d+ levels)>/g;

/** What the text looks like; undefined if it is harmless. */
export function resembles(text: string, name = ''): string | undefined {
  const bare = withoutPublic(text);
  if (PRIVATE_KEY.test(bare)) return 'a private key';
  if (TOKEN.test(bare)) return 'a token of a known service';
  if (LOGIN.test(bare)) return 'a user with a password';
  if (PASSWORD_FLAG.test(bare)) return 'a command with a password';
  if (HEX.test(bare) || (bare.match(RUN) ?? []).some(isRandom)) return 'random characters';
  const value = bare.trim();
  const isText = value !== '' && !isNoSecret(value) && !value.startsWith('system:');
  return isText && (namesSecret(name) || DOUBTFUL.test(spaced(name)))
    ? `a secret, by the name ${shown(name)}`
    : undefined;
}

/** Whether the arguments of a command have a password, of which each alone shows nothing. */
export function haveFlag(words: string[]): boolean {
  return PASSWORD_FLAG.test(words.join(' ').replaceAll(REPLACED, '<'));
}

/** Without what redaction has replaced, public PEM blocks, digests and uids. */
function withoutPublic(text: string): string {
  return withoutPublicPem(text.replaceAll(REPLACED, '')).replaceAll(DIGEST, '').replaceAll(UUID, '');
}

/** The name in one line of limited length. */
function shown(name: string): string {
  return shortened(name, LONGEST_NAME).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
}

function spaced(name: string): string {
  return name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
}

/** Base64 as a whole, with its slashes and its padding; paths have more slashes, and most of them begin with one. */
const BASE64 = /^[A-Za-z\d+][A-Za-z\d+/]+={0,2}$/;
const LEAST_BETWEEN_SLASHES = 12;
/** Letters of one case and digits. Names of Pods and the like have hyphens between shorter parts. */
const ONE_CASE = /[a-z\d]{20,}|[A-Z\d]{20,}/g;
const LEAST_DIGITS = 6;
const MOST_NUMBERS = 4;
const LEAST_LETTERS = 6;

/** Keys change between capitals, small letters and digits much more often than names do. */
function isRandom(run: string): boolean {
  return run
    .split(/[.~]|=(?!=?$)/)
    .some((part) => isBase64Key(part) || part.split(/[/=]/).some((one) => isKey(one) || isOneCaseKey(one)));
}

function isBase64Key(part: string): boolean {
  if (part.length < SHORTEST || part.length % 4 !== 0 || !BASE64.test(part)) return false;
  const slashes = part.split('/').length - 1;
  return slashes <= part.length / LEAST_BETWEEN_SLASHES && changesOften(part) && isMixed(part);
}

function isKey(part: string): boolean {
  return part.length >= SHORTEST && isMixed(part) && (counts(part, /\d/g) >= 4 || changesOften(part));
}

function isOneCaseKey(part: string): boolean {
  return (part.match(ONE_CASE) ?? []).some((run) => {
    const digits = counts(run, /\d/g);
    const hasDigits = digits >= LEAST_DIGITS || counts(run, /\d+/g) > MOST_NUMBERS;
    return hasDigits && run.length - digits >= LEAST_LETTERS;
  });
}

function isMixed(part: string): boolean {
  return counts(part, /\d/g) >= 1 && counts(part, /[A-Z]/g) >= 2 && counts(part, /[^A-Z\d]/g) >= 2;
}

function changesOften(part: string): boolean {
  return counts(part, /(?<=\d)\D|(?<=[A-Z])[^A-Z]|(?<=[^A-Z\d])[A-Z\d]/g) >= part.length * LEAST_CHANGES;
}

function counts(text: string, one: RegExp): number {
  return text.match(one)?.length ?? 0;
}
