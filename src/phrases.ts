/** What messages and the printer say alike. */

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `90s`, `10m` and `2h` in milliseconds; undefined for all else. */
export function durationMs(text: string): number | undefined {
  const [, number = '', unit = ''] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  const ms = { s: 1_000, m: 60_000, h: 3_600_000 }[unit];
  return ms === undefined ? undefined : Number(number) * ms;
}

/** At most so many characters of a text, with a sign that there is more. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** Who wrote an object's field, as `managedFields` of its metadata names them. */
interface WriterNames {
  manager: string;
  operation?: string;
  time?: string;
}

/** `kubectl (Update, 2026-01-01T00:00:00Z)` */
export function writerText({ manager, operation, time }: WriterNames): string {
  return `${manager} (${[operation, time].filter(Boolean).join(', ')})`;
}

/** One word of a POSIX shell, whatever is in it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The same, quoted only where it has to be, and on one line: bash and zsh read a line feed from `$'a\nb'`. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  return /\p{Cc}/u.test(text) ? escapeQuoted(text) : shellQuoted(text);
}

/** Each control character by its bytes, since a terminal would not show it. */
function escapeQuoted(text: string): string {
  const escaped = text.replaceAll(/[\\']/g, '\\$&').replaceAll('\n', '\\n');
  return `$'${escaped.replaceAll(/\p{Cc}/gu, (found) => octal(found))}'`;
}

function octal(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** `shop-webhook` of registry.example.com:5000/team/shop-webhook:v1@sha256:…; empty for an image without a name. */
export function imageName(image: string): string {
  return image.split('@')[0]!.split('/').at(-1)!.split(':')[0]!;
}
