/** Finds secrets that are encoded: PEM blocks, tokens that are signed JSON, and base64 of a text with secrets. */

type Hide = (secret: string) => string;

/** Labels of the PEM blocks that programs give to anybody, such as the certificates of a CA bundle. */
const PUBLIC = new Set([
  'CERTIFICATE',
  'X509 CERTIFICATE',
  'TRUSTED CERTIFICATE',
  'CERTIFICATE REQUEST',
  'NEW CERTIFICATE REQUEST',
  'X509 CRL',
  'PUBLIC KEY',
  'RSA PUBLIC KEY',
]);
const DASHES = '-----';
const PEM_BEGIN = '-----BEGIN ';
const PEM_END = '-----END ';
/** What a block contains between its first and its last line; a line feed may be written as `\n`. */
const PEM_BODY = /^(?:[A-Za-z0-9+/=\s]|\\[nr])*$/;

/** Replaces each PEM block, except for complete ones that are public; a block without an end extends to the end of the text. */
export function hidePem(text: string, hide: Hide): string {
  return replacePem(text, (block) => (isPublic(block) ? block : hide(block)));
}

/** The text without complete public blocks, in base64 or not. */
export function withoutPublicPem(text: string): string {
  const drop = (block: string): string => (isPublic(block) ? '' : block);
  return replacePem(text, drop).replaceAll(ENCODED, (run) => {
    const inner = decoded(run);
    return inner.includes(PEM_BEGIN) && replacePem(inner, drop).trim() === '' ? '' : run;
  });
}

function replacePem(text: string, replace: (block: string) => string): string {
  let shown = '';
  let rest = text;
  for (let begin = rest.indexOf(PEM_BEGIN); begin >= 0; begin = rest.indexOf(PEM_BEGIN)) {
    const end = endOfPem(rest, begin);
    const block = rest.slice(begin, end);
    shown += rest.slice(0, begin) + replace(block);
    rest = rest.slice(end);
  }
  return shown + rest;
}

function endOfPem(text: string, begin: number): number {
  const last = text.indexOf(PEM_END, begin);
  const dashes = last < 0 ? -1 : text.indexOf(DASHES, last + PEM_END.length);
  return dashes < 0 ? text.length : dashes + DASHES.length;
}

function isPublic(block: string): boolean {
  const [, label = ''] = /^-----BEGIN ([A-Z0-9 ]{1,40})-----/.exec(block) ?? [];
  const end = `${PEM_END}${label}${DASHES}`;
  if (!PUBLIC.has(label) || !block.endsWith(end)) return false;
  return PEM_BODY.test(block.slice(PEM_BEGIN.length + label.length + DASHES.length, -end.length));
}

/** A JWT: base64 of JSON objects between dots, the first of which names an algorithm. */
const SIGNED = /(?<![\w.-])(eyJ[\w-]{10,})\.[\w-]+(?:\.[\w-]*){1,3}/g;

export function hideSigned(text: string, hide: Hide): string {
  if (!text.includes('eyJ')) return text;
  return text.replaceAll(SIGNED, (token, header: string) => (namesAlgorithm(header) ? hide(token) : token));
}

function namesAlgorithm(header: string): boolean {
  try {
    const { alg, enc } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
    return typeof alg === 'string' || typeof enc === 'string';
  } catch {
    return false;
  }
}

/** Base64 that is long enough for a secret with its name; it may continue on further lines. */
const ENCODED =
  /[\w+/-]{24,}(?:\r?\n[ \t]{0,40}[\w+/-]{24,})*(?:\r?\n[ \t]{0,40}[\w+/-]+(?=[=\s]|$))?={0,2}/g;
/** How base64 of a PEM block begins, also where something else precedes it. */
const ENCODED_PEM = 'LS0tLS1CRUdJTi';
/** Anything else is not a text. */
const PRINTABLE = /^[\t\n\r\x20-\x7e\x80-\ufffc]*$/;

/** Replaces base64 if its text, with its own secrets replaced, is another text. One text of each run is looked at, which is shorter than it. */
export function hideEncoded(text: string, hide: Hide, isSafe: (decoded: string) => boolean): string {
  return text.replaceAll(ENCODED, (run) => {
    const pem = run.indexOf(ENCODED_PEM);
    const inner = decoded(run) || (pem > 0 ? decoded(run.slice(pem)) : '');
    return isSafe(inner) ? run : hide(run);
  });
}

function decoded(run: string): string {
  const text = Buffer.from(run.replaceAll(/\s/g, ''), 'base64').toString('utf8');
  return PRINTABLE.test(text) ? text : '';
}
