import { expect, it } from 'vitest';
import { clockFinding } from '../../../../src/session/doctor/clock.ts';

const NOON = '2026-01-01T12:00:00Z';
const MINUTE_MS = 60_000;

/** The finding if the API server's clock shows noon, and this machine's clock `ms` later; the call takes `tookMs`. */
const at = (ms: number, tookMs = 10) =>
  clockFinding({ fromMs: Date.parse(NOON) + ms, toMs: Date.parse(NOON) + ms + tookMs, serverTime: NOON });

it.each([
  ['equal', 0],
  ['a little behind', -4 * MINUTE_MS],
  ['a little ahead', 4 * MINUTE_MS],
])('clocks that are %s are in order', (_, ms) => {
  expect(at(ms)).toMatchObject({ verdict: 'ok' });
  expect(at(ms)).not.toHaveProperty('hint');
});

it.each([
  [-6 * MINUTE_MS, / 6 minutes behind/],
  [24 * 60 * MINUTE_MS, / 24 hours ahead/],
])('a clock that is %i ms off causes a warning that says in which direction', (ms, answer) => {
  expect(at(ms)).toMatchObject({ verdict: 'warn', answer: expect.stringMatching(answer) });
  expect(at(ms).hint).toContain('timedatectl');
  expect(at(ms).proof).toContainEqual(expect.stringContaining(NOON.replace('Z', '.000Z')));
});

it('a call that takes long proves nothing about the clocks', () => {
  expect(at(-6 * MINUTE_MS, 2 * MINUTE_MS)).toMatchObject({ verdict: 'ok' });
  expect(at(5 * MINUTE_MS + 900)).toMatchObject({ verdict: 'ok' });
});

it.each([undefined, null, '', 'noon'])('an API server that says %j has not told its time', (serverTime) => {
  expect(clockFinding({ fromMs: 0, toMs: 1, serverTime })).toMatchObject({ verdict: 'unknown' });
});
