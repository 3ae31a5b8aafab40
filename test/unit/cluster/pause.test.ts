import { expect, it } from 'vitest';
import type { Pod, Workload } from '../../../src/cluster/api/objects.ts';
import { REPLICAS_LABEL, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/deployment.ts';
import { pauseFor } from '../../../src/cluster/takeover/pause/strategies.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;

function pod(name: string, kind: string, owner: string, hash?: string): Pod {
  return {
    metadata: {
      name,
      namespace: 'shop',
      labels: { app: 'shop', ...(hash === undefined ? {} : { 'pod-template-hash': hash }) },
      ownerReferences: [{ kind, name: hash === undefined ? owner : `${owner}-${hash}`, uid: '1' }],
    },
    status: { phase: 'Running' },
  };
}

function paused(replicas: number) {
  const cluster = fakeCluster();
  const deployment = cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas, selector: { matchLabels: { app: 'shop' } }, template: { spec: { containers: [] } } },
  });
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  const read = () => cluster.read<Workload>('Deployment', 'manager', 'shop')!;
  return { cluster, manager: { ref, object: deployment }, work, read };
}

it('pauses a Deployment by its replicas, remembers them in a label alone, and restores them', async () => {
  const { manager, work, read } = paused(3);
  const step = pauseFor(manager)!.pause(manager);
  expect(step.changes).toEqual([{ action: 'update', object: ref, detail: 'replicas 3 -> 0' }]);
  await step.apply(work);
  expect(read().spec.replicas).toBe(0);
  // The Deployment controller would copy an annotation to the ReplicaSets.
  expect(read().metadata.annotations).toBeUndefined();
  expect(read().metadata.labels).toEqual({ [SESSION_LABEL]: 's1', [REPLICAS_LABEL]: '3' });
  expect(await deploymentPause.restore(work, ref)).toEqual([]);
  expect(read().spec.replicas).toBe(3);
  expect(read().metadata.labels).toBeUndefined();
});

it('leaves a Deployment unchanged whose label was edited, and keeps the mark', async () => {
  const { cluster, manager, work, read } = paused(3);
  await deploymentPause.pause(manager).apply(work);
  cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ metadata }) => {
    metadata.labels![REPLICAS_LABEL] = 'many';
  });
  expect(await deploymentPause.restore(work, ref)).toMatchObject([
    { fault: expect.stringContaining(REPLICAS_LABEL) },
  ]);
  expect(read()).toMatchObject({ spec: { replicas: 0 }, metadata: { labels: { [SESSION_LABEL]: 's1' } } });
});

it('waits for the Pods of the Deployment alone, first until they are terminating, then until they have ended', async () => {
  const { cluster, manager, work } = paused(1);
  cluster.put('Pod', pod('manager-1', 'ReplicaSet', 'manager', '66d9'));
  cluster.put('Pod', pod('other-1', 'ReplicaSet', 'other', '5fb1'));
  // Another operator, from an old scaffold with the same labels.
  cluster.put('Pod', pod('manager-two-1', 'ReplicaSet', 'manager-two', '5fb1'));
  const { terminating, ended } = await deploymentPause.pause(manager).apply(work);
  cluster.edit<Pod>('Pod', 'manager-1', 'shop', ({ metadata }) => {
    metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
  });
  await terminating;
  cluster.drop('Pod', 'manager-1', 'shop');
  expect(await ended).toBe(true);
});
