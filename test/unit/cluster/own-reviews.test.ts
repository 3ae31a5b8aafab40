import { expect, it } from 'vitest';
import { isOwnReview, type Review } from '../../../src/cluster/takeover/own-reviews.ts';

const namespace = 'shop';
const TAKEN = {
  sessionId: 's1',
  objects: [
    { kind: 'Service', namespace, name: 'webhook' } as const,
    { kind: 'Deployment', namespace, name: 'foo' } as const,
    { kind: 'DaemonSet', namespace, name: 'agent' } as const,
  ],
};
const CONTROLLER = { username: 'system:serviceaccount:kube-system:replicaset-controller' };
const ANN = { username: 'ann', groups: ['system:authenticated'] };

const owned = (kind: string, name: string, labels = {}) => ({
  metadata: { name: 'x', labels, ownerReferences: [{ kind, name, uid: '1' }] },
});
const marked = { metadata: { name: 'x', labels: { 'devloop.dev/session': 's1' } } };

const review = (what: string, operation: string, name: string, more: Partial<Review> = {}): Review => {
  const [group, resource] = what.split('/') as [string, string];
  return { resource: { group, resource }, operation, namespace, name, userInfo: ANN, ...more };
};
const revision = (owner: string, nodeSelector: object) => ({
  ...owned('DaemonSet', owner),
  data: { spec: { template: { spec: { nodeSelector } } } },
});
const PAUSED = { 'devloop.dev/paused': 'true' };
const pod = (owner: string, more: Partial<Review> = {}): Review =>
  review('/pods', 'CREATE', '', { userInfo: CONTROLLER, object: owned('ReplicaSet', owner), ...more });

const NODE = { username: 'system:node:n1', groups: ['system:nodes'] };
const token = (name: string, more: Partial<Review> = {}): Review =>
  review('/serviceaccounts', 'CREATE', 'default', {
    ...{ subResource: 'token', userInfo: NODE, ...more },
    object: { metadata: { name: '' }, spec: { boundObjectRef: { kind: 'Pod', name } } },
  });

it.each<[string, Review]>([
  ['the Deployment', review('apps/deployments', 'UPDATE', 'foo')],
  ['the Service', review('/services', 'UPDATE', 'webhook')],
  [
    'a ReplicaSet of the Deployment',
    review('apps/replicasets', 'UPDATE', 'foo-6d9', {
      userInfo: CONTROLLER,
      object: owned('Deployment', 'foo'),
    }),
  ],
  ['a Pod of the Deployment', pod('foo-66d9f8')],
  [
    'a Pod that controllers with the rights of administrators create',
    pod('foo-66d9f8', { userInfo: { username: 'admin', groups: ['system:masters'] } }),
  ],
  [
    'the binding of such a Pod',
    review('/pods', 'CREATE', 'foo-66d9f8-x7k2p', { userInfo: { username: 'system:kube-scheduler' } }),
  ],
  ['the token that a kubelet gets for such a Pod', token('foo-66d9f8-x7k2p')],
  [
    "the Service's slices",
    review('discovery.k8s.io/endpointslices', 'CREATE', 'webhook-x', {
      object: { metadata: { name: 'x', labels: { 'kubernetes.io/service-name': 'webhook' } } },
    }),
  ],
  [
    "the removal of the session's relay",
    review('/pods', 'DELETE', 'devloop-relay-s1-ab', { oldObject: marked }),
  ],
  [
    "the removal of the session's probe",
    review('/services', 'DELETE', 'devloop-probe-ipv4-s1', { oldObject: marked }),
  ],
  [
    'the removal of the paused revision of the DaemonSet',
    review('apps/controllerrevisions', 'DELETE', 'x', { oldObject: revision('agent', PAUSED) }),
  ],
  ['the Lease of the Deployment', review('coordination.k8s.io/leases', 'DELETE', 'devloop.deployment.foo')],
])('%s is reviewed by devloop itself', (_, one) => {
  expect(isOwnReview(one, TAKEN)).toBe(true);
});

it.each<[string, Review]>([
  ['another Deployment', review('apps/deployments', 'UPDATE', 'foo-bar')],
  ['the deletion of the Deployment', review('apps/deployments', 'DELETE', 'foo', { oldObject: marked })],
  ['the deletion of the Service', review('/services', 'DELETE', 'webhook', { oldObject: marked })],
  [
    'a Deployment of that name in another namespace',
    review('apps/deployments', 'UPDATE', 'foo', { namespace: 'other' }),
  ],
  [
    'the removal of another revision of the DaemonSet',
    review('apps/controllerrevisions', 'DELETE', 'x', { oldObject: revision('agent', {}) }),
  ],
  [
    'the removal of the paused revision of another DaemonSet',
    review('apps/controllerrevisions', 'DELETE', 'x', { oldObject: revision('agent-2', PAUSED) }),
  ],
  ['a Pod of another Deployment', pod('foo-bar-66d9f8')],
  ['a Pod that a person creates', pod('foo-66d9f8', { userInfo: ANN })],
  ['a Pod that a person gives the label', review('/pods', 'CREATE', 'x', { object: marked })],
  ['the token of a Pod of another Deployment', token('foo-bar-66d9f8-x7k2p')],
  ['a token for a person', token('foo-66d9f8-x7k2p', { userInfo: ANN })],
  ['a ServiceAccount', token('foo-66d9f8-x7k2p', { subResource: '' })],
  ['a Secret', review('/secrets', 'UPDATE', 'webhook')],
  ['a conversion', {}],
])('%s is not', (_, one) => {
  expect(isOwnReview(one, TAKEN)).toBe(false);
});
