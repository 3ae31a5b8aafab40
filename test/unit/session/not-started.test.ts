/** A session's objects are restored, but the in-cluster manager does not become ready. */
import { beforeEach, expect, it } from 'vitest';
import type { KubeEvent, Lease } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { HOLDER_ANNOTATION, leaseRef, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { statefulSetPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { restore } from '../../../src/session/end/restore.ts';
import { refuseUnfinished } from '../../../src/session/end/unfinished.ts';
import { reportUnready, unreadyManagers } from '../../../src/session/start/unready.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const ref = { kind: 'StatefulSet', namespace: 'shop', name: 'manager' } as const;
let cluster: FakeCluster;
let events: DevloopEvent[];
const work = () => ({
  ...{ api: cluster.api, sessionId: 's1' },
  emit: (event: DevloopEvent) => void events.push(event),
  signal: new AbortController().signal,
});

beforeEach(async () => {
  events = [];
  cluster = fakeCluster();
  const object = cluster.put<Workload>('StatefulSet', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 1, selector: {}, template: { spec: { containers: [] } } },
  });
  await statefulSetPause.pause({ ref, object }).apply(work());
});

function refuse(message: string): void {
  const metadata = { name: 'refused', namespace: 'shop' };
  cluster.put<KubeEvent>('Event', { metadata, reason: 'FailedCreate', message });
}

function putLease(unready: object[]): void {
  const holder = { user: 'ann', host: 'x', pid: 7, processStart: '', since: '', route: '', health: '' };
  const annotations = { [HOLDER_ANNOTATION]: JSON.stringify({ ...holder, targets: [ref], unready }) };
  const { name } = leaseRef(ref);
  const metadata = { name, namespace: 'shop', labels: { [SESSION_LABEL]: 's1' }, annotations };
  cluster.put<Lease>('Lease', { metadata, spec: {} });
}

const end = () => restore(work(), ['shop'], { managerReadySeconds: 0.5 });

it('is an error with the cause, and nothing is left to restore', async () => {
  putLease([]);
  refuse('pods "manager-0" is forbidden: exceeded quota');
  const { notStarted, left } = await end();
  expect(notStarted).toMatchObject([{ ref, cause: expect.stringContaining('exceeded quota') }]);
  expect(left).toEqual([]);
  expect((await findMarked(cluster.api, ['shop'])).marked).toEqual([]);
  const error = expect.objectContaining({
    ...{ code: 'manager.not-started', exitCode: 4 },
    message: expect.stringMatching(/StatefulSet shop\/manager .*exceeded quota/),
    hint: 'kubectl -n shop describe statefulset manager',
  });
  expect(() => refuseUnfinished([], notStarted)).toThrow(error);
});

it('is no error where its Lease, or the session, says that it was not ready before', async () => {
  refuse('exceeded quota');
  putLease([ref]);
  expect((await end()).notStarted).toEqual([]);
  const unready = [ref];
  const options = { managerReadySeconds: 0.5, taken: [ref], unready };
  expect((await restore(work(), ['shop'], options)).notStarted).toEqual([]);
});

it('is a warning where nothing shows that it cannot start', async () => {
  const { namespace } = ref;
  cluster.put('Pod', {
    metadata: {
      name: 'manager-0',
      namespace,
      ownerReferences: [{ kind: ref.kind, name: ref.name, uid: '1' }],
    },
  });
  expect((await end()).notStarted).toEqual([]);
  expect(events.filter(({ type }) => type === 'warning')).toHaveLength(1);
});

it('is waited for where a webhook does not answer, and an error where its Pods are refused for another reason then', async () => {
  refuse('failed calling webhook "pods.shop": connection refused');
  setTimeout(() => {
    cluster.edit<KubeEvent>('Event', 'refused', 'shop', (event) => {
      event.message = 'exceeded quota';
    });
  }, 600);
  const { notStarted } = await restore(work(), ['shop'], { managerReadySeconds: 30 });
  expect(events).toContainEqual(expect.objectContaining({ type: 'note' }));
  expect(notStarted).toMatchObject([{ cause: expect.stringContaining('exceeded quota') }]);
});

