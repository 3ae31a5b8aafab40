import fc from 'fast-check';
import { expect, it } from 'vitest';
import { connectLimitMs, retryDelayMs } from '../../../src/route/ssh/reconnect.ts';

it('retries quickly at first, then more slowly', () => {
  expect([1, 2, 3, 4, 5, 9].map((attempt) => retryDelayMs(attempt, 0, 1))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
  expect(retryDelayMs(50, 60_000, 1)).toBe(4_000);
  expect(retryDelayMs(500, 3_600_000, 1)).toBe(10_000);
});

it('spreads the attempts of many sessions over a quarter of the delay', () => {
  expect(retryDelayMs(1, 0, 0)).toBe(75);
});

it('waits at most a few seconds for a host that returns within a minute', () => {
  fc.assert(
    fc.property(
      fc.nat(1000),
      fc.nat(60_000),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failed, lostForMs, random) => {
        const delay = retryDelayMs(failed + 1, lostForMs, random);
        expect(delay).toBeGreaterThanOrEqual(75);
        expect(delay).toBeLessThanOrEqual(4_000);
      },
    ),
  );
});

it('gives a connection more time after a longer outage', () => {
  expect([0, 15_000, 60_000, 600_000].map(connectLimitMs)).toEqual([1_200, 1_875, 7_500, 10_000]);
});

it('gives a connection a limit that timeouts take, however long the outage was', () => {
  const microseconds = fc.nat(100_000_000);
  fc.assert(
    fc.property(microseconds, (lostFor) => {
      expect(() => AbortSignal.timeout(connectLimitMs(lostFor / 1000))).not.toThrow();
    }),
  );
});
