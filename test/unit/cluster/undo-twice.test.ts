import { expect, it } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import { applyChange, restoreChange } from '../../../src/cluster/marks/change.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

it('an object that another down puts back between the look and the patch is as it should be', async () => {
  const cluster = fakeCluster();
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  const ref = { kind: 'Service', namespace: 'shop', name: 'webhook' } as const;
  cluster.put<Service>('Service', {
    metadata: { name: 'webhook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  await applyChange(work, { ref, fields: [{ path: ['spec', 'selector'] }], detail: '' });
  cluster.hook.before = async (verb) => {
    if (verb !== 'patch') return;
    cluster.hook = {};
    await restoreChange(work, ref);
  };
  expect(await restoreChange(work, ref)).toEqual([]);
  expect(cluster.read<Service>('Service', 'webhook', 'shop')?.spec.selector).toEqual({ app: 'shop' });
});
