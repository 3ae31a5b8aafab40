import { expect, test } from 'vitest';
import type { CallRecord } from '../../../../src/calls/record.ts';
import { Injector } from '../../../../src/faults/injector.ts';
import { parseRule } from '../../../../src/faults/parse.ts';
import { namesIn } from '../../../../src/session/crashing/names.ts';
import { crashPoints } from '../../../../src/session/crashing/points.ts';

let calls = 0;
const write = (verb: string, name: string, more: Partial<CallRecord> = {}): CallRecord => ({
  ...{ v: 1, id: `c-${++calls}`, at: '2026-01-01T00:00:00Z', ms: 1, isWrite: true, code: 200 },
  ...{ verb, group: 'apps', resource: 'deployments', kind: 'Deployment', namespace: 'shop', name },
  ...more,
});
const rulesOf = (records: CallRecord[], when: 'before' | 'after' = 'after') =>
  crashPoints(records, namesIn(records, records), when).map(({ rule }) => rule);
const WEB = 'deployments.apps namespace=shop name=web';

test('each write that has changed something is a point, and the same write again is another one', () => {
  const records = [
    write('create', 'web'),
    write('update', 'web'),
    write('update', 'web', { isUnchanged: true }),
    write('update', 'other'),
    write('update', 'web', { code: 409 }),
    write('update', 'web'),
    write('get', 'web', { isWrite: undefined } as never),
  ];
  expect(rulesOf(records)).toEqual([
    `crash create ${WEB} nth=1`,
    `crash update ${WEB} nth=1`,
    'crash update deployments.apps namespace=shop name=other nth=1',
    `crash update ${WEB} nth=3`,
  ]);
  expect(rulesOf(records, 'before').at(-1)).toBe(`crash-before update ${WEB} nth=4`);
});

test('a point is met at its write, when the same calls come again', () => {
  const records = [
    write('update', 'web'),
    write('update', 'web', { resource: 'deployments/status' }),
    write('update', 'web'),
    write('create', 'pod-x1', {
      ...{ group: '', resource: 'pods', kind: 'Pod' },
      objectAfter: { metadata: { generateName: 'pod-' } },
    }),
  ];
  const subject = ({ verb, group, resource = '', namespace, name }: CallRecord) => {
    const [plural, subresource] = resource.split('/');
    const named = verb === 'create' ? 'pod-' : name;
    return { verb, group, resource: plural, subresource, namespace, name: named } as never;
  };
  const points = rulesOf(records);
  expect(points[3]).toBe('crash create pods namespace=shop name=pod-* nth=1');
  const metAt = points.map((point) => {
    const faults = new Injector();
    faults.add([parseRule(point)]);
    return records.findIndex((record) => faults.meetAnswered(subject(record)) !== undefined);
  });
  expect(metAt).toEqual([0, 1, 2, 3]);
});

test('how often a status is written does not change which writes of its object are points', () => {
  const status = write('update', 'web', { resource: 'deployments/status' });
  const [first, second] = [write('update', 'web'), write('update', 'web')];
  const main = [`crash update ${WEB} nth=1`, `crash update ${WEB} nth=2`];
  expect(rulesOf([status, first, status, status, second])).toEqual(expect.arrayContaining(main));
  expect(rulesOf([first, status, second])).toEqual(expect.arrayContaining(main));
});

test('names that only one of two runs has, and that begin alike, are generated', () => {
  const first = [write('create', 'web'), write('create', 'web-7f9c'), write('create', 'cache-a1')];
  const second = [write('create', 'web'), write('create', 'web-55d1'), write('create', 'once')];
  const names = namesIn(first, second);
  expect(second.map((record) => names.of(record))).toEqual(['web', 'web-*', 'once']);
  expect(names.of(first[2]!)).toBe('cache-a1');
  expect(names.of({ group: 'apps', resource: 'deployments', namespace: 'shop', name: 'web-0000' })).toBe(
    'web-*',
  );
});

test('a name with a uid in it, or made up in its middle, is generated, and one that both runs have is not', () => {
  const uids = ['0b1f8a52-97d0-4f0f-9d3a-2f6a51a3a7c1', '1c2f8a52-11d0-4f0f-8d3a-3f6a51a3a7c2'];
  const runs = ['x7', 'q2'].map((some, run) => [
    write('create', `data-${uids[run]}`),
    write('create', `web-${some}-config`),
    write('create', 'web-0'),
  ]);
  const names = namesIn(runs[0]!, runs[1]!);
  expect(runs[1]!.map((record) => names.of(record))).toEqual(['data-*', 'web-*-config', 'web-0']);
  expect(names.of(write('create', 'web-zz-config'))).toBe('web-*-config');
  expect(names.of(write('create', 'data-2d3f8a52-11d0-4f0f-8d3a-3f6a51a3a7c3'))).toBe('data-*');
  expect(names.of(write('create', 'web-1'))).toBe('web-1');
});

test('a name that no fault can have is left out, and ends nothing', () => {
  const cluster = {
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterroles',
    namespace: undefined,
  } as never;
  const records = [write('create', 'team a=b', cluster), write('create', 'system:web', cluster)];
  expect(rulesOf(records)).toEqual([
    'crash create clusterroles.rbac.authorization.k8s.io name=system:web nth=1',
  ]);
});
