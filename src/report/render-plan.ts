import type { DevloopEvent } from './events.ts';
import type { PlannedWrite } from './planned-write.ts';
import { type Colour, indented, oneLine, type Paint } from './text.ts';

type PlanEvent = Extract<DevloopEvent, { type: 'plan.write' | 'plan.done' }>;

const SIGNS: Record<PlannedWrite['action'], [sign: string, colour: Colour]> = {
  create: ['+', 'green'],
  change: ['~', 'yellow'],
  delete: ['-', 'red'],
  refused: ['!', 'red'],
  'not-sent': ['?', 'yellow'],
};

export function isOfPlan(event: DevloopEvent): event is PlanEvent {
  return event.type === 'plan.write' || event.type === 'plan.done';
}

export function renderPlan(event: PlanEvent, paint: Paint): string {
  return event.type === 'plan.write' ? writeText(event.write, paint) : doneText(event);
}

function writeText(write: PlannedWrite, paint: Paint): string {
  const { action, verb, resource, kind, namespace, name, message, diff, isLater } = write;
  const [sign, colour] = SIGNS[action];
  const [plural = '', subresource] = resource.split('/');
  const what = [kind ?? plural, subresource].filter(Boolean).join('/');
  const object = [namespace, name].filter(Boolean).join('/');
  const why = { refused: `${verb} would be refused: ${message ?? ''}`, 'not-sent': `${verb} was not sent` };
  const facts = [
    ...(action === 'refused' || action === 'not-sent' ? [why[action]] : []),
    ...(isLater ? [paint('dim', '(after the above)')] : []),
  ];
  const head = oneLine([`${what} ${object}`.trimEnd(), ...facts].join('  '));
  const line = `${paint(colour, sign)} ${head}`;
  return diff === undefined ? line : `${line}\n      ${indented(painted(action, diff, paint), 6)}\n`;
}

/** All lines of a new object are new. */
function painted(action: PlannedWrite['action'], diff: string, paint: Paint): string {
  const lines = diff.split('\n').map((line) => (action === 'create' ? `+${line}` : line));
  const colours: Record<string, Colour> = { '+': 'green', '-': 'red' };
  return lines
    .map((line) => {
      const colour = colours[line[0] ?? ''];
      return colour === undefined ? oneLine(line) : paint(colour, oneLine(line));
    })
    .join('\n');
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
