import { expect, test } from 'vitest';
import type { CallRecord, ReconcileRecord } from '../../../src/calls/record.ts';
import { timelineOf } from '../../../src/calls/timeline.ts';
import type { CauseEvent } from '../../../src/report/call.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import type { ReviewRecord } from '../../../src/reviews/record.ts';
import { partly } from '../../support/partly.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 10, 0, second)).toISOString();
const WEB = { kind: 'Deployment', namespace: 'shop', name: 'web' };
const MAIN = { kind: 'Shop', namespace: 'shop', name: 'main' };

function review(second: number, kind: string, name: string): ReviewRecord {
  const object = { namespace: 'shop', name };
  return partly<ReviewRecord>({
    id: `r-${second}`,
    at: at(second),
    resource: { group: '', version: 'v1', kind },
    object,
  });
}

function call(second: number, more: Partial<CallRecord>): CallRecord {
  const made = { verb: 'update', resource: 'deployments', code: 200, isWrite: true as const };
  return { v: 1, id: `c-${second}`, at: at(second), ...made, ...WEB, ms: 1, ...more };
}

function reconcile(second: number, more: Partial<ReconcileRecord>): ReconcileRecord {
  return {
    ...{ v: 1, id: `k-${second}`, reconcile: `of ${second}`, at: at(second), controller: 'shop', ...MAIN },
    ...{
      result: 'success',
      calls: [],
      counts: { writes: 0, reads: 0, failed: 0 },
      after: [],
      ms: 1,
      ...more,
    },
  };
}

const byAnn: CauseEvent = { at: at(4), ...WEB, what: 'changed', by: 'ann', changes: ['~spec.replicas=3'] };
const LOG = ['{"msg":"Created","Deployment":"shop/web"}', 'Created web-2, website'];
const RECORDED = [
  call(2, { verb: 'create', reconcile: 'of 1' }),
  // A read, and a read that failed.
  call(3, { verb: 'get', isWrite: undefined } as Partial<CallRecord>),
  {
    ...call(7, { code: 409, resource: 'deployments/status', reconcile: 'of 6' }),
    kind: undefined,
  } as CallRecord,
  call(8, { name: 'other', after: [{ ...byAnn, by: 'bob' }] }),
  call(8, { namespace: 'cart' }),
  call(8, { kind: 'Service', resource: 'services' }),
  reconcile(1, { log: LOG, calls: [call(2, { verb: 'create' })], ms: 1_500 }),
  // It has not written the object.
  reconcile(1, { name: 'second', log: LOG }),
  reconcile(5, { controller: 'cart', after: [byAnn] }),
  reconcile(6, { after: [byAnn, { ...byAnn, isOwn: true, at: at(5) }, { ...byAnn, ...MAIN }] }),
];
const REVIEWS = [review(3, 'Deployment', 'web'), review(3, 'Deployment', 'other'), review(3, 'Shop', 'web')];

function what(event: DevloopEvent): string {
  if (event.type === 'reviews.listed') return event.review.id;
  if (event.type === 'calls.listed') return event.call.id;
  if (event.type === 'reconciles.listed') return event.reconcile.id;
  if (event.type === 'timeline.logged') return event.line;
  return event.type === 'timeline.changed' ? `by ${event.change.by}` : event.type;
}

const of = (kind: string, name: string, namespace = 'shop'): string[] =>
  timelineOf({ kind, name, namespace }, { reviews: REVIEWS, recorded: RECORDED }).map(what);

test('what happened to an object is in one order, whoever did it, under its kind and its plural', () => {
  const life = ['c-2', '{"msg":"Created","Deployment":"shop/web"}', 'r-3', 'by bob', 'by ann', 'c-7'];
  expect(of('deployment', 'web')).toEqual(life);
  expect(of('Deployments', 'web')).toEqual(life);
  expect(of('deployment', 'web', 'cart')).toEqual(['c-8']);
  expect(of('pod', 'web')).toEqual([]);
});

test('an object that is reconciled has its reconciles with all that they logged, and not the calls in their lines', () => {
  const written = call(6, { kind: 'Shop', resource: 'shops', name: 'main', reconcile: 'of 6' });
  const events = timelineOf(
    { kind: 'shops', name: 'main' },
    { reviews: [], recorded: [...RECORDED, written] },
  );
  const [first, ...log] = events.map(what);
  expect(first).toBe('k-1');
  expect(log).toEqual([...LOG, 'by ann', 'k-5', 'k-6']);
});
