import { counted } from '../phrases.ts';
import type { SessionPhase, SessionState } from './session-state.ts';
import { type Colour, oneLine, type Paint, safeText } from './text.ts';
import { cutToWidth, widthOf } from './width.ts';

/** A part of the line. If the line is too long, the parts of the highest rank are left out first. */
interface Part {
  text: string;
  rank: number;
  colour?: Colour;
}

export interface StatusOptions {
  /** What is being waited for at the moment. */
  waiting: string | undefined;
  columns: number;
  paint: Paint;
}

const COLOURS: Record<SessionPhase, Colour> = {
  serving: 'green',
  starting: 'yellow',
  building: 'yellow',
  restarting: 'yellow',
  held: 'yellow',
  stopped: 'yellow',
  ending: 'yellow',
  failed: 'red',
};
const GAP = '  ';
const LOG: Part = { text: 'l log', rank: 8 };
const KEYS: Part = { text: '? keys', rank: 2 };

/** One line that shows how the sessions of this process are doing, no wider than the columns. */
export function statusText(states: SessionState[], { waiting, columns, paint }: StatusOptions): string {
  const details = states.length === 1 ? partsOf(states[0]!) : partsOfSeveral(states);
  const log = states.some(({ hasController }) => hasController) ? [LOG] : [];
  const wait: Part[] = waiting === undefined ? [] : [{ text: waiting, rank: 3 }];
  const all = [...details.slice(0, 1), ...wait, ...details.slice(1), ...log, KEYS].map((part) => ({
    ...part,
    text: oneLine(safeText(part.text)).replaceAll('\t', ' '),
  }));
  return fitting(all, columns)
    .map(({ text, colour = 'dim' }) => paint(colour, text))
    .join(GAP);
}

function fitting(parts: Part[], columns: number): Part[] {
  const width = parts.reduce((sum, { text }) => sum + widthOf(text) + GAP.length, -GAP.length);
  if (width <= columns) return parts;
  if (parts.length === 1) return [{ ...parts[0]!, text: cutToWidth(parts[0]!.text, columns) }];
  const highest = Math.max(...parts.map(({ rank }) => rank));
  const least = parts.findLastIndex(({ rank }) => rank === highest);
  return fitting(parts.toSpliced(least, 1), columns);
}

function partsOf(state: SessionState): Part[] {
  const { phase, build, route, last, held, secondsLeft, reviewsPerMinute } = state;
  const waits = held === 0 ? '' : `, ${counted(held, 'review')} waiting`;
  const left = secondsLeft === undefined ? '' : `, ${secondsLeft} s left`;
  return [
    { text: `● ${phase}${waits}${left}`, rank: 0, colour: COLOURS[phase] },
    ...alertsOf(state),
    ...(build.id === undefined ? [] : [{ text: build.id, rank: 5 }]),
    ...(route?.isOpen ? [{ text: `${route.name} ${route.address}`, rank: 7 }] : []),
    ...(phase === 'starting' ? [] : [{ text: `${reviewsPerMinute}/min`, rank: 4 }]),
    ...(last ? [lastPart(last)] : []),
  ];
}

/** The parts about what is not as usual. */
function alertsOf({ phase, stoppedAt, build, isFollowing, ignoredFiles, route }: SessionState): Part[] {
  const alert = (text: string, colour: Colour): Part => ({ text, rank: 1, colour });
  return [
    ...(stoppedAt === undefined ? [] : [alert(`at ${stoppedAt}`, 'yellow')]),
    ...(build.is === 'broken' ? [alert('old build', 'red')] : []),
    ...(phase === 'held' ? [alert('h forwards them', 'yellow')] : []),
    ...(isFollowing ? [] : [alert(ignoredText(ignoredFiles), 'yellow')]),
    ...(route === undefined || route.isOpen ? [] : [alert(`${route.name} lost`, 'red')]),
  ];
}

function ignoredText(changed: number): string {
  return changed === 0 ? 'files ignored until p' : `${counted(changed, 'changed file')} ignored until p`;
}

function lastPart({ verdict, operation, resource }: NonNullable<SessionState['last']>): Part {
  const text = [verdict, operation, resource?.kind].filter(Boolean).join(' ');
  return { text, rank: 6 };
}

const ORDER: SessionPhase[] = [
  ...(['failed', 'held', 'stopped', 'restarting'] as const),
  ...(['building', 'starting', 'ending', 'serving'] as const),
];

/** Names the sessions in each phase, the best phase last; only counts them if all are in the same phase. */
function partsOfSeveral(states: SessionState[]): Part[] {
  const phases = ORDER.flatMap((phase, rank): Part[] => {
    const names = states.filter((state) => state.phase === phase).map(({ name }) => name);
    const which = names.length === states.length ? names.length : names.join(', ');
    return names.length === 0 ? [] : [{ text: `● ${which} ${phase}`, rank, colour: COLOURS[phase] }];
  });
  const alerts = states.flatMap((state) =>
    alertsOf(state).map((part): Part => ({ ...part, text: `${state.name}: ${part.text}` })),
  );
  const sum = (of: (state: SessionState) => number): number =>
    states.reduce((total, state) => total + of(state), 0);
  const held = sum((state) => state.held);
  return [
    ...phases,
    ...alerts,
    ...(held === 0
      ? []
      : [{ text: `${counted(held, 'review')} waiting`, rank: 1, colour: 'yellow' } as const]),
    { text: `${sum((state) => state.reviewsPerMinute)}/min`, rank: 4 },
  ];
}
