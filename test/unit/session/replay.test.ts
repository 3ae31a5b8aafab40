import { expect, it } from 'vitest';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { afterReplay, afterVerify, compareAll } from '../../../src/session/replay.ts';
import { freePort } from '../../support/free-port.ts';
import { reviewOf } from '../../support/session-facts.ts';

const record = (number: number, port: number): ReviewRecord => ({
  ...{ v: 1, ...reviewOf(number), port, request: { request: { uid: 'u' } } },
  ...{ response: { response: { allowed: true } } },
});

it('answers that changed end with a next step for the first of them', async () => {
  // Nothing answers there.
  const port = await freePort();
  const options = { paths: [], withSideEffects: false, signal: new AbortController().signal, emit() {} };
  const comparing = compareAll([record(1, port), record(2, port)], { ...options, hint: ({ id }) => id });
  await expect(comparing).rejects.toMatchObject({ code: 'review.changed', hint: 'r-000001' });
});

it('the next step after a replay is one that the tool offers there', () => {
  const changed = record(2, 9443);
  expect(afterReplay(changed, {})).toMatch(/: devloop reviews show r-000002$/);
  expect(afterReplay(changed, { session: '3f2a91c0' })).toMatch(/ show r-000002 --session 3f2a91c0$/);
  const [show, update] = afterReplay(changed, { set: 'web', session: 'x' }).split('\n');
  expect(show).toMatch(/ show r-000002 --set web$/);
  expect(update).toMatch(/end the session, .* verify web --update$/);
  expect(afterVerify(changed, 'web')).toMatch(/ show r-000002 --set web\n(?!.*end).* verify web --update$/);
});
