import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Backlog } from '../../src/backlog.ts';

const ARRIVING = 400;

/** How many items are worked on while they arrive every five milliseconds, if each takes a fifth of that. */
async function doneWhileArriving(mostWaitMs?: number): Promise<{ inTime: number; all: number }> {
  let all = 0;
  const backlog = new Backlog<number>({
    mostBytes: ARRIVING,
    ...(mostWaitMs !== undefined && { mostWaitMs }),
    sizeOf: () => 1,
    work() {
      for (const until = performance.now() + 1; performance.now() < until; );
      all += 1;
    },
    onSlice() {},
  });
  const begun = performance.now();
  for (let pushed = 0; pushed < ARRIVING; ) {
    await sleep(5);
    for (; pushed < ARRIVING && performance.now() - begun >= pushed * 5; pushed++) backlog.push(pushed);
  }
  const inTime = all;
  await backlog[Symbol.asyncDispose]();
  return { inTime, all };
}

test('work takes a twentieth of the time, or half if it would come late, and all of it is done', async () => {
  const patient = await doneWhileArriving();
  expect(patient.inTime).toBeLessThan(ARRIVING / 2);
  expect(patient.all).toBe(ARRIVING);
  const prompt = await doneWhileArriving(100);
  expect(prompt.inTime).toBeGreaterThan(ARRIVING / 2);
  expect(prompt.all).toBe(ARRIVING);
});
