import { counted } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import type { PlanDifference, PlannedWrite, PlanWait } from './planned-write.ts';
import { type Colour, indented, objectText, oneLine, type Paint, paintedDiff } from './text.ts';

type PlanEvent = Extract<
  DevloopEvent,
  { type: 'plan.write' | 'plan.done' | 'plan.difference' | 'plan.compared' }
>;

const SIGNS: Record<PlannedWrite['action'], [sign: string, colour: Colour]> = {
  create: ['+', 'green'],
  change: ['~', 'yellow'],
  delete: ['-', 'red'],
  refused: ['!', 'red'],
  'not-sent': ['?', 'yellow'],
};

const TYPES = new Set<string>(['plan.write', 'plan.done', 'plan.difference', 'plan.compared']);

export function isOfPlan(event: DevloopEvent): event is PlanEvent {
  return TYPES.has(event.type);
}

export function renderPlan(event: PlanEvent, paint: Paint): string {
  switch (event.type) {
    case 'plan.write':
      return writeText(event.write, paint);
    case 'plan.done':
      return doneText(event);
    case 'plan.difference':
      return differenceText(event, paint);
    case 'plan.compared':
      return comparedText(event);
  }
}

function writeText(write: PlannedWrite, paint: Paint, more: string[] = []): string {
  const { action, diff } = write;
  const line = headOf(write, paint, more);
  return diff === undefined ? line : withDiff(line, painted(action, diff, paint));
}

function withDiff(line: string, diff: string): string {
  return `${line}\n      ${indented(diff, 6)}\n`;
}

function headOf(write: PlannedWrite, paint: Paint, more: string[]): string {
  const { action, verb, resource, kind, namespace, name, message, isLater, waits } = write;
  const [sign, colour] = SIGNS[action];
  const [plural = '', subresource] = resource.split('/');
  const what = [kind ?? plural, subresource].filter(Boolean).join('/');
  const object = [namespace, name].filter(Boolean).join('/');
  const why = { refused: `${verb} would be refused: ${message ?? ''}`, 'not-sent': `${verb} was not sent` };
  const facts = [
    ...(action === 'refused' || action === 'not-sent' ? [why[action]] : []),
    ...more,
    ...(isLater ? [paint('dim', '(after the above)')] : []),
    ...(waits ? [paint('yellow', `(${waitText(waits)})`)] : []),
  ];
  return `${paint(colour, sign)} ${oneLine([`${what} ${object}`.trimEnd(), ...facts].join('  '))}`;
}

function waitText({ for: how, times, of, error }: PlanWait): string {
  const what = {
    object: `it asked for the object ${times} times`,
    written: `it went on to write to the object, ${counted(times, 'time')}`,
    repeated: `it repeated this write ${times} times`,
    reconcile: `it reconciled ${of && objectText(of)} ${times} times without anything new`,
  }[how];
  const why = error === undefined ? '' : `: ${error}`;
  return `the controller waits here, since nothing stored it: ${what}${why}`;
}

function differenceText(
  { revision, difference }: Extract<PlanEvent, { type: 'plan.difference' }>,
  paint: Paint,
): string {
  const { by, write, instead, diff }: PlanDifference = difference;
  if (by !== 'both')
    return writeText(write, paint, [`(only ${by === 'checkout' ? 'the checkout' : revision})`]);
  if (diff === undefined)
    return [
      writeText(write, paint, ['(the checkout)']),
      ...(instead ? [writeText(instead, paint, [`(${revision})`])] : []),
    ].join('\n');
  const line = headOf(write, paint, [`(differently: - ${revision}, + the checkout)`]);
  return withDiff(line, painted('change', diff, paint));
}

function comparedText(event: Extract<PlanEvent, { type: 'plan.compared' }>): string {
  const { against, checkout, revision, both, same } = event;
  if (checkout + revision + both === 0)
    return `The checkout would do the same as ${against} (${counted(same, 'write')}).`;
  const parts = [
    `${checkout} only by the checkout`,
    `${revision} only by ${against}`,
    `${both} differently`,
    `${same} the same`,
  ];
  return `Writes: ${oneLine(parts.join(', '))}.`;
}

/** All lines of a new object are new. */
function painted(action: PlannedWrite['action'], diff: string, paint: Paint): string {
  const lines = diff.split('\n').map((line) => (action === 'create' ? `+${line}` : line));
  return paintedDiff(lines.join('\n'), paint);
}

function doneText({
  create,
  change,
  delete: deleted,
  refused,
  notSent,
}: Extract<PlanEvent, { type: 'plan.done' }>): string {
  const rest = [
    ...(refused > 0 ? [`${refused} would be refused`] : []),
    ...(notSent > 0 ? [`${notSent} not sent`] : []),
  ];
  if (create + change + deleted + refused + notSent === 0) return 'No changes.';
  return `Plan: ${[`${create} to create`, `${change} to change`, `${deleted} to delete`, ...rest].join(', ')}.`;
}
