import { expect, test } from 'vitest';
import { type Ends, endDifferences, varyingIn } from '../../../../src/session/crashing/differences.ts';

const ends = (objects: Record<string, unknown[]>): Ends => new Map(Object.entries(objects));
const NOTHING = { objects: new Set<string>(), fields: new Map<string, Set<string>>() };
const WEB = 'Deployment shop/web';

test('what is missing, more or different is said, and nothing else', () => {
  const expected = ends({
    [WEB]: [{ spec: { replicas: 1 } }],
    'Secret shop/a': [{}],
    'Pod shop/p-*': [{ a: 1 }],
  });
  expect(endDifferences(expected, expected, NOTHING)).toEqual([]);
  const actual = ends({
    [WEB]: [{ spec: { replicas: 2 } }],
    'Pod shop/p-*': [{ a: 1 }, { a: 1 }],
    'Job shop/j': [{}],
  });
  expect(endDifferences(expected, actual, NOTHING)).toMatchObject([
    { object: WEB, what: 'changed', diff: expect.stringContaining('+  replicas: 2') },
    { object: 'Secret shop/a', what: 'missing', count: 0, expected: 1 },
    { object: 'Pod shop/p-*', what: 'more', count: 2, expected: 1 },
    { object: 'Job shop/j', what: 'more', count: 1, expected: 0 },
  ]);
});

test('what differs between two runs without a crash says nothing', () => {
  const end = (ip: string, more: object = {}) => ({
    status: { ip, phase: 'Running', ...more },
    list: [{ ip }],
  });
  const first = ends({ [WEB]: [end('10.0.0.1')], 'Job shop/j': [{}] });
  const second = ends({ [WEB]: [end('10.0.0.2', { late: true })] });
  const varying = varyingIn(first, second);
  expect(varying.objects).toEqual(new Set(['Job shop/j']));
  expect([...varying.fields.get(WEB)!].sort()).toEqual(['/list/0/ip', '/status/ip', '/status/late']);
  expect(endDifferences(second, ends({ [WEB]: [end('10.0.0.3')] }), varying)).toEqual([]);
  const failed = ends({ [WEB]: [{ ...end('10.0.0.3'), status: { ip: '10.0.0.3', phase: 'Failed' } }] });
  expect(endDifferences(second, failed, varying)).toMatchObject([{ object: WEB, what: 'changed' }]);
});

test('a list that grows differs as a whole', () => {
  const varying = varyingIn(ends({ a: [{ list: [1] }] }), ends({ a: [{ list: [1, 2] }] }));
  expect(varying.fields).toEqual(new Map([['a', new Set(['/list'])]]));
});

test('an annotation that only one run without a crash has may be there or not', () => {
  const some = ends({ [WEB]: [{ annotations: { 'pv.kubernetes.io/bound': 'yes', kept: 'yes' } }] });
  const none = ends({ [WEB]: [{ annotations: { kept: 'yes' } }] });
  const varying = varyingIn(some, none);
  expect(endDifferences(none, some, varying)).toEqual([]);
  expect(endDifferences(some, none, varying)).toEqual([]);
  expect(endDifferences(none, ends({ [WEB]: [{ annotations: {} }] }), varying)).toHaveLength(1);
});
