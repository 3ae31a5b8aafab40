import type { DevloopEvent } from './events.ts';
import type { PrintedEvent } from './render.ts';
import { widthOf } from './width.ts';

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
/** The events that are not wrapped: output of other programs, and what somebody may want to copy, such as commands. */
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
export function wrapEvent(text: string, { type }: PrintedEvent, columns: number): string {
  if (UNTOUCHED.includes(type)) return text;
  const lines = text.split('\n');
  const next = lines.findIndex((line) => line.includes(NEXT));
  const end = next < 0 ? lines.length : next;
  const wrapped = lines.slice(0, end).map((line, at) => {
    const own = /^ */.exec(line)![0].length;
    return wrapLine(line, at === 0 ? (HANG[type] ?? ROW_HANG) : own, columns);
  });
  return [...wrapped, ...lines.slice(end)].join('\n');
}

function wrapLine(line: string, hang: number, columns: number): string {
  if (columns < LEAST + hang || widthOf(line) <= columns) return line;
  const indent = ' '.repeat(hang);
  const lines: string[] = [];
  let current = '';
  for (const [part, space = '', word = ''] of line.matchAll(/(\s*)(\S+)/g)) {
    const isFirst = current === '' || (lines.length > 0 && current === indent);
    // The word would not fit on a line of its own either.
    const isTooLong = hang + widthOf(word) > columns;
    if (isFirst || isTooLong || widthOf(current) + widthOf(part) <= columns) {
      current += isFirst && lines.length > 0 ? word : `${space}${word}`;
      continue;
    }
    lines.push(current);
    current = `${indent}${word}`;
  }
  return [...lines, current].join('\n');
}
