import { counted, firstOf, shellWord } from '../phrases.ts';
import type { DevloopEvent } from './events.ts';
import { type FaultSummary, missedFacts } from './fault.ts';
import { oneLine, type Paint, paintedRow, row } from './text.ts';

type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;
type ControlEvent = Of<(typeof TYPES)[number]>;

const TYPES = [
  'reviews.held',
  'reviews.released',
  'files.ignored',
  'files.followed',
  'faults.listed',
  'output.line',
  'environment',
] as const satisfies DevloopEvent['type'][];

export function isOfControl(event: DevloopEvent): event is ControlEvent {
  return (TYPES as readonly string[]).includes(event.type);
}

/** What somebody has made of a running session. */
export function renderControl(event: ControlEvent, paint: Paint): string {
  switch (event.type) {
    case 'reviews.held':
      return paintedRow(paint, 'yellow', 'held', HELD);
    case 'reviews.released':
      return row('released', waitedText(event.waiting));
    case 'files.ignored':
      return row('ignoring', 'changed files, until the key p follows them again');
    case 'files.followed':
      return row('following', followedText(event.files));
    case 'environment':
      return environmentText(event);
    case 'output.line':
      return event.line;
    case 'faults.listed':
      return event.faults.map((one) => faultLine(one, paint)).join('\n') || row('faults', 'none');
  }
}

/** Lines for a shell, which ignores the first ones. */
function environmentText({ session, context, variables }: Of<'environment'>): string {
  return [
    oneLine(
      `# session ${session} (context ${context}): straight to its API server, not through devloop's proxy`,
    ),
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`),
    '# Use it with: eval "$(devloop env)"',
  ].join('\n');
}

const HELD =
  'reviews wait, each within its timeout; the key h forwards them, or `devloop release` in another terminal';

function waitedText(count: number): string {
  return count === 0 ? 'no review was waiting' : `${counted(count, 'review')} that had waited`;
}

function followedText(files: string[]): string {
  if (files.length === 0) return 'changed files again; none has changed in between';
  return oneLine(`changed files again; changed in between: ${firstOf(files)}`);
}

function faultLine(fault: FaultSummary, paint: Paint): string {
  const { id, rule, seen, met, isOver } = fault;
  const facts = [
    seen === met ? `met ${counted(met, 'time')}` : `met ${met} of ${seen}`,
    ...(isOver ? ['over'] : []),
    ...missedFacts(fault),
  ];
  const text = `${oneLine(rule)}  ${paint('dim', `(${facts.join(', ')})`)}`;
  return paintedRow(paint, 'yellow', `fault ${id}`, text);
}
