import { describe, expect, it } from 'vitest';
import { isQuiet } from '../../../src/page/entry.ts';
import { matches, parseQuery, wantsReads } from '../../../src/page/query.ts';
import { callOf, reconcileOf, reviewOf, waitingReview } from '../../support/session-facts.ts';

const denied = reviewOf(1, {
  verdict: 'denied',
  message: 'spec.image: Required value',
  warnings: ['spec.port is deprecated'],
  ms: { held: 0, controller: 700, total: 701, budget: 10_000 },
});

it.each([
  ['', true],
  ['kind:application', true],
  ['kind:App', false],
  ['verdict:denied', true],
  ['verdict:den', true],
  ['verdict:allowed', false],
  ['name:web', true],
  ['namespace:default', true],
  ['namespace:def', false],
  ['user:ann webhook:vapp', true],
  ['user:ann webhook:mapp', false],
  ['slow:701', true],
  ['slow:702ms', false],
  ['slow', false],
  ['required', true],
  ['create web-1', true],
  ['"spec.image: Required"', true],
  ['"image: spec"', false],
  ['deprecated', true],
  ['kind:', true],
  ['-kind:Application', false],
  ['-kind:Pod', true],
  ['-kind:Pod -required', false],
  ['-kind:', true],
  ['"-kind:Application"', false],
  ['status:denied', true],
  ['"constructor:x"', false],
  ['r-000001', true],
])('%j selects a denied review: %s', (text, expected) => {
  expect(matches(parseQuery(text), denied)).toBe(expected);
});

it.each([
  ['verdict:waiting', true],
  ['waiting', true],
  ['verdict:denied', false],
])('%j selects a review that waits: %s', (text, expected) => {
  expect(matches(parseQuery(text), waitingReview())).toBe(expected);
});

it.each([
  ['since:2h', true],
  ['since:10m', false],
  ['since:', true],
])('%j selects a review of an hour ago: %s', (text, expected) => {
  const at = new Date(Date.now() - 3_600_000).toISOString();
  expect(matches(parseQuery(text), { ...denied, at })).toBe(expected);
});

describe('a term that means nothing', () => {
  it.each(['verdict:perhaps', 'slow:soon', 'since:soon', 'since:10', 'constructor:x', 'knd:App', 'is:it'])(
    '%s is named, and selects everything',
    (text) => {
      const query = parseQuery(text);
      expect(query.faults).toEqual([{ term: text, why: expect.any(String) }]);
      expect(matches(query, denied)).toBe(true);
    },
  );
});

describe('one language for reviews, calls and reconciles', () => {
  const refused = callOf(1, {
    code: 409,
    message: 'the object has been modified',
    reconcile: 'aaaa-1',
    ms: 900,
  });
  const read = callOf(2, { verb: 'list', resource: 'pods', kind: 'PodList', changes: [] });
  delete read.isWrite;
  const failed = reconcileOf(3, { reconcile: 'aaaa-1', result: 'error', error: 'no such image', ms: 2_000 });
  const entries = { denied, refused, read, failed };

  it.each<[string, (keyof typeof entries)[]]>([
    ['', ['denied', 'refused', 'read', 'failed']],
    ['failed', ['denied', 'refused', 'failed']],
    ['writes', ['refused']],
    ['is:review', ['denied']],
    ['is:reconciles', ['failed']],
    ['is:call', ['refused', 'read']],
    ['is:read', ['read']],
    ['verb:update', ['refused']],
    ['kind:deployments', ['refused']],
    ['kind:application', ['denied', 'failed']],
    ['controller:appl', ['failed']],
    ['reconcile:aaaa', ['refused', 'failed']],
    ['user:ann', ['denied']],
    ['verdict:denied', ['denied']],
    ['slow', ['failed']],
    ['slow:800', ['refused', 'failed']],
    ['namespace:default name:web', ['denied', 'refused', 'read', 'failed']],
    ['modified', ['refused']],
    ['"no such image"', ['failed']],
    ['reconcile', ['failed']],
  ])('%j selects %j', (text, expected) => {
    const query = parseQuery(text);
    expect(query.faults).toEqual([]);
    const found = Object.entries(entries).filter(([, entry]) => matches(query, entry));
    expect(found.map(([name]) => name)).toEqual(expected);
  });

  it('has successful reads only where they are asked for', () => {
    expect(isQuiet(read)).toBe(true);
    for (const entry of [refused, denied, failed, { ...read, reconcile: 'a' }, { ...read, code: 403 }])
      expect(isQuiet(entry)).toBe(false);
    for (const text of ['is:read', 'is:call', 'verb:list']) expect(wantsReads(parseQuery(text))).toBe(true);
    for (const text of ['', 'list', 'failed']) expect(wantsReads(parseQuery(text))).toBe(false);
  });
});

it('finds what failed, of whatever kind, by the word in its row', () => {
  const failed = [
    reviewOf(1, { verdict: 'failed' }),
    reconcileOf(1, { result: 'error' }),
    reconcileOf(2),
    callOf(1, { code: 409 }),
  ];
  const found = (query: string) =>
    failed.filter((one) => matches(parseQuery(query), one)).map(({ id }) => id);
  expect(found('verdict:failed')).toEqual(['r-000001', 'k-000001']);
  expect(found('status:reconciled')).toEqual(['k-000002']);
  expect(found('status:refused')).toEqual(['c-000001']);
  expect(parseQuery('-knd:x').faults[0]!.term).toBe('-knd:x');
});
