/** An operator that a session took over, and reviews of what is written because of that. */
import type { ObjectRef } from '../../src/cluster/api/kinds.ts';
import type { KubeObject } from '../../src/cluster/api/objects.ts';
import { judgeConsequence } from '../../src/cluster/takeover/consequences.ts';
import type { AdmissionRequest } from '../../src/cluster/takeover/reviewed.ts';
import type { TakenObjects } from '../../src/cluster/takeover/taken.ts';
import { describe } from '../../src/report/object-name.ts';

const namespace = 'shop';
export const template = (image: string, labels: object = {}) => ({
  metadata: { labels: { app: 'foo', ...labels } },
  spec: { containers: [{ name: 'manager', image }] },
});
export const workload = (name: string, uid: string, image = 'foo:1'): KubeObject =>
  ({ metadata: { name, namespace, uid }, spec: { template: template(image) } }) as KubeObject;
export const owned = (kind: string, name: string, uid: string, more: object = {}) => ({
  metadata: { name: 'x', uid: 'of-x', ownerReferences: [{ kind, name, uid, controller: true }] },
  ...more,
});

export const replicaSet = (name: string, owner: string, image: string) => ({
  ...owned('Deployment', 'foo', owner),
  metadata: { ...owned('Deployment', 'foo', owner).metadata, name, uid: `of-${name}` },
  spec: { template: template(image, { 'pod-template-hash': name.slice(4) }) },
});
export const PAUSED = { 'devloop.dev/paused': 'true' };
export const paused = (image: string, nodeSelector: object = PAUSED) => ({
  ...template(image),
  spec: { ...template(image).spec, nodeSelector },
});
const GENERATION = 'deprecated.daemonset.template.generation';
/** As it is at some generation of its template, which the API server counts. */
export const agent = (generation: string, its: object = template('foo:1')) => ({
  metadata: { name: 'agent', namespace, uid: 'agent-uid', annotations: { [GENERATION]: generation } },
  spec: { template: its },
});
export const set = (updateRevision: string, image = 'foo:1') => ({
  ...workload('set', 'set-uid', image),
  status: { currentRevision: 'set-canary', updateRevision },
});
export const POD_OF_FOO = owned('ReplicaSet', 'foo-66d9f8', 'of-foo-66d9f8', { spec: { nodeName: 'n1' } });

const EXISTING = new Map<string, unknown>([
  ['ReplicaSet shop/foo-66d9f8', replicaSet('foo-66d9f8', 'foo-uid', 'foo:1')],
  // What anybody can create: a name and an owner that look right.
  ['ReplicaSet shop/foo-forged', replicaSet('foo-forged', 'foo-uid', 'evil:1')],
  ['ReplicaSet shop/foo-new', replicaSet('foo-new', 'foo-uid', 'foo:2')],
  ['ReplicaSet shop/foo-other', replicaSet('foo-other', 'other-uid', 'foo:1')],
  ['DaemonSet shop/agent', agent('3')],
  ['StatefulSet shop/set', set('set-1')],
  ['Pod shop/foo-66d9f8-x7k2p', POD_OF_FOO],
  ['Pod shop/other', owned('ReplicaSet', 'foo-other', 'of-foo-other', { spec: { nodeName: 'n1' } })],
]);
export const TAKEN: TakenObjects = {
  sessionId: 's1',
  objects: [
    { ref: { kind: 'Service', namespace, name: 'webhook' }, object: workload('webhook', 'webhook-uid') },
    {
      ref: { kind: 'Deployment', namespace, name: 'foo' },
      object: workload('foo', 'foo-uid'),
      now: workload('foo', 'foo-uid', 'foo:2'),
    },
    {
      ref: { kind: 'DaemonSet', namespace, name: 'agent' },
      object: agent('2', paused('foo:1')) as KubeObject,
    },
    { ref: { kind: 'StatefulSet', namespace, name: 'set' }, object: set('set-1') },
  ],
  read: async (ref: ObjectRef) => EXISTING.get(describe(ref)) as KubeObject | undefined,
};
/** What is read if these objects are in the cluster now. */
export const whereNow = (...now: [name: string, object: unknown][]): TakenObjects => ({
  ...TAKEN,
  read: async (ref) => (new Map(now).get(describe(ref)) ?? (await TAKEN.read(ref))) as KubeObject | undefined,
});

export const by = (controller: string) => ({ username: `system:serviceaccount:kube-system:${controller}` });
const REPLICA_SETS = by('replicaset-controller');
export const SCHEDULER = { username: 'system:kube-scheduler' };
export const KUBELET = { username: 'system:node:n1' };

export const review = (
  what: string,
  operation: string,
  more: Partial<AdmissionRequest>,
): AdmissionRequest => {
  const [group = '', resource = '', subResource] = what.split('/');
  return {
    resource: { group, resource },
    ...(subResource && { subResource }),
    operation,
    namespace,
    ...more,
  };
};
export const pod = (replica: string, more: Partial<AdmissionRequest> = {}): AdmissionRequest => {
  const object = owned('ReplicaSet', replica, `of-${replica}`);
  return review('/pods', 'CREATE', { name: 'x', userInfo: REPLICA_SETS, object, ...more });
};
export const labelled = (kind: string, name: string, labels: Record<string, string>): AdmissionRequest => {
  const { metadata } = owned(kind, name, `${name}-uid`);
  const userInfo = by(kind === 'DaemonSet' ? 'daemon-set-controller' : 'statefulset-controller');
  return review('/pods', 'CREATE', { name: 'x', userInfo, object: { metadata: { ...metadata, labels } } });
};
export const podOfAgent = (generation: string) =>
  labelled('DaemonSet', 'agent', {
    'pod-template-generation': generation,
    'controller-revision-hash': '66d9f8',
  });
export const podOfSet = (revision: string) =>
  labelled('StatefulSet', 'set', { 'controller-revision-hash': revision });
export const revision = (its: object, kind = 'DaemonSet', name = 'agent'): AdmissionRequest => {
  const data = { spec: { template: { ...its, $patch: 'replace' } } };
  const userInfo = by(kind === 'DaemonSet' ? 'daemon-set-controller' : 'statefulset-controller');
  const object = owned(kind, name, `${name}-uid`, { data });
  return review('apps/controllerrevisions', 'CREATE', { userInfo, object });
};
/** An update of a Pod or a ReplicaSet, which has the first spec and gets the second one. */
export const update = (what: string, one: object, before: object, after: object): AdmissionRequest =>
  review(what, 'UPDATE', { object: { ...one, spec: after }, oldObject: { ...one, spec: before } });
export const token = (name: string, uid: string, more: Partial<AdmissionRequest> = {}): AdmissionRequest => {
  const spec = { boundObjectRef: { kind: 'Pod', name, uid } };
  const object = { metadata: { name: 'default' }, spec };
  return review('/serviceaccounts/token', 'CREATE', { name: 'default', userInfo: KUBELET, object, ...more });
};
export const slice = { metadata: { name: 'webhook-x', labels: { 'kubernetes.io/service-name': 'webhook' } } };
export const relay = {
  metadata: { name: 'devloop-relay-s1-ab', labels: { 'devloop.dev/session': 's1' } },
  spec: { nodeName: 'n1' },
};

export const judge = (one: AdmissionRequest, trusted: string[] = [], taken = TAKEN) =>
  judgeConsequence(one, taken, (username) => trusted.includes(username));

export const CONTROLLERS = [
  ...['deployment', 'replicaset', 'statefulset', 'daemon-set', 'endpointslice', 'endpoint'],
].map((one) => by(`${one}-controller`));
