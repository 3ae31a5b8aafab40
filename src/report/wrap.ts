import type { DevloopEvent } from './events.ts';
import { cutToWidth, widthOf } from './width.ts';

/** The indent of further lines; ROW_HANG for all other events. */
const HANG: Partial<Record<DevloopEvent['type'], number>> = {
  warning: 2,
  error: 2,
  finding: 26,
  status: 11,
  setting: 26,
  'reviews.listed': 34,
  'reviews.waiting': 34,
  'calls.listed': 34,
  'reconciles.listed': 34,
  'timeline.changed': 34,
  'timeline.logged': 34,
};
const ROW_HANG = 14;
/** The events that are not wrapped here: the controller's log, and what somebody may want to copy, such as commands. */
const UNTOUCHED: DevloopEvent['type'][] = [
  'controller.output',
  'output.line',
  'environment',
  'controller.started',
  'controller.planned',
  'build.failed',
  'page.served',
  'reviews.shown',
];
/** A line that says what to do next, from its indent to its text. */
const NEXT = /^( *).*→ next:\S* /;
/** In a narrower terminal, wrapping would do more harm than good. */
const LEAST = 40;

/** The rendered event, broken between words at the width of the terminal. A command stays in one line, so that it can be copied. */
export function wrapEvent(text: string, { type }: DevloopEvent, columns: number): string {
  if (UNTOUCHED.includes(type)) return text;
  const lines = text.split('\n');
  const next = lines.findIndex((line) => NEXT.test(line));
  const end = next < 0 ? lines.length : next;
  const wrapped = lines.slice(0, end).flatMap((line, at) => {
    const own = /^ */.exec(line)![0].length;
    const indent = ' '.repeat(at === 0 ? (HANG[type] ?? ROW_HANG) : own);
    return wrapText(line, line.match(QUOTED) ?? [], indent, columns);
  });
  const hint = lines.slice(end).flatMap((line) => {
    const [before, own] = NEXT.exec(line) ?? /^( *)/.exec(line)!;
    const indent = ' '.repeat(NEXT.test(line) ? own!.length + NEXT_INDENT : own!.length);
    return wrapText(line, commandsIn(line.slice(before.length)), indent, columns);
  });
  return [...wrapped, ...hint].join('\n');
}

const NEXT_INDENT = 2;
const QUOTED = /`[^`]+`/g;
/** What is copied from a sentence: what is quoted, and commands of programs that devloop suggests. */
const IN_SENTENCE =
  /`[^`]+`|"[^"]+"|(?<=: )(?:devloop|kubectl|ssh[-\w]*|ss|make|go) .*?(?=\. |\.$|\), |, or |$)/g;

/** The parts of a line of a hint that are commands, or that could be: a line is a command, or a sentence, which can end with one after a colon. */
function commandsIn(line: string): string[] {
  if (!/^(?:[A-Z][-'a-z]*|A|I)[ ,:]/.test(line)) return [line];
  if (/[.?!)]$/.test(line)) return line.match(IN_SENTENCE) ?? [];
  const colon = line.indexOf(': ');
  return colon < 0 ? (line.match(IN_SENTENCE) ?? []) : [line.slice(colon + ': '.length)];
}

/** No text that is printed has this character. */
const KEPT_SPACE = '\0';

/** Like `wrapLine`, and breaks none of the parts in `kept`. */
function wrapText(line: string, kept: string[], indent: string, columns: number): string[] {
  const joined = kept.reduce(
    (text, part) => text.replace(part, () => part.replaceAll(' ', KEPT_SPACE)),
    line,
  );
  return wrapLine(joined, indent, columns).map((row) => row.replaceAll(KEPT_SPACE, ' '));
}

/**
 * The line in rows no wider than the columns, broken between words; further rows begin with `indent`. A word that fits on no row stays
 * whole, unless it is to be cut.
 */
export function wrapLine(line: string, indent: string, columns: number, cuts = false): string[] {
  if (columns < LEAST + indent.length || widthOf(line) <= columns) return [line];
  const rows: string[] = [];
  let row = '';
  for (const [part, space = '', word = ''] of line.matchAll(/(\s*)(\S+)/g)) {
    const isFirst = row === '' || (rows.length > 0 && row === indent);
    // The word would not fit on a row of its own either.
    const isTooLong = indent.length + widthOf(word) > columns;
    if (isFirst || isTooLong || widthOf(row) + widthOf(part) <= columns)
      row += isFirst && rows.length > 0 ? word : `${space}${word}`;
    else {
      rows.push(row);
      row = `${indent}${word}`;
    }
    if (cuts) row = cutOff(rows, row, indent, columns);
  }
  return [...rows, row];
}

/** Moves full rows to `rows`, and returns the rest. */
function cutOff(rows: string[], row: string, indent: string, columns: number): string {
  let rest = row;
  while (widthOf(rest) > columns) {
    const head = cutToWidth(rest, columns);
    rows.push(head);
    rest = `${indent}${rest.slice(head.length)}`;
  }
  return rest;
}
