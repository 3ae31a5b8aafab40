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
  'controller.started',
  'controller.planned',
  'build.failed',
  'page.served',
  'reviews.shown',
];
const NEXT = '→ next:';
/** In a narrower terminal, wrapping would do more harm than good. */
const LEAST = 40;

/** The rendered event, broken between words at the width of the terminal. A next step stays in one line, so that it can be copied. */
export function wrapEvent(text: string, { type }: DevloopEvent, columns: number): string {
  if (UNTOUCHED.includes(type)) return text;
  const lines = text.split('\n');
  const next = lines.findIndex((line) => line.includes(NEXT));
  const end = next < 0 ? lines.length : next;
  const wrapped = lines.slice(0, end).flatMap((line, at) => {
    const own = /^ */.exec(line)![0].length;
    return wrapLine(line, ' '.repeat(at === 0 ? (HANG[type] ?? ROW_HANG) : own), columns);
  });
  return [...wrapped, ...lines.slice(end)].join('\n');
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
