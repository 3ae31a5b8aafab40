import { expect, it } from 'vitest';
import type { Autoscaler, DisruptionBudget, Metadata } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { pauseNotices } from '../../../src/cluster/takeover/pause/notices.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;

function manager(ownerReferences: Metadata['ownerReferences'] = []) {
  const object: Workload = {
    metadata: { namespace: 'shop', name: 'manager', ownerReferences },
    spec: { selector: {}, template: { metadata: { labels: { app: 'shop' } }, spec: { containers: [] } } },
  };
  return { ref, object };
}

const autoscaler = (name: string, minReplicas?: number): Autoscaler => ({
  metadata: { namespace: 'shop', name: `${name}-scaler` },
  spec: {
    scaleTargetRef: { kind: 'Deployment', name },
    ...(minReplicas === undefined ? {} : { minReplicas }),
  },
});

const budget = (name: string, matchLabels: Record<string, string>): DisruptionBudget => ({
  metadata: { namespace: 'shop', name },
  spec: { selector: { matchLabels } },
});

function clusterOf(autoscalers: Autoscaler[], budgets: DisruptionBudget[]) {
  const cluster = fakeCluster();
  for (const one of autoscalers) cluster.put('HorizontalPodAutoscaler', one);
  for (const one of budgets) cluster.put('PodDisruptionBudget', one);
  return cluster.api;
}

it.each([
  ['nobody else', manager(), [], [], []],
  ['OLM', manager([{ kind: 'ClusterServiceVersion', name: 'shop.v1', uid: '1' }]), [], [], [true]],
  ['a parent', manager([{ kind: 'Shop', name: 'main', uid: '1', controller: true }]), [], [], [true]],
  ['an owner that does not control it', manager([{ kind: 'Shop', name: 'main', uid: '1' }]), [], [], []],
  ['an autoscaler', manager(), [autoscaler('manager')], [], [false]],
  ['an autoscaler that scales to 0', manager(), [autoscaler('manager', 0)], [], [true]],
  ["another Deployment's autoscaler", manager(), [autoscaler('manager-two')], [], []],
  ['a disruption budget', manager(), [], [budget('pdb', { app: 'shop' })], [false]],
  ["another Deployment's budget", manager(), [], [budget('pdb', { app: 'other' })], []],
])('%s has a say in the number of Pods', async (_, found, autoscalers, budgets, expected) => {
  const notices = await pauseNotices(clusterOf(autoscalers, budgets), found);
  expect(notices.map(({ mayResume }) => mayResume)).toEqual(expected);
});

it.each([
  [
    'a parent',
    manager([{ kind: 'Shop', name: 'main', uid: '1', controller: true }]),
    [],
    { kind: 'Shop', name: 'main' },
  ],
  [
    'an autoscaler that scales to 0',
    manager(),
    [autoscaler('manager', 0)],
    { kind: 'HorizontalPodAutoscaler', name: 'manager-scaler' },
  ],
])('where %s may resume the manager, a note names it', async (_, found, autoscalers, by) => {
  const [notice] = await pauseNotices(clusterOf(autoscalers, []), found);
  expect(notice).toMatchObject({ note: { code: 'pause.may-be-undone', values: { by } } });
});
