import { expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import { applyChange, undoChange } from '../../../src/cluster/marks/change.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

it('an object that another down puts back between the look and the patch is as it should be', async () => {
  const cluster = fakeCluster();
  const emit = (): void => {};
  const ref = { kind: 'Service', namespace: 'shop', name: 'webhook' } as const;
  cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  await applyChange(cluster.api, 's1', { ref, fields: [{ path: ['spec', 'selector'] }], detail: '' }, emit);
  cluster.hook.before = async (verb) => {
    if (verb !== 'patch') return;
    cluster.hook = {};
    await undoChange(cluster.api, ref, 's1', emit);
  };
  expect(await undoChange(cluster.api, ref, 's1', emit)).toEqual([]);
  expect(cluster.read<Service>('Service', 'webhook', 'shop')?.spec.selector).toEqual({ app: 'shop' });
});
