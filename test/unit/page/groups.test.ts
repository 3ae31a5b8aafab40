import { describe, expect, it } from 'vitest';
import { type Group, groupsOf, isRequest } from '../../../src/page/groups.ts';
import type { CauseEvent, ReconcileSummary } from '../../../src/report/call.ts';
import { callOf, reconcileOf, reviewOf } from '../../support/session-facts.ts';

const at = (ms: number): string => new Date(1_800_000_000_000 + ms).toISOString();
const web = { kind: 'Application', namespace: 'default', name: 'web' };
const review = (number: number, ms: number, more: Parameters<typeof reviewOf>[1] = {}) =>
  reviewOf(number, { at: at(ms), uid: `u${number}`, object: { namespace: 'default', name: 'web' }, ...more });
const event = (ms: number, more: Partial<CauseEvent> = {}): CauseEvent => ({
  ...{ at: at(ms), ...web, what: 'created', by: 'kubectl-create' },
  ...more,
});
const reconcile = (number: number, ms: number, after: CauseEvent[] = []) =>
  reconcileOf(number, { at: at(ms), name: 'web', after });
const writing = (number: number, ms: number, after: CauseEvent[] = []) => ({
  ...reconcile(number, ms, after),
  counts: { writes: 1, reads: 0, failed: 0 },
});
const callIn = (number: number, ms: number, of: number, more: object = {}) =>
  callOf(number, { at: at(ms), reconcile: reconcileOf(of).reconcile, name: 'web', ...more });

/** `g-r-000001: 1 r-000001, 2 c-000001` */
const drawn = (groups: Group[]): string[] =>
  groups.map(({ head, below, again }) =>
    [
      `${head.id}${plus(again)}`,
      below.map(({ entry, depth, again: others }) => `${depth} ${entry.id}${plus(others)}`).join(', '),
    ]
      .filter(Boolean)
      .join(': '),
  );
const plus = (again: { id: string }[] = []): string => again.map(({ id }) => ` + ${id}`).join('');

describe('a request', () => {
  it('has its mutating and validating reviews, and the reconciles that followed with their calls and the reviews of these', () => {
    const reviews = [
      review(1, 0, { webhook: 'mapplication' }),
      review(2, 10, { webhook: 'vapplication' }),
      review(3, 60, { webhook: 'mdeployment', uid: 'own' }),
    ];
    const recorded = [
      callIn(1, 50, 1, { reviews: ['own'] }),
      writing(1, 40, [event(30)]),
      reconcile(2, 90, [event(80, { what: 'changed', isOwn: true, kind: 'Deployment' })]),
    ];
    expect(drawn(groupsOf(reviews, recorded))).toEqual([
      'g-r-000001: 1 r-000001, 1 r-000002, 1 k-000001, 2 c-000001, 3 r-000003, 1 k-000002',
    ]);
  });

  it.each([
    ['another object', { object: { namespace: 'default', name: 'other' } }],
    ['another account', { user: 'bob' }],
    ['another operation', { operation: 'UPDATE' }],
    ['a dry run', { dryRun: true }],
    ['the same webhook again', { webhook: 'vapplication.kb.io' }],
    ['one that comes seconds later', { at: at(5_000) }],
  ])('has no review of %s', (_, more) => {
    const groups = groupsOf([review(1, 0), review(2, 10, { webhook: 'other', ...more })], []);
    expect(groups.map(({ head }) => isRequest(head))).toEqual([false, false]);
  });

  it.each<[string, Parameters<typeof reviewOf>[1], Partial<CauseEvent>]>([
    ['was denied', { verdict: 'denied' }, {}],
    ['was a dry run', { dryRun: true }, {}],
    ['does something else', { operation: 'UPDATE' }, {}],
    ['is of another object', {}, { name: 'other' }],
    ['came later', { at: at(100) }, {}],
    ['came long before', { at: at(-20_000) }, {}],
  ])('is not followed by a reconcile if it %s', (_, ofReview, ofEvent) => {
    const cause = event(30, { kind: 'Deployment', ...ofEvent });
    const own = { resource: { group: 'apps', version: 'v1', kind: 'Deployment' }, ...ofReview };
    const groups = groupsOf([review(1, 0, own)], [reconcile(1, 40, [cause])]);
    expect(drawn(groups).toSorted()).toEqual(['k-000001', 'r-000001']);
  });

  it('is known by its event if no webhook was called, once for several controllers', () => {
    const cause = event(30);
    const groups = groupsOf([], [reconcile(1, 40, [cause]), reconcile(2, 41, [{ ...cause }])]);
    expect(drawn(groups)).toEqual(['g-k-000001: 1 k-000001, 1 k-000002']);
    expect(groups[0]!.head).toMatchObject({ at: at(30), change: { by: 'kubectl-create' } });
  });

  it('does not take up a loop that goes on', () => {
    const own = (ms: number) => event(ms, { what: 'changed', isOwn: true });
    const recorded = [0, 1, 2].flatMap((number) => {
      const begin = 20_000 * number;
      const after = number === 0 ? [event(0)] : [own(begin - 10)];
      return [
        callIn(number + 1, begin + 20, number + 1, { kind: 'Application' }),
        writing(number + 1, begin + 10, after),
      ];
    });
    expect(drawn(groupsOf([], recorded))).toEqual([
      'g-k-000001: 1 k-000001, 2 c-000001, 1 k-000002, 2 c-000002',
      'k-000003: 1 c-000003',
    ]);
  });
});

