import { isNoSecret, namesSecret, REFERENCES } from './secret-names.ts';

/** Finds the values of fields that a text has on one line: JSON, flow maps of YAML, inline tables of TOML, data source names. */

type Hide = (secret: string) => string;
/** Counts characters that are read again. */
type Read = (characters: number) => void;

/** The beginning of a field after a bracket or a comma: `{"token": `, `{user: ann, token: `, `{ user = "ann", token = `. */
const FIELD = /([{,[(;])[ \t]*(["']?)([A-Za-z_][\w./-]*)\2(?:[ \t]*=[ \t]*|(?<=["'])[ \t]*:[ \t]*|:[ \t]+)/g;
/** A field of shell, of a query or of a data source name. A name matches only from its beginning, so that a long one is not read again and again. */
const ASSIGNED = /(?<![\w.-])([\w.-]+)[ \t]{0,3}=(?!=)[ \t]{0,3}/g;
/** An earlier replacement, in a review that is sent again. */
const HIDDEN = '<redacted \\d+ bytes>';
const ASSIGNED_VALUE = new RegExp(`${HIDDEN}|"[^"\\n]*"|'[^'\\n]*'|["']?[^\\s"']+`, 'y');
/** `User Id=ann`, as a part of `Server=db;User Id=ann;Password=x`. */
const PART = /^\s*([\w.-]+(?: [\w.-]+)*)\s*=/;

/**
 * `isProse`: see `Hiding`. Prose has commas before words that are no fields. Each value is passed over, whether it is replaced or not, so
 * that none is read once for each value that it is in.
 */
export function hideFields(
  text: string,
  { hide, read, isProse }: { hide: Hide; read: Read; isProse: boolean },
): string {
  if (!/[{,[(;]/.test(text)) return text;
  return replaceValues(text, FIELD, ([, before, quote, name], at) => {
    if (!namesSecret(name!) || (isProse && before !== '{' && quote === '')) return undefined;
    const end = endOfValue(text, at);
    read(end - at);
    const value = text.slice(at, end).trimEnd();
    const kept = { end: at + value.length, text: value };
    if (value === '' || isNoSecret(value) || isReference(value)) return kept;
    const [open, close] = [value[0]!, value.at(-1)!];
    const isQuoted = value.length > 1 && open === close && (open === '"' || open === "'");
    if (isQuoted && isNoSecret(value.slice(1, -1))) return kept;
    return { ...kept, text: isQuoted ? open + hide(value.slice(1, -1)) + close : hide(value) };
  });
}

/** Every field that `FIELD` would find, and more. */
const KEY = /[{,[(;][ \t]*(["']?)([A-Za-z_][\w./-]*)\1[ \t]*[:=]/g;

/** `{secretName: db}` and the like only say where a secret is, and have no other field at any depth. */
function isReference(value: string): boolean {
  if (!value.startsWith('{')) return false;
  const keys = [...value.matchAll(KEY)];
  return keys.length > 0 && keys.every(([, , key]) => REFERENCES.has(key!));
}

export function hideAssigned(text: string, hide: Hide): string {
  if (!text.includes('=')) return text;
  return replaceValues(hideParts(text, hide), ASSIGNED, ([, name], at, whole) => {
    if (!namesSecret(name!)) return undefined;
    ASSIGNED_VALUE.lastIndex = at;
    const [value] = ASSIGNED_VALUE.exec(whole) ?? [];
    if (value === undefined || isNoSecret(value)) return undefined;
    return { end: at + value.length, text: hide(value) };
  });
}

/** A text of named parts between semicolons, whose values can contain spaces and equals signs. */
function hideParts(text: string, hide: Hide): string {
  const parts = text.split(';');
  if (parts.length < 2 || !parts.every((part) => part.trim() === '' || PART.test(part))) return text;
  const shown = parts.map((part) => {
    const [before = '', name = ''] = PART.exec(part) ?? [];
    const value = part.slice(before.length);
    return namesSecret(name) && value.trim() !== '' && !isNoSecret(value.trim())
      ? before + hide(value)
      : part;
  });
  return shown.join(';');
}

type Replacing = (
  match: RegExpExecArray,
  at: number,
  text: string,
) => { end: number; text: string } | undefined;

/** Replaces what follows a match; what is not replaced may contain further matches. Each part of the text is read once. */
function replaceValues(text: string, pattern: RegExp, replacing: Replacing): string {
  const shown: string[] = [];
  let from = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const at = match.index + match[0].length;
    const found = replacing(match, at, text);
    if (found === undefined) continue;
    shown.push(text.slice(from, at), found.text);
    from = found.end;
    pattern.lastIndex = found.end;
  }
  return from === 0 ? text : shown.join('') + text.slice(from);
}

/** Where a value ends that begins at `at`: a text in quotes, a map or list with all that is in it, or anything else up to a bracket or comma. */
function endOfValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"' || first === "'") return endOfQuoted(text, at);
  if (first === '{' || first === '[') return endOfNested(text, at);
  const end = /[^,}\]\n;]*/y;
  end.lastIndex = at;
  end.exec(text);
  return end.lastIndex;
}

function endOfQuoted(text: string, at: number): number {
  const quoted = text[at] === '"' ? /"(?:[^"\\\n]|\\.)*"?/y : /'[^'\n]*'?/y;
  quoted.lastIndex = at;
  quoted.exec(text);
  return Math.max(quoted.lastIndex, at + 1);
}

function endOfNested(text: string, at: number): number {
  let depth = 0;
  const bracket = /[{}[\]]/g;
  bracket.lastIndex = at;
  for (let match = bracket.exec(text); match !== null; match = bracket.exec(text)) {
    depth += match[0] === '{' || match[0] === '[' ? 1 : -1;
    if (depth === 0) return match.index + 1;
  }
  return text.length;
}
