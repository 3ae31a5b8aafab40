import type { DevloopEvent } from './events.ts';
import type { PrintedEvent } from './render.ts';
import { widthOf } from './width.ts';

/** Below the first column; 14 where there is none of its own. */
const HANG: Partial<Record<DevloopEvent['type'], number>> = {
  warning: 2,
  error: 2,
  finding: 26,
  status: 11,
  'reviews.listed': 34,
  'reviews.waiting': 34,
};
const ROW_HANG = 14;
/** Text of others, and commands, which somebody may copy. */
const UNTOUCHED: DevloopEvent['type'][] = [
  'controller.output',
  'controller.started',
  'controller.planned',
  'build.failed',
  'page.served',
  'reviews.shown',
];
const NEXT = '→ next:';
/** Narrower, more would be lost than gained. */
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
    // In a line of its own it would not fit either.
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
