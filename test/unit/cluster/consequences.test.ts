import { expect, it } from 'vitest';
import type { AdmissionRequest } from '../../../src/cluster/takeover/reviewed.ts';
import {
  by,
  CONTROLLERS,
  judge,
  KUBELET,
  labelled,
  owned,
  PAUSED,
  POD_OF_FOO,
  paused,
  pod,
  podOfAgent,
  podOfSet,
  relay,
  replicaSet,
  review,
  revision,
  SCHEDULER,
  slice,
  template,
  token,
  update,
} from '../../support/taken-operator.ts';

it.each<[string, AdmissionRequest]>([
  [
    'a ReplicaSet of the Deployment',
    {
      ...update(
        'apps/replicasets',
        owned('Deployment', 'foo', 'foo-uid'),
        { replicas: 0, template: template('foo:1') },
        { replicas: 1, template: template('foo:1') },
      ),
      userInfo: by('deployment-controller'),
    },
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
  ['a Pod of the DaemonSet, whose template is as before the pause', podOfAgent('3')],
  ['a Pod of the StatefulSet', podOfSet('set-1')],
  ['a Pod of the StatefulSet that belongs to the partition of its rollout', podOfSet('set-canary')],
  ['the revision of the paused template', revision(paused('foo:1'))],
  [
    "the revision of the DaemonSet's own template, as earlier versions of Kubernetes write it",
    revision({ ...template('foo:1'), metadata: { ...template('foo:1').metadata, creationTimestamp: null } }),
  ],
  ["the revision of the StatefulSet's template", revision(template('foo:1'), 'StatefulSet', 'set')],
  [
    'a change of the labels of a Pod of the StatefulSet',
    {
      ...update(
        '/pods',
        owned('StatefulSet', 'set', 'set-uid'),
        template('foo:1').spec,
        template('foo:1').spec,
      ),
      userInfo: by('statefulset-controller'),
    },
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

it.each<[string, AdmissionRequest]>([
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
  [
    'a new Pod of a StatefulSet of anybody, with the label and a name that look right',
    review('/pods', 'CREATE', {
      name: 'evil-devloop-s1-0',
      object: {
        metadata: { ...owned('StatefulSet', 'evil-devloop-s1', 'evil-uid').metadata, ...relay.metadata },
      },
    }),
  ],
  ['a Pod that the Deployment owns directly', labelled('Deployment', 'foo', {})],
  ['a Pod of an earlier template of the DaemonSet', podOfAgent('1')],
  ['a Pod of the DaemonSet that shows no generation', labelled('DaemonSet', 'agent', {})],
  ['a Pod of another revision of the StatefulSet', podOfSet('set-evil')],
  ['a Pod of the StatefulSet that shows no revision', labelled('StatefulSet', 'set', {})],
  ['a revision of another image', revision(template('evil:1'))],
  ['a revision with another node selector', revision(paused('foo:1', { ...PAUSED, disk: 'ssd' }))],
  ['a revision of nothing', revision({})],
  ['a revision of another image, of the StatefulSet', revision(template('evil:1'), 'StatefulSet', 'set')],
  [
    'another image of a Pod that exists',
    update('/pods', owned('StatefulSet', 'set', 'set-uid'), template('foo:1').spec, template('evil:1').spec),
  ],
  [
    'another image of a ReplicaSet that exists',
    update(
      'apps/replicasets',
      owned('Deployment', 'foo', 'foo-uid'),
      { template: template('foo:1') },
      { template: template('evil:1') },
    ),
  ],
  ['slices of another Service', review('discovery.k8s.io/endpointslices', 'CREATE', { object: relay })],
  ['a ServiceAccount', { ...token('foo-66d9f8-x7k2p', 'of-x'), subResource: '' }],
  ['a conversion', {}],
])('%s is none, whoever does it', async (_, one) => {
  for (const userInfo of [...CONTROLLERS, SCHEDULER, KUBELET, { username: 'system:kube-controller-manager' }])
    expect([userInfo, await judge({ ...one, userInfo }, ['ann'])]).toEqual([userInfo, 'other']);
  expect(await judge({ ...one, userInfo: { username: 'ann' } }, ['ann'])).toBe('other');
});

it.each<[string, AdmissionRequest]>([
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
