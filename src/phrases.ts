/** Wording that messages and the printer share. */

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `840 KiB`, `12.4 MiB` */
export function sizeText(bytes: number): string {
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 2 ** 10)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

/** `port 80`, `ports 80, 443` */
export function withNames(noun: string, names: readonly (string | number)[]): string {
  return `${noun}${names.length === 1 ? '' : 's'} ${names.join(', ')}`;
}

const MOST_NAMED = 3;

/** `a, b, c and 4 more` */
export function firstOf(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return names.slice(0, MOST_NAMED).join(', ') + more;
}

/** `in namespace shop`, `in namespaces shop, other`; for an empty list `in any namespace`. */
export function inNamespaces(namespaces: readonly string[]): string {
  return namespaces.length === 0 ? 'in any namespace' : `in ${withNames('namespace', namespaces)}`;
}

/** `90s`, `10m` and `2h` in milliseconds; undefined for any other text. */
export function durationMs(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  const ms = { s: 1_000, m: 60_000, h: 3_600_000 }[unit];
  return ms === undefined ? undefined : Number(number) * ms;
}

/** `4 h`, `90 min`, `30 s` */
export function timeText(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** Cuts a text to `most` characters; `…` shows that there was more. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Cuts what a program has printed to `most` characters: its error can be in the first lines, or in the last. */
export function bothEnds(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}…\n…${text.slice(-half)}`;
}

/** Who wrote an object's field, as `managedFields` of its metadata names them. */
export interface WriterNames {
  manager: string;
  operation?: string;
  time?: string;
}

/** `kubectl (Update, 2026-01-01T00:00:00Z)` */
export function writerText({ manager, operation, time }: WriterNames): string {
  return `${manager} (${[operation, time].filter(Boolean).join(', ')})`;
}

/** `webhook.go:42 in v1.(*Defaulter).Default`: where a debugger has stopped a program. */
export function placeText(place: { file?: string; line?: number; function?: string }): string {
  const { file, line, function: name } = place;
  const at = [file?.slice(file.lastIndexOf('/') + 1), line].filter(Boolean).join(':');
  // Go's full name has the import path of the package, which can be longer than the line at the bottom of a terminal.
  const short = name?.slice(name.lastIndexOf('/') + 1);
  return [at, short].filter(Boolean).join(' in ') || 'an unknown place';
}

/** Quotes a text as one word for a POSIX shell, whatever it contains. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Like `shellQuoted`, but quotes only if necessary, and stays on one line: bash and zsh read `$'a\nb'` as a line feed between a and b. */
export function shellWord(text = ''): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return /\p{Cc}/u.test(text) ? escapeQuoted(text) : shellQuoted(text);
}

/** Writes a line feed as `\n`, and other control characters, which a terminal would not show, as the octal numbers of their bytes. */
function escapeQuoted(text: string): string {
  const escaped = text.replaceAll(/[\\']/g, '\\$&').replaceAll('\n', '\\n');
  return `$'${escaped.replaceAll(/\p{Cc}/gu, (found) => octal(found))}'`;
}

function octal(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** The escape of one UTF-16 unit in a JSON string: `\u2028`. */
export function jsonEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * JSON that a terminal, a shell's here-document and a Go string between backquotes leave as it is: everything that these would interpret is
 * escaped.
 */
export function plainJson(value: unknown, indent: string | number = 2): string {
  return JSON.stringify(value, null, indent).replaceAll(/[`\u007f-\u009f\u2028\u2029\ufeff]/g, jsonEscape);
}

/** `shop-webhook` for registry.example.com:5000/team/shop-webhook:v1@sha256:…; empty for an image without a name. */
export function imageName(image: string): string {
  return image.split('@')[0]!.split('/').at(-1)!.split(':')[0]!;
}

const LONGEST_COMMAND = 200;

/** A command on one line, as it is typed. */
export function commandText(words: readonly string[]): string {
  return shortened(words.map((word) => shellWord(word)).join(' '), LONGEST_COMMAND);
}
