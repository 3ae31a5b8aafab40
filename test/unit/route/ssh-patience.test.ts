import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Patience } from '../../../src/route/ssh/patience.ts';

it('does not count the time of a question, nor that of one within it twice', async () => {
  const expired = Promise.withResolvers<number>();
  const started = performance.now();
  using patience = new Patience(100, () => expired.resolve(performance.now() - started));
  await patience.pauseFor(async () => {
    await sleep(300);
    await patience.pauseFor(async () => {});
  });
  // What was left before the questions is left after them.
  expect(await expired.promise).toBeGreaterThanOrEqual(395);
});

it('is at an end when it is put away in the middle of a question', async () => {
  let expired = false;
  const answer = Promise.withResolvers<void>();
  const patience = new Patience(0, () => (expired = true));
  const asking = patience.pauseFor(() => answer.promise);
  patience[Symbol.dispose]();
  answer.resolve();
  await asking;
  await sleep(20);
  expect(expired).toBe(false);
});
