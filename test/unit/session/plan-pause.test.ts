import { expect, it } from 'vitest';
import type { Kind } from '../../../src/cluster/api/kinds.ts';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import type { TargetManager } from '../../../src/operator/target.ts';
import type { WebhookCall } from '../../../src/operator/webhooks.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { changesOf } from '../../../src/session/route/routing.ts';
import { planPause } from '../../../src/session/start/pause.ts';
import { eventually } from '../../support/eventually.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';

const metadata = { namespace: 'shop', name: 'manager' };

function manager(kind: Kind, replicas?: number, labels: Record<string, string> = {}): TargetManager {
  const object: Workload = {
    metadata: { ...metadata, labels },
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      selector: { matchLabels: { app: 'shop' } },
      template: { spec: { containers: [] } },
    },
  };
  return { ref: { kind, ...metadata }, object, container: { name: 'manager' }, source: '' };
}

function losingVolumes(): TargetManager {
  const found = manager('StatefulSet', 1);
  Object.assign(found.object.spec, {
    volumeClaimTemplates: [{ metadata: { name: 'data' } }],
    persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' },
  });
  return found;
}

const observer = (cluster = fakeCluster(), emit = (_: DevloopEvent): void => {}) => ({
  api: cluster.api,
  emit,
  signal: new AbortController().signal,
});

it.each([
  ['one by default', manager('Deployment'), 'replicas 1 -> 0'],
  ['its own', manager('StatefulSet', 3), 'replicas 3 -> 0'],
  [
    'those before a dead session',
    manager('Deployment', 0, { 'devloop.dev/replicas': '2' }),
    'replicas 2 -> 0',
  ],
])('pauses a manager with so many replicas: %s', async (_, found, detail) => {
  expect(changesOf(await planPause(observer(), { manager: found }, 'auto'))).toEqual([
    { action: 'update', object: found.ref, detail },
  ]);
});

it.each([
  ['what belongs to nothing', manager('Pod'), /belongs to no /],
  ['a StatefulSet that would lose its volumes', losingVolumes(), /volumes of StatefulSet/],
  ['what belongs to a Job', { ...manager('Pod'), owner: 'Job shop/migrate' }, /belongs to Job shop\/migrate/],
])('refuses %s, and names the other ways', async (_, found, message) => {
  await expect(planPause(observer(), { manager: found }, 'auto')).rejects.toMatchObject({
    code: 'pause.unsupported',
    message: expect.stringMatching(message),
    hint: expect.stringMatching(/--pause lease[\s\S]*--pause none/),
  });
});

it('refuses to pause what answers reviews through an API of the cluster, and leaves it running', async () => {
  const from = { kind: 'ValidatingWebhookConfiguration', name: 'orders' } as const;
  const call = {
    from,
    name: 'o',
    path: '/apis/a.example.com/v1/orders',
    port: 443,
    caBundle: '',
    groups: [],
  };
  const served = (calls: WebhookCall[]) => ({
    manager: manager('Deployment'),
    apis: [{ name: 'v1.a.example.com', service: 'shop', calls }],
  });
  await expect(planPause(observer(), served([call]), 'auto')).rejects.toMatchObject({
    code: 'pause.unsupported',
    message: expect.stringMatching(/ValidatingWebhookConfiguration orders .*APIService v1\.a\.example\.com/),
  });
  expect(await planPause(observer(), served([]), 'auto')).toHaveLength(1);
  expect(await planPause(observer(), served([call]), 'none')).toHaveLength(1);
});

it('pauses by the Lease of any Pod, and refuses where none holds one', async () => {
  const cluster = fakeCluster();
  const found = manager('Pod');
  cluster.put<Pod>('Pod', { metadata: { ...metadata, labels: { app: 'shop' } } });
  await expect(planPause(observer(cluster), { manager: found }, 'lease')).rejects.toMatchObject({
    code: 'pause.unsupported',
  });
  cluster.put<Lease>('Lease', {
    metadata: { namespace: 'shop', name: 'election' },
    spec: { holderIdentity: 'manager_0a1b' },
  });
  expect(changesOf(await planPause(observer(cluster), { manager: found }, 'lease'))).toMatchObject([
    { object: { kind: 'Lease', namespace: 'shop', name: 'election' } },
  ]);
});

it('leaves open which Lease it is while a session has the manager, and waits for a leader after its restore', async () => {
  const cluster = fakeCluster();
  const found = manager('Deployment', 1);
  const pod = {
    name: 'manager-66d9-x1',
    namespace: 'shop',
    labels: { app: 'shop', 'pod-template-hash': '66d9' },
  };
  const ownerReferences = [{ kind: 'ReplicaSet', name: 'manager-66d9', uid: '1' }];
  cluster.put<Pod>('Pod', { metadata: { ...pod, ownerReferences } });
  const election = { namespace: 'shop', name: 'election' };
  cluster.put<Lease>('Lease', { metadata: election, spec: { holderIdentity: 'devloop-dead' } });
  cluster.put<Lease>('Lease', {
    metadata: { namespace: 'shop', name: 'devloop.deployment.manager' },
    spec: { holderIdentity: 'ann@laptop (pid 1)' },
  });
  const [open] = await planPause(observer(cluster), { manager: found }, 'lease');
  expect(open!.changes).toMatchObject([{ object: { kind: 'Lease', namespace: 'shop', name: '*' } }]);
  cluster.drop('Lease', 'devloop.deployment.manager', 'shop');
  const planning = planPause(observer(cluster), { manager: found }, 'lease', true);
  await eventually(async () =>
    expect(cluster.calls.filter((call) => call.startsWith('list Lease')).length).toBeGreaterThan(3),
  );
  cluster.edit<Lease>(
    'Lease',
    'election',
    'shop',
    ({ spec }) => (spec.holderIdentity = 'manager-66d9-x1_0a'),
  );
  expect(changesOf(await planning)).toMatchObject([{ object: { ...election, kind: 'Lease' } }]);
});

it('changes nothing where the manager is left running, or none was found', async () => {
  expect(changesOf(await planPause(observer(), { manager: manager('Deployment') }, 'none'))).toEqual([]);
  expect(await planPause(observer(), {}, 'auto')).toEqual([]);
});