const failed = (number: number, ms: number, more: Partial<ReconcileSummary> = {}) =>
  reconcileOf(number, {
    ...{ at: at(ms), name: 'web', result: 'error', error: 'boom' },
    retryOf: { id: `k-00000${number - 1}`, result: 'error' },
    ...more,
  });

describe('retries', () => {
  const first = failed(1, 40, { after: [event(30)], retryOf: undefined as never });

  it('belong to the request of the reconcile that failed, also minutes later, and are one row while they say the same', () => {
    const recorded = [
      ...[first, failed(2, 50), failed(3, 70), failed(4, 300_000)],
      callIn(1, 600_010, 5, { kind: 'Application' }),
      reconcileOf(5, {
        ...failed(5, 600_000),
        result: 'success',
        counts: { writes: 1, reads: 0, failed: 0 },
      }),
      reconcile(6, 600_020, [event(600_015, { what: 'changed', isOwn: true })]),
    ];
    expect(drawn(groupsOf([review(1, 0)], recorded))).toEqual([
      'g-r-000001: 1 r-000001, 1 k-000001 + k-000002 + k-000003 + k-000004, 1 k-000005, 2 c-000001, 1 k-000006',
    ]);
  });

  it('after somebody has asked for something else belong to that', () => {
    const update = review(2, 1_000, { operation: 'UPDATE' });
    const event2 = event(1_010, { what: 'changed', changes: ['~spec.image=b'], by: 'kubectl' });
    const recorded = [first, failed(2, 1_020, { after: [event2] }), failed(3, 1_040)];
    expect(drawn(groupsOf([review(1, 0), update], recorded))).toEqual([
      'g-r-000001: 1 r-000001, 1 k-000001',
      'g-r-000002: 1 r-000002, 1 k-000002 + k-000003',
    ]);
  });
});

it('reconciles of one object that wrote nothing are one row, until one has another end, or another reason', () => {
  const status = (ms: number) =>
    event(ms, { kind: 'Deployment', what: 'changed', by: 'kubelet', changes: ['~status.x=1'] });
  const wanted = event(400, { kind: 'ConfigMap', what: 'changed', changes: ['~data.a=1'], by: 'ann' });
  const recorded = [
    ...[reconcile(1, 100, [status(90)]), reconcile(2, 200), reconcileOf(3, { at: at(300) })],
    ...[reconcile(4, 410, [wanted]), failed(5, 500), reconcile(6, 600), reconcile(7, 700)],
  ];
  expect(drawn(groupsOf([], recorded))).toEqual([
    'k-000001 + k-000002',
    'k-000003',
    'k-000004',
    'k-000005',
    'k-000006 + k-000007',
  ]);
});

it('a reconcile that followed another one by its write does not join an earlier request', () => {
  const status = event(1_000, { kind: 'Deployment', what: 'changed', by: 'kube-controller-manager' });
  const own = (ms: number) => event(ms, { what: 'changed', isOwn: true });
  const recorded = [
    callIn(1, 50, 1, { kind: 'Application' }),
    callIn(2, 1_020, 2, { kind: 'Application' }),
    writing(1, 40, [event(30)]),
    writing(2, 1_010, [status]),
    reconcile(3, 1_040, [own(1_030)]),
  ];
  expect(drawn(groupsOf([review(1, 0)], recorded))).toEqual([
    'g-r-000001: 1 r-000001, 1 k-000001, 2 c-000001',
    'k-000002: 1 c-000002',
    'k-000003',
  ]);
});

it('a reconcile after the changes of others, and calls outside of reconciles, are by themselves, in the order of time', () => {
  const status = event(30, { kind: 'Deployment', what: 'changed', by: 'kube-controller-manager' });
  const recorded = [callOf(1, { at: at(60) }), callIn(2, 10, 9), reconcile(1, 40, [status])];
  expect(drawn(groupsOf([review(1, 50)], recorded))).toEqual([
    'c-000002',
    'k-000001',
    'r-000001',
    'c-000001',
  ]);
});
