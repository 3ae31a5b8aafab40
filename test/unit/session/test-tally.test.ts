import { expect, test } from 'vitest';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { Tally } from '../../../src/session/test-tally.ts';
import { partly } from '../../support/partly.ts';

type Of<T extends DevloopEvent['type']> = Extract<DevloopEvent, { type: T }>;

const now = (): string => new Date().toISOString();
const review = (verdict: Of<'review'>['verdict'], name: string, at = now()): DevloopEvent =>
  partly<Of<'review'>>({
    type: 'review',
    verdict,
    at,
    operation: 'CREATE',
    object: { name },
    webhook: 'v',
    message: 'no image',
  });
const reconcile = (result: Of<'reconcile'>['result'], name: string, at = now()): DevloopEvent =>
  partly<Of<'reconcile'>>({ type: 'reconcile', result, at, controller: 'shop', name });

test('what the local code did before and after the command does not count, whenever it is reported', async () => {
  const tally = new Tally();
  tally.observe(review('allowed', 'before'));
  await new Promise((resolve) => setTimeout(resolve, 5));
  tally.begin();
  tally.observe(review('denied', 'earlier', new Date(0).toISOString()));
  tally.observe(review('allowed', 'web'));
  const late = reconcile('error', 'web');
  tally.end();
  await new Promise((resolve) => setTimeout(resolve, 5));
  tally.observe(late);
  tally.observe(reconcile('error', 'after'));
  expect(tally.counts).toEqual({
    reviews: { all: 1, denied: 0, failed: 0 },
    reconciles: { all: 1, failed: 1 },
  });
  expect(tally.bad).toEqual([late]);
});

test('each denial and failure is counted, but only one of each kind is kept, and at most ten', () => {
  const tally = new Tally();
  tally.begin();
  for (let times = 0; times < 3; times++) {
    tally.observe(review('denied', 'web'));
    tally.observe(review('unanswered', 'web'));
    tally.observe(reconcile('panic', 'web'));
    tally.observe(reconcile('requeue', 'web'));
  }
  expect(tally.counts).toEqual({
    reviews: { all: 6, denied: 3, failed: 3 },
    reconciles: { all: 6, failed: 3 },
  });
  expect(tally.bad).toHaveLength(2);
  for (let index = 0; index < 20; index++) tally.observe(review('denied', `web-${index}`));
  expect(tally.bad).toHaveLength(10);
});
