import { expect, test } from 'vitest';
import { aggregated } from '../../../../src/session/embedded/aggregated.ts';
import type { Declared } from '../../../../src/session/embedded/declared.ts';

const role = (name: string, labels: object, more: object): Declared =>
  ({ kind: 'ClusterRole', metadata: { name, labels }, ...more }) as Declared;
const selecting = (matchLabels: object) => ({ aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } });

test('an aggregated ClusterRole has the rules of those that it selects, also through others, and each once', () => {
  const objects = [
    role('admin', { to: 'admin' }, { ...selecting({ to: 'admin' }), rules: [] }),
    role('core', { to: 'admin' }, { rules: ['pods'] }),
    role('more', { to: 'admin', part: 'a' }, selecting({ part: 'a' })),
    role('part', { part: 'a' }, { rules: ['jobs'] }),
    role('other', { part: 'b' }, { rules: ['secrets'] }),
    { kind: 'ConfigMap', metadata: { name: 'settings' } } as Declared,
  ];
  const rules = aggregated(objects).map((one) => one.rules);
  expect(rules).toEqual([['pods', 'jobs'], ['pods'], ['jobs'], ['jobs'], ['secrets'], undefined]);
});
