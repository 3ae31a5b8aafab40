import { expect, test } from 'vitest';
import { causeOf, reviewsCausedBy } from '../../../src/calls/links.ts';
import type { CallRecord, ReconcileRecord } from '../../../src/calls/record.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { partly } from '../../support/partly.ts';

const call = partly<CallRecord>({ id: 'c-000007', verb: 'update', reconcile: 'a', reviews: ['u1', 'u2'] });
const reconcile = partly<ReconcileRecord>({
  ...{ id: 'k-000003', reconcile: 'a', controller: 'shop', kind: 'Shop', namespace: 'a', name: 'main' },
  calls: [call],
});
const review = (id: string, uid?: string): ReviewRecord => partly<ReviewRecord>({ id, uid: uid! });

test('a review names the call that caused it, and the reconcile that made the call', () => {
  const cause = { call: 'c-000007', verb: 'update' };
  const of = { kind: 'Shop', namespace: 'a', name: 'main' };
  expect(causeOf(review('r-000001', 'u2'), [call, reconcile])).toEqual({
    ...cause,
    reconcile: 'k-000003',
    of,
  });
  // It may not have ended yet.
  expect(causeOf(review('r-000001', 'u2'), [call])).toEqual(cause);
  expect(causeOf(review('r-000001', 'u3'), [call, reconcile])).toBe(undefined);
  // Recorded by an earlier version, and a call outside of a reconcile.
  const others = [partly<CallRecord>({ id: 'c-000001', verb: 'get' }), reconcile];
  expect(causeOf(review('r-000001'), others)).toBe(undefined);
});

test('a call and a reconcile name the reviews that they caused', () => {
  const reviews = [review('r-000001', 'u1'), review('r-000002'), review('r-000003', 'u2')];
  for (const record of [call, reconcile])
    expect(reviewsCausedBy(record, reviews).map(({ id }) => id)).toEqual(['r-000001', 'r-000003']);
});
