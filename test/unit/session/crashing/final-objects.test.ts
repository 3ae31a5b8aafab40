import { expect, test } from 'vitest';
import type { CallRecord } from '../../../../src/calls/record.ts';
import { ApiError } from '../../../../src/cluster/api/errors.ts';
import {
  createdIn,
  endsOf,
  existing,
  type Found,
  statusesIn,
  wordsFor,
} from '../../../../src/session/crashing/final-objects.ts';
import { namesIn } from '../../../../src/session/crashing/names.ts';

const found = (resource: string, name: string, more: object = {}): Found => {
  const { metadata, ...rest } = more as { metadata?: object };
  const value = { kind: resource, ...rest, metadata: { name, ...metadata } };
  return { object: { group: '', resource, namespace: 'shop', name }, path: `/${resource}/${name}`, value };
};
const write = (verb: string, resource: string, name: string, more: Partial<CallRecord> = {}): CallRecord => ({
  ...{ v: 1, id: 'c-1', at: '', ms: 1, isWrite: true, code: verb === 'create' ? 201 : 200 },
  ...{ verb, group: '', resource, namespace: 'shop', name, ...more },
});
const NAMES = namesIn([], []);

test('an object whose name the API server generates is called alike in a run that nobody has recorded before', () => {
  const job = found('Job', 'syncx7k2p', { metadata: { generateName: 'sync' } });
  expect(wordsFor(job, NAMES)).toBe('Job shop/sync*');
  const ends = endsOf([job], { names: NAMES, ignored: [], statuses: new Set() });
  expect(ends.get('Job shop/sync*')).toMatchObject([{ metadata: { name: 'sync*' } }]);
});

test('objects with generated names are told apart by their labels, whatever else each of them has', () => {
  const pods = (first: string, second: string): Found[] => [
    found('Pod', 'p-1', {
      spec: { id: first },
      metadata: { generateName: 'p-', labels: { role: 'leader' } },
    }),
    found('Pod', 'p-2', {
      spec: { id: second },
      metadata: { generateName: 'p-', labels: { role: 'other' } },
    }),
  ];
  const rolesOf = (all: Found[]): unknown[] =>
    (endsOf(all, { names: NAMES, ignored: [], statuses: new Set() }).get('Pod shop/p-*') ?? []).map(
      (one) => (one as Found['value']).metadata.labels,
    );
  expect(rolesOf(pods('b', 'a'))).toEqual(rolesOf(pods('a', 'b')));
});

test('what a run has created: by create or by a server-side apply, and of this kind', () => {
  const records = [
    write('create', 'configmaps', 'web'),
    write('apply', 'services', 'web', { code: 201 }),
    write('patch', 'shops', 'web'),
    write('create', 'pods/eviction', 'pod', { code: 201 }),
    write('create', 'secrets', 'web', { code: 409 }),
  ];
  const all = ['configmaps', 'services', 'shops', 'secrets'].map((resource) => found(resource, 'web'));
  const created = createdIn({ records, found: [...all, found('pods', 'pod')] });
  expect(created.map(({ path }) => path)).toEqual(['/configmaps/web', '/services/web']);
});

test('the status of a resource counts if the controller writes it, with or without the subresource', () => {
  const records = [
    write('patch', 'shops/status', 'web'),
    write('update', 'olds', 'web', { changes: ['~status.phase=Ready'] }),
    write('update', 'pods', 'web', { changes: ['~spec.statusPort=1'] }),
  ];
  expect(statusesIn(records)).toEqual(new Set([' shops', ' olds']));
});

test('what is gone, and what nobody can read, such as a binding, is not among the objects at the end', async () => {
  const codes: Record<string, number> = { '/pods/gone': 404, '/bindings/web': 405 };
  const call = async (_: string, path: string): Promise<unknown> => {
    const code = codes[path];
    if (code === undefined) return { metadata: { name: 'web' } };
    throw new ApiError('', code, '');
  };
  const touched = [found('pods', 'web'), found('pods', 'gone'), found('bindings', 'web')];
  const { signal } = new AbortController();
  const there = await existing({ call } as never, touched, signal);
  expect(there.map(({ path }) => path)).toEqual(['/pods/web']);
  codes['/pods/web'] = 403;
  await expect(existing({ call } as never, touched, signal)).rejects.toThrow(ApiError);
});
