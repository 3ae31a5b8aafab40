import type { DevloopEvent } from './events.ts';
import { describe, type ObjectName } from './object-name.ts';

export const COLOURS = ['dim', 'bold', 'red', 'green', 'yellow'] as const;
export type Colour = (typeof COLOURS)[number];
export type Paint = (colour: Colour, text: string) => string;

const COLUMN = 13;

/** The subject in the first column, then the rest; further lines stay in the second column, so none can pose as another event. */
export function row(first: string, rest: string): string {
  return `${first.padEnd(COLUMN)} ${indented(rest, COLUMN + 1)}`.trimEnd();
}

export function paintedRow(paint: Paint, colour: Colour, first: string, rest: string): string {
  return row(firstColumn(paint, colour, first), rest);
}

/** The text of the first column, padded before it is painted, since padEnd would count the escape sequences as text. */
export function firstColumn(paint: Paint, colour: Colour, first: string): string {
  return paint(colour, first.padEnd(COLUMN));
}

/** Indents a text: the first line stays as it is, and the others begin at the column. */
export function indented(text: string, column: number): string {
  return text.trimEnd().replaceAll('\n', `\n${' '.repeat(column)}`);
}

/** The text, and below it what to do next. */
export function withHint(text: string, hint: string | undefined, paint: Paint): string {
  return hint === undefined ? text : `${text}\n${paint('bold', '→ next:')} ${indented(hint, 2)}`;
}

/**
 * Line ends, with the space around them, become one space. This uses no regular expression, because one would scan long spaces again and
 * again.
 */
export function oneLine(text: string): string {
  if (!text.includes('\n')) return text;
  const lines = text.split('\n');
  const last = lines.length - 1;
  const trimmed = lines.map((line, at) => {
    if (at === last) return at === 0 ? line : line.trimStart();
    return at === 0 ? line.trimEnd() : line.trim();
  });
  return trimmed.filter((line, at) => line !== '' || at === 0 || at === last).join(' ');
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A limit that somebody chose: `10 s`. */
export function limitText(ms: number): string {
  return ms >= 1000 && ms % 1000 === 0 ? `${ms / 1000} s` : duration(ms);
}

/** The object as kubectl's users write it: `Service shop/hook`. */
export function objectText(object: ObjectName): string {
  return oneLine(describe(object));
}

const ESC = '\\x1b';
const COLOUR = `(?<colour>${ESC}\\[[\\d;:]*m)`;
/** CSI: moves the cursor, erases, changes modes, queries the terminal. */
const CONTROL_SEQUENCE = `(?:${ESC}\\[|\\x9b)[0-?]*[ -/]*[@-~]`;
/** OSC and similar sequences: titles, links, the clipboard. */
const STRING = `(?:${ESC}[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\p{Cc}]*(?:\\x07|${ESC}\\\\|\\x9c)`;
const SHORT_SEQUENCE = `${ESC}[ -/]*[0-Z\\\\^-~]`;
/** A control character on its own, or what remains of a sequence that has no end. */
const CONTROL_CHARACTER = '[^\\P{Cc}\\t\\n]';
/** Reverses the direction of writing, so that a text can look like another one. */
const DIRECTION = '\\p{Bidi_Control}';

let unsafe: RegExp | undefined;

/**
 * No alternative can match across the start of another, so the time is linear in the length of the text. The pattern is created when the
 * first text needs it, because compiling its Unicode classes takes longer than everything else that the modules of a short command do at
 * the start.
 */
function unsafePattern(): RegExp {
  unsafe ??= new RegExp(
    [COLOUR, CONTROL_SEQUENCE, STRING, SHORT_SEQUENCE, CONTROL_CHARACTER, DIRECTION].join('|'),
    'gu',
  );
  return unsafe;
}

const PLAIN = /^[\t\n -~]*$/;

/** Whether the text contains only printable ASCII, tabs and line feeds, so nothing unsafe. Nearly all texts do. */
export function isPlainText(text: string): boolean {
  return PLAIN.test(text);
}

/** Text from outside, without anything that could move the cursor, hide what was shown, or make the terminal answer. */
export function safeText(text: string, keepColours = false): string {
  if (isPlainText(text)) return text;
  return text.replaceAll(unsafePattern(), (found, ...rest) => {
    const { colour } = rest.at(-1) as { colour: string | undefined };
    return keepColours && colour !== undefined ? found : '';
  });
}

/** The event with all its texts made safe; only the controller's own output may keep its colours. */
export function safeEvent<E extends DevloopEvent>(event: E, colours: boolean): E {
  return isPlain(event) ? event : (safeValue(event, colours && event.type === 'controller.output') as E);
}

/**
 * How JSON writes control characters other than tab and line feed. A text that itself contains a backslash
 * and such a letter matches, too, and is copied without need.
 */
const ESCAPED = /\\[bfru]/;

/** Whether all texts of the event are plain. Most events are, and need no copy. */
function isPlain(event: DevloopEvent): boolean {
  const json = JSON.stringify(event);
  return isPlainText(json) && !ESCAPED.test(json);
}

function safeValue(value: unknown, keepColours: boolean): unknown {
  if (typeof value === 'string') return safeText(value, keepColours);
  if (Array.isArray(value)) return value.map((item) => safeValue(item, keepColours));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [safeText(key), safeValue(item, keepColours)]),
  );
}

const OF_DIFF: Record<string, Colour> = { '+': 'green', '-': 'red' };

/** The lines of a diff, each in the colour of its sign. */
export function paintedDiff(diff: string, paint: Paint): string {
  const line = (text: string): string => {
    const colour = OF_DIFF[text[0] ?? ''];
    return colour === undefined ? oneLine(text) : paint(colour, oneLine(text));
  };
  return diff.split('\n').map(line).join('\n');
}