it.each([
  ['wants no Pod', 0, 0, true],
  ['has no ready Pod', 1, 0, true],
  ['has a ready Pod', 1, 1, false],
])('a manager that %s when a session finds it is noted: %s of %s', (_, replicas, readyReplicas, isNoted) => {
  const object: Workload = {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { readyReplicas },
  };
  const manager = { ref, object, container: { name: 'manager' }, source: '' };
  expect(unreadyManagers({ namespace: 'shop', services: [], manager })).toEqual(isNoted ? [ref] : []);
  const reconcilers = [{ ...manager, wrote: ref, writer: 'x' }];
  expect(unreadyManagers({ namespace: 'shop', services: [], reconcilers })).toEqual(isNoted ? [ref] : []);
});

it.each([
  ['had Pods', 1, false],
  ['had none', 0, true],
])(
  'a manager that a dead session has paused counts as what it was before: it %s',
  async (_, before, isNoted) => {
    const metadata = { name: 'paused', namespace: 'shop' };
    const spec = { replicas: before, selector: {}, template: { spec: { containers: [] } } };
    const seen = cluster.put<Workload>('StatefulSet', { metadata, spec });
    const taken = { ...ref, name: 'paused' };
    await statefulSetPause.pause({ ref: taken, object: seen }).apply(work());
    const object = cluster.read<Workload>('StatefulSet', 'paused', 'shop')!;
    expect(object.spec.replicas).toBe(0);
    const manager = { ref: taken, object, container: { name: 'manager' }, source: '' };
    expect(unreadyManagers({ namespace: 'shop', services: [], manager })).toEqual(isNoted ? [taken] : []);
  },
);

function putPod(waiting: string): void {
  cluster.put<Pod>('Pod', {
    metadata: {
      ...{ name: 'manager-0', namespace: 'shop' },
      ownerReferences: [{ kind: ref.kind, name: ref.name, uid: '1' }],
    },
    status: { containerStatuses: [{ name: 'manager', state: { waiting: { reason: waiting } } }] },
  });
}

it.each(['ImagePullBackOff', 'CrashLoopBackOff', 'CreateContainerConfigError'])(
  'a manager that was not ready before is not waited for while its Pod is in %s, and one line says so',
  async (reason) => {
    putLease([ref]);
    putPod(reason);
    const { notStarted } = await restore(work(), ['shop'], { managerReadySeconds: 3600 });
    expect(notStarted).toEqual([]);
    const cause = expect.stringMatching(new RegExp(`Pod shop/manager-0.*${reason}`));
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([
      { code: 'manager.unready-as-before', values: { manager: ref, cause } },
    ]);
  },
);

it('a manager that was ready before is waited for, whatever its Pod says, and its end is an error', async () => {
  putLease([]);
  putPod('ImagePullBackOff');
  const { notStarted } = await end();
  expect(notStarted).toMatchObject([{ ref, look: { kind: 'Pod', name: 'manager-0' } }]);
  expect(events.filter(({ type }) => type === 'warning')).toMatchObject([
    { code: 'manager.not-ready', hint: 'kubectl -n shop describe statefulset manager' },
  ]);
});

it('at the start, the cause is said, and what a dead session had found unready stays so', async () => {
  putPod('ImagePullBackOff');
  cluster.edit<Workload>('StatefulSet', 'manager', 'shop', ({ spec }) => (spec.replicas = 1));
  events = [];
  await reportUnready(work(), [ref]);
  const cause = expect.stringContaining('ImagePullBackOff');
  expect(events).toMatchObject([{ code: 'manager.unready-before', values: { cause } }]);
  const object = cluster.read<Workload>('StatefulSet', 'manager', 'shop')!;
  object.status = { readyReplicas: 1 };
  const target = {
    ...{ namespace: 'shop', services: [] },
    manager: {
      ref,
      object: { ...object, metadata: { name: 'manager' } },
      container: { name: 'm' },
      source: '',
    },
  };
  expect(unreadyManagers(target)).toEqual([]);
  expect(unreadyManagers(target, [ref])).toEqual([ref]);
});

it('a second down does not blame anybody for a manager that had no replicas before', async () => {
  putLease([ref]);
  cluster.put<Workload>('StatefulSet', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 0, selector: {}, template: { spec: { containers: [] } } },
  });
  expect((await end()).left).toEqual([]);
});
