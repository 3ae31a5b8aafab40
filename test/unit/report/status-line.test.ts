import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SessionState } from '../../../src/report/session-state.ts';
import { statusText } from '../../../src/report/status-line.ts';
import { cutToWidth, widthOf } from '../../../src/report/width.ts';
import { reviewOf, SERVING as serving } from '../../support/session-facts.ts';

const { object: _, ...last } = reviewOf(1, { operation: 'UPDATE', verdict: 'denied' });
const SERVING: SessionState = { ...serving, last };
const text = (states: SessionState[], columns = 200, waiting?: string): string =>
  statusText(states, { waiting, columns, paint: (_, plain) => plain });

it('says everything where there is room, and the most important where there is not', () => {
  const all =
    '● serving  3f2a91c 10:14:58 +dirty  direct 10.99.1.1:39939  12/min  denied UPDATE Application  l log  ? keys';
  expect(text([SERVING])).toBe(all);
  expect(text([SERVING], widthOf(all))).toBe(all);
  expect(text([SERVING], 79)).toBe(
    '● serving  3f2a91c 10:14:58 +dirty  12/min  denied UPDATE Application  ? keys',
  );
  expect(text([SERVING], 30)).toBe('● serving  12/min  ? keys');
  expect(text([SERVING], 5)).toBe('● ser');
});

it.each<[string, Partial<SessionState>, string]>([
  ['how many reviews wait', { phase: 'held', held: 2 }, '● held, 2 reviews waiting'],
  ['how long they can wait', { phase: 'stopped', secondsLeft: 18 }, '● stopped, 18 s left  '],
  ['that the old build answers', { build: { is: 'broken' } }, 'old build'],
  [
    'where the debugger has stopped it',
    { phase: 'stopped', stoppedAt: 'hook.go:42 in Default' },
    '● stopped  at hook.go:42 in Default',
  ],
  ['that files are ignored', { isFollowing: false }, 'files ignored until p'],
  ['how many of them wait', { isFollowing: false, ignoredFiles: 2 }, '2 changed files ignored until p'],
  ['which key ends a hold', { phase: 'held' }, 'h forwards them'],
  ['that the route is lost', { route: { name: 'ssh', address: 'a', isOpen: false } }, 'ssh lost'],
])('says %s', (_, change, expected) => {
  expect(text([{ ...SERVING, ...change }], 60)).toContain(expected);
});

it('says what is being waited for', () => {
  expect(text([{ ...SERVING, phase: 'building' }], 60, 'waiting for the build (7 s)')).toBe(
    '● building  waiting for the build (7 s)  12/min  ? keys',
  );
});

it('names those of several sessions that are not as the others', () => {
  const hook: SessionState = { ...SERVING, name: 'hook' };
  expect(text([SERVING, hook])).toBe('● 2 serving  24/min  l log  ? keys');
  expect(text([SERVING, { ...hook, phase: 'failed' }])).toBe(
    '● hook failed  ● shop-manager serving  24/min  l log  ? keys',
  );
  expect(text([SERVING, { ...hook, held: 2, build: { is: 'broken' } }])).toBe(
    '● 2 serving  hook: old build  2 reviews waiting  24/min  l log  ? keys',
  );
});

/** Characters that move the cursor, or that take more or less than one column. */
const SPECIAL = ['a', ' ', '\n', '\r', '\t', '\x1b', '[', '2', 'J', '\x9b', '\u202e', '\u0301', '日', '🚀'];

it('never breaks the line, and no text from outside reaches the terminal as a command', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...SPECIAL), maxLength: 40 }),
      fc.integer({ min: 1, max: 120 }),
      (outside, columns) => {
        const state = {
          ...SERVING,
          build: { is: 'current', id: outside },
          route: { name: outside, address: outside, isOpen: true },
        } as const;
        const line = text([state], columns, outside);
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
        expect(line).not.toMatch(/\p{Cc}/u);
      },
    ),
  );
});

it.each([
  ['abc', 3],
  ['\x1b[32mabc\x1b[39m', 3],
  ['日本', 4],
  ['가', 2],
  ['é', 1],
  ['🚀', 2],
  ['', 0],
])('%j is %i columns wide', (given, width) => {
  expect(widthOf(given)).toBe(width);
});

it('cuts before a character that would not fit', () => {
  expect(cutToWidth('a日本', 4)).toBe('a日');
  expect(cutToWidth('abc', 2)).toBe('ab');
});
