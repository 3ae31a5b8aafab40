import { describe, expect, it } from 'vitest';
import { objectOf, share, wordsOf } from '../../../src/page/client/words.ts';
import { groupsOf, isRequest } from '../../../src/page/groups.ts';
import { listed } from '../../../src/page/listed.ts';
import { parseQuery } from '../../../src/page/query.ts';
import { callOf, reconcileOf, reviewOf } from '../../support/session-facts.ts';

const web = { object: { namespace: 'default', name: 'web' } };
const denied = { verdict: 'denied', message: 'spec.image: Required value' } as const;
const both = [
  reviewOf(1, { ...web, webhook: 'mapplication', webhookType: 'mutating', patch: ['+spec.replicas=1'] }),
  reviewOf(2, { ...web, ...denied }),
];

describe('the words of a row', () => {
  it('are of a request those of the worst in it', () => {
    const [group] = groupsOf(both, []);
    expect(wordsOf(group!.head)).toMatchObject({
      ...{ name: 'CREATE Application default/web', status: 'denied', tone: 'bad', by: 'ann' },
      ...{ via: '2 reviews', said: ['spec.image: Required value'] },
    });
  });

  it('are of a call and a reconcile those of the terminal', () => {
    const conflict = callOf(1, {
      code: 409,
      message: 'Operation cannot be fulfilled on deployments.apps "web-1": modified',
    });
    expect(wordsOf(callOf(1))).toMatchObject({ name: 'update Deployment default/web-1', status: 'wrote' });
    expect(wordsOf(conflict)).toMatchObject({ status: '409 refused', tone: 'bad' });
    expect(wordsOf(conflict).said[0]).toBe('modified');
    expect(wordsOf(reconcileOf(1))).toMatchObject({
      status: 'reconciled',
      tone: 'muted',
      said: ['no write'],
    });
    const error = 'no such image';
    expect(wordsOf(reconcileOf(1, { result: 'error', error }))).toMatchObject({
      status: 'failed',
      tone: 'bad',
    });
  });

  it('name the object, if there is one', () => {
    expect(objectOf(both[0]!)).toEqual({ kind: 'Application', namespace: 'default', name: 'web' });
    expect(objectOf(reviewOf(1, { object: { name: 'web-*' } }))).toBeUndefined();
    expect(objectOf(callOf(1, { verb: 'list', name: undefined as never }))).toBeUndefined();
  });
});

it.each([
  [0, 0],
  [2, 0.12],
  [100, 0.5],
  [10_000, 1],
  [20_000, 1],
])('%i ms of 10 s takes %f of a bar', (ms, expected) => {
  expect(share(ms, 10_000)).toBeCloseTo(expected, 2);
});

describe('the words of a request', () => {
  const web2 = {
    name: 'web',
    after: [{ at: reviewOf(1).at, kind: 'Application', ...web.object, what: 'created' as const }],
  };
  const wrote = { verb: 'create', kind: 'Deployment', namespace: 'default', name: 'web', code: 201 };
  const boom = reconcileOf(1, { ...web2, at: '2026-11-22T10:15:03Z', result: 'error', error: 'boom' });
  const again = (number: number, more: object) =>
    reconcileOf(number, {
      name: 'web',
      at: `2026-11-22T10:15:0${number + 2}Z`,
      retryOf: { id: `k-00000${number - 1}`, result: 'error' },
      ...more,
    });
  const of = (...recorded: Parameters<typeof groupsOf>[1]) =>
    wordsOf(groupsOf([reviewOf(1, web)], recorded)[0]!.head);

  it('say that it was allowed, and that what followed failed', () => {
    expect(of(boom, again(2, { result: 'error', error: 'boom' }))).toMatchObject({
      ...{ status: 'reconcile failed', tone: 'bad' },
      said: ['application: failed 2 times, the last time with: boom'],
    });
  });

  it('are good as soon as a retry has succeeded', () => {
    const calls = [
      { id: 'c-1', ...wrote },
      { id: 'c-2', ...wrote, isUnchanged: true as const },
    ];
    expect(of(boom, again(2, { calls }))).toMatchObject({
      ...{ status: 'allowed', tone: 'good', ms: 8 },
      said: ['application: failed once, then created Deployment web'],
    });
  });

  it('leave out the name that it has already', () => {
    const message = 'Application.shop.example.com "web" is invalid: spec.image: Required value';
    const [group] = groupsOf([reviewOf(1, { ...web, ...denied, message })], []);
    expect(wordsOf(group!.head).said).toEqual(['spec.image: Required value']);
  });

  it('say of a reconcile that it is a retry, and of what a fault has failed that it was injected', () => {
    const calls = [{ id: 'c-1', ...wrote, code: 409, faults: ['409 update'] }];
    const words = wordsOf(again(2, { calls }));
    expect(words).toMatchObject({ isInjected: true });
    expect(words.said.at(-1)).toBe('after: the error of k-000001');
  });
});

describe('the list', () => {
  const read = callOf(3, { verb: 'list', resource: 'pods' });
  delete read.isWrite;
  const groups = groupsOf(both, [read]);
  const shown = (query: string, chosen?: boolean) => {
    const { rows, found, all } = listed(groups, parseQuery(query), () => chosen);
    return [rows.map((row) => row.shown.id).join(' '), found, all];
  };

  it('opens a group in which something below the head was found, unless somebody has closed it', () => {
    expect(isRequest(groups[0]!.head)).toBe(true);
    expect(shown('')).toEqual(['g-r-000001', 1, 1]);
    expect(shown('', true)).toEqual(['g-r-000001 r-000001 r-000002', 1, 1]);
    expect(shown('denied')).toEqual(['g-r-000001', 1, 1]);
    expect(shown('denied', true)).toEqual(['g-r-000001 r-000001 r-000002', 1, 1]);
    expect(shown('nothing')).toEqual(['', 0, 1]);
  });

  it('has reads only where they are asked for', () => {
    expect(shown('is:read')).toEqual(['c-000003', 1, 2]);
  });
});
