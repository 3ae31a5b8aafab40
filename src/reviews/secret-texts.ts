import { namesSecret } from './secret-names.ts';

/** Replaces the secrets in a text, and leaves the rest as it is. Takes time in proportion to the length, whatever the text is. */

export interface Hiding {
  hide: (secret: string) => string;
  /**
   * Whether the text is a program's message about an object: in `spec.token: Required value`, the text after the colon is not the field's
   * value.
   */
  isProse: boolean;
}

/** An earlier replacement, in a review that is sent again. */
const HIDDEN = '<redacted \\d+ bytes>';
/** The password in `postgres://user:password@host`. */
const IN_URL = /(?<=:\/\/[^\s/@:]{0,200}:)[^\s/@]{1,1000}(?=@)/g;
/** A single command-line argument: `--token=x`. */
const FLAG = /^(--?([\w.-]+)=)([\s\S]+)$/;
/** `user=a password=b`, `?token=x`. A name matches only from its beginning, so that a long one is not read again and again. */
const ASSIGNED = new RegExp(`(?<![\\w.-])([\\w.-]+)=(${HIDDEN}|"[^"\\n]*"|'[^'\\n]*'|["']?[^\\s"']+)`, 'g');
/** Credentials as in an HTTP header: a scheme, then the secret. */
const CREDENTIALS = /^(?:basic|bearer|digest|token|apikey|negotiate|ntlm|aws4-hmac-sha256)[ \t]+\S/i;
/** `Authorization: Bearer …`, in a command, in YAML or in a server's configuration. */
const HEADER =
  /\b(authorization["']?[ \t]{0,9}[:=]?[ \t]{0,9}["']?(?:basic|bearer|digest|token|apikey|negotiate|ntlm)[ \t]{1,9})([^\s"']{8,})/gi;
/** A line of a properties file, of variables, or of YAML. */
const LINE =
  /^(?<before>[ \t]*(?:- +)?(?:export +)?(?<quote>["']?)(?<name>[A-Za-z_][\w./-]*)\k<quote>[ \t]*(?:(?<colon>:)[ \t]+|=[ \t]*))(?<value>\S.*)$/;
/** A block of YAML: the value is in the following lines, which are indented further. */
const BLOCK = /^[|>][-+\d]*$/;
/** Values that are no secrets, such as `$(VAR)` and `${VAR}`, which stand for variables. */
const NO_SECRET = /^(?:\$\(\w+\)|\$\{\w+\}|true|false|null|~|""|''|<redacted \d+ bytes>)$/;
/** Every name of a secret contains one of these, in some spelling. Only names with a separator inside such a word, such as `to-ken`, do not. */
const HINT = /pass|pwd|token|secret|cred|key|private|psk|docker[^a-z0-9]*c/i;

/** Whether a text can contain the name of a secret. */
export function mayNameSecret(text: string): boolean {
  return HINT.test(text);
}

/** Whether a value is no secret, whatever its name is. */
export function isNoSecret(value: string): boolean {
  return NO_SECRET.test(value);
}

/** Whether a value looks like the value of a header that identifies the caller. */
export function isCredentials(value: string): boolean {
  return CREDENTIALS.test(value);
}

export function hideInText(text: string, { hide, isProse }: Hiding): string {
  const plain = withoutPem(text, hide);
  const bare = plain.includes('://') ? plain.replaceAll(IN_URL, (secret) => hide(secret)) : plain;
  const safe = hideHeaders(bare, hide);
  if (!mayNameSecret(safe)) return safe;
  const [, flag, name, value] = FLAG.exec(safe) ?? [];
  if (flag !== undefined && isSecret(name!, value!)) return flag + hide(value!);
  const withoutLines = hideLines(safe, { hide, isProse: isProse || !safe.includes('\n') });
  return withoutLines.replaceAll(ASSIGNED, (all, key: string, secret: string) =>
    isSecret(key, secret) ? `${key}=${hide(secret)}` : all,
  );
}

function hideHeaders(text: string, hide: Hiding['hide']): string {
  return text.replaceAll(HEADER, (all, header: string, secret: string) =>
    isNoSecret(secret) || secret === '<redacted' ? all : header + hide(secret),
  );
}

function hideLines(text: string, { hide, isProse }: Hiding): string {
  let block: number | undefined;
  const shown = text.split('\n').map((line) => {
    const indent = line.length - line.trimStart().length;
    if (block !== undefined && (indent > block || indent === line.length))
      return line.slice(0, indent) + (indent === line.length ? '' : hide(line.slice(indent)));
    block = undefined;
    const { before, name, colon, value } = LINE.exec(line)?.groups ?? {};
    if (value === undefined || (isProse && colon) || !isSecret(name!, value)) return line;
    if (!colon || !BLOCK.test(value)) return before + hide(value);
    block = indent;
    return line;
  });
  return shown.join('\n');
}

function isSecret(name: string, value: string): boolean {
  return !isNoSecret(value) && namesSecret(name);
}

const DASHES = '-----';
const PEM_BEGIN = '-----BEGIN ';
const PEM_END = '-----END ';

function withoutPem(text: string, hide: Hiding['hide']): string {
  let shown = '';
  let rest = text;
  for (let begin = rest.indexOf(PEM_BEGIN); begin >= 0; begin = rest.indexOf(PEM_BEGIN)) {
    const end = endOfPem(rest, begin);
    shown += rest.slice(0, begin) + hide(rest.slice(begin, end));
    rest = rest.slice(end);
  }
  return shown + rest;
}

/** Where the PEM block that begins at `begin` ends; a block without an end extends to the end of the text. */
function endOfPem(text: string, begin: number): number {
  const last = text.indexOf(PEM_END, begin);
  const dashes = last < 0 ? -1 : text.indexOf(DASHES, last + PEM_END.length);
  return dashes < 0 ? text.length : dashes + DASHES.length;
}
