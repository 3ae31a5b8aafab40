import { expect, it } from 'vitest';
import type { PlannedWrite } from '../../../../src/report/planned-write.ts';
import { compare } from '../../../../src/session/planning/compare.ts';
import type { Planned } from '../../../../src/session/planning/planned.ts';

const span = { fromMs: Date.parse('2026-01-01T10:00:00Z'), toMs: Date.parse('2026-01-01T10:05:00Z') };

function write(name: string, object: object = {}, more: Partial<PlannedWrite> = {}): Planned {
  const { spec } = object as { spec?: object };
  const diff = Object.entries(spec ?? {}).map(([key, value]) => `+  ${key}: ${value}`);
  const metadata = { name, ...(object as { metadata?: object }).metadata };
  return {
    write: {
      ...{ action: 'change', verb: 'update', resource: 'deployments', group: 'apps', namespace: 'shop' },
      ...{ name, diff: ['@@ -1,2 +1,2 @@', ...diff].join('\n'), ...more },
    },
    object: { ...object, metadata },
  };
}

it('lists what only one of two plans has, and what both have differently', () => {
  const here = [write('web', { spec: { replicas: 3 } }), write('same', { spec: { a: 1 } }), write('new')];
  const there = [write('web', { spec: { replicas: 2 } }), write('same', { spec: { a: 1 } }), write('old')];
  const { differences, same } = compare(here, there, span);
  expect(same).toBe(1);
  expect(differences.map(({ by, write: { name } }) => [by, name])).toEqual([
    ['both', 'web'],
    ['checkout', 'new'],
    ['revision', 'old'],
  ]);
  expect(differences[0]?.diff).toContain('-  replicas: 2\n+  replicas: 3');
});

it('takes the time of the run, generated names and uids of new objects for the same', () => {
  const run = (at: string, suffix: string, uid: string): Planned[] => [
    write('status', { spec: { since: at } }),
    { ...write(`job-${suffix}`, { metadata: { generateName: 'job-' } }, { action: 'create' }), uid },
    write('child', { spec: { owner: uid } }),
  ];
  const here = run('2026-01-01T10:01:00Z', 'abcde', '00000000-0000-0000-0000-000000000001');
  const there = run('2026-01-01T10:02:03.5Z', 'vwxyz', '00000000-0000-0000-0000-000000000002');
  expect(compare(here, there, span)).toEqual({ differences: [], same: 3 });
  const earlier = run('2026-01-01T09:00:00Z', 'vwxyz', '00000000-0000-0000-0000-000000000002');
  expect(compare(here, earlier, span).differences).toHaveLength(1);
});

it('tells a deletion from a write, and several writes to one object by their order', () => {
  const deletion = write('web', {}, { action: 'delete', verb: 'delete' });
  const twice = [write('web', { spec: { a: 1 } }), write('web', { spec: { a: 2 } })];
  expect(compare([deletion], twice, span).differences.map(({ by }) => by)).toEqual([
    'checkout',
    'revision',
    'revision',
  ]);
  expect(compare(twice, twice, span)).toEqual({ differences: [], same: 2 });
});

it('shows both writes where one of them is refused', () => {
  const refused = { ...write('web', {}, { action: 'refused', message: 'no' }), object: undefined };
  const { differences } = compare([refused], [write('web')], span);
  expect(differences).toMatchObject([
    { by: 'both', write: { action: 'refused' }, instead: { action: 'change' } },
  ]);
  expect(differences[0]).not.toHaveProperty('diff');
});
