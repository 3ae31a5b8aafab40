import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { afterSleep, dateOf, startElapsed } from '../../../src/machine/elapsed.ts';

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('time that passes while the process cannot run counts', () => {
  const elapsed = startElapsed();
  block(60);
  expect(elapsed()).toBeGreaterThanOrEqual(60);
});

test('a process that could not run for a while hears of it once', async () => {
  let woken = 0;
  using _ = afterSleep(() => (woken += 1), { everyMs: 20, asleepMs: 2_000 });
  await sleep(100);
  expect(woken).toBe(0);
  block(2_300);
  await sleep(100);
  expect(woken).toBe(1);
});

test('a date is right after this machine was asleep, and puts in order what happens within a millisecond', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const first = dateOf();
  expect(dateOf()).toBeGreaterThan(first);
  // Node's own clock does not go on meanwhile.
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(Math.abs(dateOf() - Date.now())).toBeLessThan(1_000);
  expect(Math.abs(dateOf(performance.now() - 5_000) - (Date.now() - 5_000))).toBeLessThan(1_000);
});
