import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { whileAway } from '../../../src/cluster/api/while-away.ts';
import { refusal } from '../../support/fake-cluster.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Attempts that take this many seconds each and fail, and then one that succeeds. */
async function attempts(...seconds: number[]): Promise<'done' | 'given up'> {
  const left = [...seconds];
  const attempt = async (): Promise<'done'> => {
    const takes = left.shift();
    if (takes === undefined) return 'done';
    vi.advanceTimersByTime(takes * 1000);
    throw refusal(502, 'BadGateway');
  };
  return await whileAway(attempt, { limitMs: 60_000 }).catch(() => 'given up' as const);
}

it.each([
  ['a short outage is waited for', [1, 1], 'done'],
  ['one that lasts longer than the limit is not', [25, 25, 25, 25], 'given up'],
  ['one at the end of an attempt that took long is waited for', [1, 90, 1], 'done'],
  ['also where it was the first attempt', [90, 1], 'done'],
  ['and again after a short one', [90, 1, 90], 'done'],
  ['what fails at the end of each long attempt is no outage', [90, 90, 90], 'given up'],
])('%s', async (_, seconds, expected) => {
  expect(await attempts(...seconds)).toBe(expected);
});
