import { expect, it } from 'vitest';
import { describe, type ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { KubeObject } from '../../../src/cluster/api/objects.ts';
import { judgeConsequence, type Taken } from '../../../src/cluster/takeover/consequences.ts';
import type { Reviewed } from '../../../src/cluster/takeover/reviewed.ts';

const namespace = 'shop';
const template = (image: string, labels: object = {}) => ({
  metadata: { labels: { app: 'foo', ...labels } },
  spec: { containers: [{ name: 'manager', image }] },
});
const workload = (name: string, uid: string, image = 'foo:1'): KubeObject =>
  ({ metadata: { name, namespace, uid }, spec: { template: template(image) } }) as KubeObject;
const owned = (kind: string, name: string, uid: string, more: object = {}) => ({
  metadata: { name: 'x', uid: 'of-x', ownerReferences: [{ kind, name, uid, controller: true }] },
  ...more,
});

const replicaSet = (name: string, owner: string, image: string) => ({
  ...owned('Deployment', 'foo', owner),
  metadata: { ...owned('Deployment', 'foo', owner).metadata, name, uid: `of-${name}` },
  spec: { template: template(image, { 'pod-template-hash': name.slice(4) }) },
});
const POD_OF_FOO = owned('ReplicaSet', 'foo-66d9f8', 'of-foo-66d9f8', { spec: { nodeName: 'n1' } });

const EXISTING = new Map<string, unknown>([
  ['ReplicaSet shop/foo-66d9f8', replicaSet('foo-66d9f8', 'foo-uid', 'foo:1')],
  // What anybody can create: a name and an owner that look right.
  ['ReplicaSet shop/foo-forged', replicaSet('foo-forged', 'foo-uid', 'evil:1')],
  ['ReplicaSet shop/foo-new', replicaSet('foo-new', 'foo-uid', 'foo:2')],
  ['ReplicaSet shop/foo-other', replicaSet('foo-other', 'other-uid', 'foo:1')],
  ['Pod shop/foo-66d9f8-x7k2p', POD_OF_FOO],
  ['Pod shop/other', owned('ReplicaSet', 'foo-other', 'of-foo-other', { spec: { nodeName: 'n1' } })],
]);
const TAKEN: Taken = {
  sessionId: 's1',
  objects: [
    { ref: { kind: 'Service', namespace, name: 'webhook' }, object: workload('webhook', 'webhook-uid') },
    {
      ref: { kind: 'Deployment', namespace, name: 'foo' },
      object: workload('foo', 'foo-uid'),
      now: workload('foo', 'foo-uid', 'foo:2'),
    },
    { ref: { kind: 'DaemonSet', namespace, name: 'agent' }, object: workload('agent', 'agent-uid') },
  ],
  read: async (ref: ObjectRef) => EXISTING.get(describe(ref)) as KubeObject | undefined,
};

const by = (controller: string) => ({ username: `system:serviceaccount:kube-system:${controller}` });
const REPLICA_SETS = by('replicaset-controller');
const SCHEDULER = { username: 'system:kube-scheduler' };
const KUBELET = { username: 'system:node:n1' };

const review = (what: string, operation: string, more: Partial<Reviewed>): Reviewed => {
  const [group = '', resource = '', subResource] = what.split('/');
  return {
    resource: { group, resource },
    ...(subResource && { subResource }),
    operation,
    namespace,
    ...more,
  };
};
const pod = (replica: string, more: Partial<Reviewed> = {}): Reviewed => {
  const object = owned('ReplicaSet', replica, `of-${replica}`);
  return review('/pods', 'CREATE', { name: 'x', userInfo: REPLICA_SETS, object, ...more });
};
const token = (name: string, uid: string, more: Partial<Reviewed> = {}): Reviewed => {
  const spec = { boundObjectRef: { kind: 'Pod', name, uid } };
  const object = { metadata: { name: 'default' }, spec };
  return review('/serviceaccounts/token', 'CREATE', { name: 'default', userInfo: KUBELET, object, ...more });
};
const slice = { metadata: { name: 'webhook-x', labels: { 'kubernetes.io/service-name': 'webhook' } } };
const relay = {
  metadata: { name: 'devloop-relay-s1-ab', labels: { 'devloop.dev/session': 's1' } },
  spec: { nodeName: 'n1' },
};

const judge = (one: Reviewed, trusted: string[] = []) =>
  judgeConsequence(one, TAKEN, (username) => trusted.includes(username));

it.each<[string, Reviewed]>([
  [
    'a ReplicaSet of the Deployment',
    review('apps/replicasets', 'UPDATE', {
      userInfo: by('deployment-controller'),
      object: owned('Deployment', 'foo', 'foo-uid'),
    }),
  ],
  [
    'a new ReplicaSet of the Deployment',
    review('apps/replicasets', 'CREATE', {
      userInfo: by('deployment-controller'),
      object: replicaSet('foo-new', 'foo-uid', 'foo:2'),
    }),
  ],
  ['a Pod of the Deployment', pod('foo-66d9f8')],
  ['a Pod of its new version', pod('foo-new')],
  [
    'a Pod where one account is that of all controllers',
    pod('foo-66d9f8', { userInfo: { username: 'system:kube-controller-manager' } }),
  ],
  [
    'the deletion of a Pod of an earlier template',
    pod('foo-forged', { operation: 'DELETE', object: null, oldObject: pod('foo-forged').object! }),
  ],
  [
    'a Pod of the DaemonSet',
    review('/pods', 'CREATE', {
      userInfo: by('daemon-set-controller'),
      object: owned('DaemonSet', 'agent', 'agent-uid'),
    }),
  ],
  [
    'the binding of a Pod',
    review('/pods/binding', 'CREATE', { name: 'foo-66d9f8-x7k2p', userInfo: SCHEDULER }),
  ],
  ['the token that a kubelet gets for such a Pod', token('foo-66d9f8-x7k2p', 'of-x')],
  ['the end of a Pod', review('/pods', 'DELETE', { userInfo: KUBELET, oldObject: POD_OF_FOO })],
  [
    "the end of the session's relay",
    review('/pods', 'DELETE', { name: relay.metadata.name, userInfo: KUBELET, oldObject: relay }),
  ],
  [
    "the Service's slices",
    review('discovery.k8s.io/endpointslices', 'CREATE', {
      userInfo: by('endpointslice-controller'),
      object: slice,
    }),
  ],
  [
    "the Service's Endpoints",
    review('/endpoints', 'UPDATE', { name: 'webhook', userInfo: by('endpoint-controller') }),
  ],
])('%s is a consequence, but only if the control plane does it', async (_, one) => {
  expect(await judge(one)).toBe('consequence');
  const stranger = { ...one, userInfo: { username: 'ann' } };
  expect(await judge(stranger)).toBe('unknown');
  expect(await judge(stranger, ['ann'])).toBe('consequence');
});

const CONTROLLERS = ['deployment', 'replicaset', 'endpointslice', 'endpoint'].map((one) =>
  by(`${one}-controller`),
);

it.each<[string, Reviewed]>([
  ['another image of the Deployment', review('apps/deployments', 'UPDATE', { name: 'foo' })],
  ['the deletion of the Deployment', review('apps/deployments', 'DELETE', { name: 'foo' })],
  ['the deletion of the Service', review('/services', 'DELETE', { name: 'webhook' })],
  ['a change of the Service', review('/services', 'UPDATE', { name: 'webhook' })],
  ['the deletion of a Secret', review('/secrets', 'DELETE', { name: 'x', oldObject: relay })],
  [
    'a Lease',
    review('coordination.k8s.io/leases', 'UPDATE', { name: 'devloop.deployment.foo', oldObject: relay }),
  ],
  ['a Pod of a ReplicaSet that anybody created', pod('foo-forged')],
  [
    'a ReplicaSet of a template that somebody has just written',
    review('apps/replicasets', 'CREATE', { object: replicaSet('foo-x', 'foo-uid', 'evil:1') }),
  ],
  ['a Pod of another Deployment', pod('foo-other')],
  ['a Pod of a ReplicaSet that is gone', pod('foo-gone')],
  ['a Pod that only has the label', review('/pods', 'CREATE', { name: 'x', object: relay })],
  ['slices of another Service', review('discovery.k8s.io/endpointslices', 'CREATE', { object: relay })],
  ['a ServiceAccount', { ...token('foo-66d9f8-x7k2p', 'of-x'), subResource: '' }],
  ['a conversion', {}],
])('%s is none, whoever does it', async (_, one) => {
  for (const userInfo of [...CONTROLLERS, SCHEDULER, KUBELET, { username: 'system:kube-controller-manager' }])
    expect([userInfo, await judge({ ...one, userInfo }, ['ann'])]).toEqual([userInfo, 'other']);
  expect(await judge({ ...one, userInfo: { username: 'ann' } }, ['ann'])).toBe('other');
});

it.each<[string, Reviewed]>([
  [
    'a Pod of another node',
    review('/pods', 'DELETE', { userInfo: { username: 'system:node:n2' }, oldObject: POD_OF_FOO }),
  ],
  ['the token of another Pod', token('other', 'of-x')],
  ['the token of a Pod of that name that is gone', token('foo-66d9f8-x7k2p', 'earlier')],
])('a kubelet has nothing to do with %s', async (_, one) => {
  expect(await judge(one)).not.toBe('consequence');
});

it('each controller does only its own work', async () => {
  expect(await judge({ ...pod('foo-66d9f8'), userInfo: by('endpoint-controller') })).toBe('unknown');
  expect(await judge({ ...pod('foo-66d9f8'), userInfo: by('evil') })).toBe('unknown');
  expect(await judge({ ...pod('foo-66d9f8'), userInfo: {} })).toBe('unknown');
});
