import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { reportWhileWaiting } from '../../../src/async.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('tells each second what is waited for, up to the limit, and nothing afterwards', async () => {
  const told: number[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = reportWhileWaiting(promise, { for: 'it', limitSeconds: 2 }, (event) => {
    if (event.type === 'waiting') told.push(event.seconds);
  });
  await vi.advanceTimersByTimeAsync(3_500);
  expect(told).toEqual([1, 2]);
  resolve('done');
  expect(await waiting).toBe('done');
  expect(vi.getTimerCount()).toBe(0);
});
