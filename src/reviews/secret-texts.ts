import { hideEncoded, hidePem, hideSigned } from './secret-encodings.ts';
import { hideAssigned, hideFields } from './secret-fields.ts';
import { hideLines } from './secret-lines.ts';
import { isNoSecret, namesSecret } from './secret-names.ts';
import { hideInUrls } from './secret-urls.ts';

/** Replaces the secrets in a text, and leaves the rest as it is. Takes time in proportion to the length, whatever the text is. */

export interface Hiding {
  hide: (secret: string) => string;
  /**
   * Whether the text is a program's message about an object: in `spec.token: Required value`, the text after the colon is not the field's
   * value.
   */
  isProse: boolean;
  /** Counts characters that are read in addition to those of the text, so that the work has a limit. May throw. */
  read: (characters: number) => void;
}

/** A single command-line argument: `--token=x`. */
const FLAG = /^(--?([\w.-]+)=)([\s\S]+)$/;
/** Credentials as in an HTTP header: a scheme, then the secret. */
const CREDENTIALS = /^(?:basic|bearer|digest|token|apikey|negotiate|ntlm|aws4-hmac-sha256)[ \t]+\S/i;
/** `Authorization: Bearer …`, in a command, in YAML or in a server's configuration. */
const AUTHORIZATION =
  /\b(authorization["']?[ \t]{0,9}[:=]?[ \t]{0,9}["']?(?:basic|bearer|digest|token|apikey|negotiate|ntlm)[ \t]{1,9})([^\s"']{8,})/gi;
/** A header on its own, or in quotes: `X-Api-Key: x`. Without a hyphen in its name or a quote, it can be something else. */
const HEADER = /(^|\n|["'`])((?:cookie|set-cookie|[a-z\d]+(?:-[a-z\d]+)*)):[ \t]{1,9}([^"'`\r\n]+)/gi;
/** Every name of a secret contains one of these, in some spelling. Only names with a separator inside such a word, such as `to-ken`, do not. */
const HINT = /pass|pwd|token|secret|cred|key|private|psk|cookie|authorization|docker[^a-z0-9]*c/i;
/** What can hold a secret without naming it: base64, the password of a URL or of a data source. */
const UNNAMED = /[\w+/-]{24}|@|-----|eyJ/;

/** Whether a text can contain a secret. */
export function mayHaveSecret(text: string): boolean {
  return HINT.test(text) || UNNAMED.test(text);
}

/** Whether a value looks like the value of a header that identifies the caller. */
export function isCredentials(value: string): boolean {
  return CREDENTIALS.test(value);
}

export function hideInText(text: string, hiding: Hiding): string {
  const { hide, isProse, read } = hiding;
  if (!mayHaveSecret(text)) return text;
  const plain = hideSigned(hidePem(text, hide), hide);
  const isSafe = (decoded: string): boolean => {
    read(decoded.length);
    return decoded === hideInText(decoded, { hide: () => '', isProse: false, read });
  };
  const safe = hideAuthorization(hideInUrls(hideEncoded(plain, hide, isSafe), hide), hide);
  if (!HINT.test(safe)) return safe;
  const [, flag, name, value] = FLAG.exec(safe) ?? [];
  if (flag !== undefined && namesSecret(name!) && !isNoSecret(value!)) return flag + hide(value!);
  const withoutHeaders = hideHeaders(safe, hiding);
  const withoutLines = hideLines(withoutHeaders, hide, !isProse && safe.includes('\n'));
  return hideAssigned(hideFields(withoutLines, hiding), hide);
}

function hideAuthorization(text: string, hide: Hiding['hide']): string {
  return text.replaceAll(AUTHORIZATION, (all, header: string, secret: string) =>
    isNoSecret(secret) || secret === '<redacted' ? all : header + hide(secret),
  );
}

function hideHeaders(text: string, { hide, isProse }: Hiding): string {
  return text.replaceAll(HEADER, (all, before: string, name: string, value: string) => {
    const isQuoted = before !== '' && before !== '\n';
    const isCookie = /cookie$/i.test(name);
    const isHeader = isQuoted || (!isProse && (isCookie || name.includes('-')));
    if (!isHeader || isNoSecret(value.trim()) || !(isCookie || namesSecret(name))) return all;
    return `${all.slice(0, all.length - value.length)}${hide(value)}`;
  });
}
