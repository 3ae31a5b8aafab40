import { expect, test } from 'vitest';
import { isFight, noRounds, pauseMs, wroteFirst } from '../../../../src/session/guard/rounds.ts';

test('each write that did not last makes the next one wait longer, and after five of them devloop gives in', async () => {
  const rounds = noRounds();
  const pauses = [pauseMs(rounds)];
  for (let write = 0; write < 5; write++) {
    expect(isFight(rounds)).toBe(false);
    await wroteFirst(rounds, async () => {});
    pauses.push(pauseMs(rounds));
  }
  expect(pauses[0]).toBe(0);
  expect(pauses).toEqual([...pauses].sort((one, other) => one - other));
  expect(new Set(pauses).size).toBe(pauses.length);
  expect(isFight(rounds)).toBe(true);
});
