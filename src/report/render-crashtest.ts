import { counted } from '../phrases.ts';
import type { CrashRound, ObjectDifference } from './crash-round.ts';
import type { DevloopEvent } from './events.ts';
import { type Colour, duration, indented, oneLine, type Paint, paintedDiff } from './text.ts';

type CrashtestEvent = Extract<
  DevloopEvent,
  { type: 'crashtest.undisturbed' | 'crashtest.round' | 'crashtest.done' }
>;

const WORDS: Record<CrashRound['result'], [word: string, colour: Colour]> = {
  same: ['ok', 'green'],
  different: ['DIFFERENT', 'red'],
  restless: ['NO REST', 'red'],
  failed: ['FAILED', 'red'],
  'not-met': ['not met', 'yellow'],
};
const LONGEST_WORD = 9;

export function isOfCrashtest(event: DevloopEvent): event is CrashtestEvent {
  return event.type.startsWith('crashtest.');
}

export function renderCrashtest(event: CrashtestEvent, paint: Paint): string {
  if (event.type === 'crashtest.undisturbed') return undisturbedText(event);
  return event.type === 'crashtest.round' ? roundText(event, paint) : doneText(event);
}

function undisturbedText({
  writes,
  objects,
  points,
  ms,
}: Extract<CrashtestEvent, { points: number; ms: number }>): string {
  const what = `${counted(writes, 'write')} to ${counted(objects, 'object')} in ${duration(ms)}`;
  return `Without a crash: ${what}. The controller is killed at ${counted(points, 'write')}.`;
}

function roundText(
  { number, of, round }: Extract<CrashtestEvent, { round: CrashRound }>,
  paint: Paint,
): string {
  const { result, write, ms, why, differences = [], reconcile, log = [], repeat } = round;
  const [word, colour] = WORDS[result];
  const count = `${number}/${of}`.padStart(String(of).length * 2 + 1);
  const head = `${count}  ${paint(colour, word.padEnd(LONGEST_WORD))}  ${oneLine(write)}  ${paint('dim', `(${duration(ms)})`)}`;
  const object = reconcile && [reconcile.namespace, reconcile.name].filter(Boolean).join('/');
  const details = [
    ...(why === undefined ? [] : [indented(why, 6)]),
    ...differences.map((one) => differenceText(one, paint)),
    ...(reconcile
      ? [paint('dim', oneLine(`in the reconcile of ${reconcile.kind ?? reconcile.controller} ${object}`))]
      : []),
    ...(log.length > 0
      ? [
          paint(
            'dim',
            indented(
              ['the last warnings and errors in its log:', ...log.map((line) => oneLine(line))].join('\n'),
              8,
            ),
          ),
        ]
      : []),
    ...(repeat === undefined ? [] : [`again: ${oneLine(repeat)}`]),
  ];
  return [head, ...details.map((line) => `      ${line}`)].join('\n');
}

function differenceText({ object, what, count, expected, diff }: ObjectDifference, paint: Paint): string {
  const counts = expected + count > 1 ? ` (${count} in place of ${expected})` : '';
  const words = {
    missing: `is missing${counts}`,
    more: `is there, and is not without a crash${counts}`,
    changed: 'is different',
  };
  const head = oneLine(
    `${object} ${expected + count > 1 && what === 'more' ? `is there too often${counts}` : words[what]}`,
  );
  return diff === undefined ? head : `${head}\n          ${indented(paintedDiff(diff, paint), 10)}`;
}

function doneText({
  points,
  wrong,
  notMet,
  left,
  isReset,
}: Extract<CrashtestEvent, { type: 'crashtest.done' }>): string {
  const met = points - notMet;
  const rest = [
    ...(notMet > 0 ? [`${counted(notMet, 'write')} not made again`] : []),
    ...(left > 0
      ? [`${left} more not tried${isReset ? `: --limit ${points + left}` : ', since the reset has failed'}`]
      : []),
  ];
  const result =
    wrong === 0
      ? 'each run ends as without a crash'
      : `${counted(wrong, 'run')} of ${met} ${wrong === 1 ? 'does' : 'do'} not end as without a crash`;
  return `Crash test: killed ${counted(met, 'time')}, ${[result, ...rest].join(', ')}.`;
}
