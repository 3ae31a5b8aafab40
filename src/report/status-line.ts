import { counted } from '../phrases.ts';
import type { SessionPhase, SessionState } from './session-state.ts';
import { type Colour, oneLine, type Paint, safeText } from './text.ts';
import { cutToWidth, widthOf } from './width.ts';

/** A part of the line. Where it is too long, those of the highest rank are left out first. */
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
const KEYS: Part = { text: '? keys', rank: 2 };

/** One line that says how the sessions of this process are doing, no wider than the columns. */
export function statusText(states: SessionState[], { waiting, columns, paint }: StatusOptions): string {
  const details = states.length === 1 ? partsOf(states[0]!) : partsOfSeveral(states);
  const wait: Part[] = waiting === undefined ? [] : [{ text: waiting, rank: 3 }];
  const all = [...details.slice(0, 1), ...wait, ...details.slice(1), KEYS].map((part) => ({
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
  const { phase, build, isFollowing, stoppedAt, route, last, held, reviewsPerMinute } = state;
  const waits = held === 0 ? '' : `, ${counted(held, 'review')} waiting`;
  return [
    { text: `● ${phase}${waits}`, rank: 0, colour: COLOURS[phase] },
    ...(stoppedAt === undefined ? [] : [{ text: `at ${stoppedAt}`, rank: 1, colour: 'yellow' } as const]),
    ...(build.is === 'broken' ? [{ text: 'old build', rank: 1, colour: 'red' } as const] : []),
    ...(isFollowing ? [] : [{ text: 'files ignored', rank: 1, colour: 'yellow' } as const]),
    ...(build.id === undefined ? [] : [{ text: build.id, rank: 5 }]),
    ...(route ? [routePart(route)] : []),
    ...(phase === 'starting' ? [] : [{ text: `${reviewsPerMinute}/min`, rank: 4 }]),
    ...(last ? [lastPart(last)] : []),
  ];
}

function routePart({ name, address, isOpen }: NonNullable<SessionState['route']>): Part {
  return isOpen ? { text: `${name} ${address}`, rank: 7 } : { text: `${name} lost`, rank: 1, colour: 'red' };
}

function lastPart({ verdict, operation, resource }: NonNullable<SessionState['last']>): Part {
  const text = [verdict, operation, resource?.kind].filter(Boolean).join(' ');
  return { text, rank: 6 };
}

const ORDER: SessionPhase[] = [
  ...(['failed', 'held', 'stopped', 'restarting'] as const),
  ...(['building', 'starting', 'ending', 'serving'] as const),
];

/** How many are in which phase, the best one last. */
function partsOfSeveral(states: SessionState[]): Part[] {
  const phases = ORDER.flatMap((phase, rank): Part[] => {
    const count = states.filter((state) => state.phase === phase).length;
    return count === 0 ? [] : [{ text: `● ${count} ${phase}`, rank, colour: COLOURS[phase] }];
  });
  const rate = states.reduce((sum, { reviewsPerMinute }) => sum + reviewsPerMinute, 0);
  return [...phases, { text: `${rate}/min`, rank: 4 }];
}
