import { commandText, counted } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { duration, type Paint, paintedRow, row, withHint } from './text.ts';

type TestEvent = Extract<DevloopEvent, { type: 'test.started' | 'test.done' }>;
type Done = Extract<TestEvent, { type: 'test.done' }>;

export function isOfTest(event: DevloopEvent): event is TestEvent {
  return event.type.startsWith('test.');
}

export function renderTest(event: TestEvent, paint: Paint): string {
  if (event.type === 'test.started') return row('testing', `\`${commandText(event.command)}\``);
  const { exitCode, signal, ms, hint } = event;
  const ended = signal === undefined ? `ended with exit code ${exitCode}` : `was killed by ${signal}`;
  const passed = exitCode === 0;
  const text = `${passed ? 'passed' : `the command ${ended}`} after ${duration(ms)}; ${countsOf(event)}`;
  return withHint(paintedRow(paint, passed ? 'green' : 'red', 'tested', text), hint, paint);
}

/** Of a program that does not tell its reconciles, none are known. */
function countsOf({ reviews, reconciles }: Done): string {
  const { denied, failed } = reviews;
  const parts = [
    counted(reviews.all, 'review') +
      inParentheses([`${denied} denied`, denied], [`${failed} failed`, failed]),
    counted(reconciles.all, 'reconcile') + inParentheses([`${reconciles.failed} failed`, reconciles.failed]),
  ];
  return parts.slice(0, reconciles.all === 0 ? 1 : 2).join(', ');
}

function inParentheses(...parts: [text: string, count: number][]): string {
  const shown = parts.flatMap(([text, count]) => (count > 0 ? text : []));
  return shown.length > 0 ? ` (${shown.join(', ')})` : '';
}
