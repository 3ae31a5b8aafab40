import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { PausableDeadline } from '../../../src/route/ssh/handshake.ts';

it('does not count the time of a question, nor of a question inside it', async () => {
  const expired = Promise.withResolvers<number>();
  const started = performance.now();
  using deadline = new PausableDeadline(100, () => expired.resolve(performance.now() - started));
  await deadline.pauseFor(async () => {
    await sleep(300);
    await deadline.pauseFor(async () => {});
  });
  // After the questions, as much time is left as before them.
  expect(await expired.promise).toBeGreaterThanOrEqual(395);
});

it('does not expire after it was disposed in the middle of a question', async () => {
  let expired = false;
  const answer = Promise.withResolvers<void>();
  const deadline = new PausableDeadline(0, () => (expired = true));
  const asking = deadline.pauseFor(() => answer.promise);
  deadline[Symbol.dispose]();
  answer.resolve();
  await asking;
  await sleep(20);
  expect(expired).toBe(false);
});
