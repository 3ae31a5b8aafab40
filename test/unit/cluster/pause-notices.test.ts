import { expect, it } from 'vitest';
import type { Autoscaler, DisruptionBudget, Metadata } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { noticesOf } from '../../../src/cluster/takeover/pause/notices.ts';

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
])('%s has a say in the number of Pods', (_, found, autoscalers, budgets, expected) => {
  const notices = noticesOf(found, autoscalers, budgets);
  expect(notices.map(({ mayResume }) => mayResume)).toEqual(expected);
});

it.each([
  [
    'a parent',
    manager([{ kind: 'Shop', name: 'main', uid: '1', controller: true }]),
    [],
    /operator of Shop main/,
  ],
  ['an autoscaler that scales to 0', manager(), [autoscaler('manager', 0)], /minReplicas/],
])(
  'where %s may resume the manager, there is a way for one without a Lease',
  (_, found, autoscalers, way) => {
    const [notice] = noticesOf(found, autoscalers, []);
    expect(notice!.text).toMatch(way);
    expect(notice!.text).toContain('--pause lease');
  },
);
