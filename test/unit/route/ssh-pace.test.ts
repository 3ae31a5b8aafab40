import fc from 'fast-check';
import { expect, it } from 'vitest';
import { connectLimitMs, pauseMs } from '../../../src/route/ssh/pace.ts';

it('tries often at first, and ever more seldom', () => {
  expect([1, 2, 3, 4, 5, 9].map((tries) => pauseMs(tries, 0, 1))).toEqual([100, 200, 400, 800, 1000, 1000]);
  expect(pauseMs(50, 60_000, 1)).toBe(4_000);
  expect(pauseMs(500, 3_600_000, 1)).toBe(10_000);
});

it('spreads the tries of many over a quarter', () => {
  expect(pauseMs(1, 0, 0)).toBe(75);
});

it('lets a host that is back within a minute wait for seconds only', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.nat(60_000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (tries, lost, random) => {
        const pause = pauseMs(tries + 1, lost, random);
        expect(pause).toBeGreaterThanOrEqual(75);
        expect(pause).toBeLessThanOrEqual(4_000);
      },
    ),
  );
});

it('gives a connection more time the longer the outage', () => {
  expect([0, 15_000, 60_000, 600_000].map(connectLimitMs)).toEqual([1_200, 1_875, 7_500, 10_000]);
});
