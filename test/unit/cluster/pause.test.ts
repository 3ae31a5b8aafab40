import { expect, it } from 'vitest';
import type { Deployment, Pod } from '../../../src/cluster/api/objects.ts';
import { REPLICAS_LABEL, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { byReplicas } from '../../../src/cluster/takeover/pause/deployment.ts';
import { pauseFor } from '../../../src/cluster/takeover/pause/strategies.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;

function paused(replicas: number) {
  const cluster = fakeCluster();
  const deployment = cluster.put<Deployment>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas, selector: { matchLabels: { app: 'shop' } }, template: { spec: { containers: [] } } },
  });
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  const read = () => cluster.read<Deployment>('Deployment', 'manager', 'shop')!;
  return { cluster, deployment, work, read };
}

it('pauses a Deployment by its replicas, remembers them in a label alone, and restores them', async () => {
  const { deployment, work, read } = paused(3);
  const step = pauseFor({ kind: 'Deployment', object: deployment })!.pause(deployment);
  expect(step.changes).toEqual([{ action: 'update', object: ref, detail: 'replicas 3 -> 0' }]);
  await step.apply(work);
  expect(read().spec.replicas).toBe(0);
  // The Deployment controller would copy an annotation to the ReplicaSets.
  expect(read().metadata.annotations).toBeUndefined();
  expect(read().metadata.labels).toEqual({ [SESSION_LABEL]: 's1', [REPLICAS_LABEL]: '3' });
  expect(await byReplicas.restore(work, ref)).toEqual([]);
  expect(read().spec.replicas).toBe(3);
  expect(read().metadata.labels).toBeUndefined();
});

it('leaves a Deployment unchanged whose label was edited, and keeps the mark', async () => {
  const { cluster, deployment, work, read } = paused(3);
  await byReplicas.pause(deployment).apply(work);
  cluster.edit<Deployment>('Deployment', 'manager', 'shop', ({ metadata }) => {
    metadata.labels![REPLICAS_LABEL] = 'many';
  });
  expect(await byReplicas.restore(work, ref)).toMatchObject([
    { fault: expect.stringContaining(REPLICAS_LABEL) },
  ]);
  expect(read()).toMatchObject({ spec: { replicas: 0 }, metadata: { labels: { [SESSION_LABEL]: 's1' } } });
});

it('waits for the Pods of the Deployment alone, first until they are terminating, then until they have ended', async () => {
  const { cluster, deployment, work } = paused(1);
  const pod = (name: string, owner: string): Pod => ({
    metadata: {
      name,
      namespace: 'shop',
      labels: { app: 'shop' },
      ownerReferences: [{ kind: 'ReplicaSet', name: owner, uid: '1' }],
    },
    status: { phase: 'Running' },
  });
  cluster.put('Pod', pod('manager-1', 'manager-66d9'));
  cluster.put('Pod', pod('other-1', 'other-5fb1'));
  const { terminating, ended } = await byReplicas.pause(deployment).apply(work);
  cluster.edit<Pod>('Pod', 'manager-1', 'shop', ({ metadata }) => {
    metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
  });
  await terminating;
  cluster.drop('Pod', 'manager-1', 'shop');
  expect(await ended).toBe(true);
});
