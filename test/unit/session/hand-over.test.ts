import { beforeEach, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { sessionOf } from '../../../src/cluster/marks/marks.ts';
import { relayLabels, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { ourEndpoints, ourSlice } from '../../../src/cluster/takeover/endpoints.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { holdLease } from '../../../src/cluster/takeover/lease.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { swapSelector } from '../../../src/cluster/takeover/service.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { destinationOf } from '../../../src/session/end/hand-over.ts';
import { restore } from '../../../src/session/end/restore.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const HERE = { address: '192.0.2.7', ports: [{ name: '', port: 40001 }] };
const MANAGER = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
const NO_WAIT = { managerReadySeconds: 0 };
let cluster: FakeCluster;
let events: DevloopEvent[];
const work = () => ({
  api: cluster.api,
  sessionId: 's1',
  emit: (event: DevloopEvent) => void events.push(event),
  signal: new AbortController().signal,
});

/** A session has pointed two Services of one manager to this machine. */
beforeEach(async () => {
  events = [];
  let scaled: unknown;
  cluster = fakeCluster((_method, path, body) => {
    if (!path.endsWith('/scale')) return {};
    scaled = (body as Workload).spec.replicas;
    cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ spec }) => (spec.replicas = scaled as number));
  });
  // As Kubernetes does, which writes the Endpoints again.
  cluster.onChange = ({ ref, object }) => {
    const isRestored = ref.kind === 'Service' && sessionOf(object) === undefined;
    if (isRestored) cluster.drop('Endpoints', ref.name, 'shop');
  };
  for (const name of ['first', 'second']) await takeOver(name);
  const object = cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'shop' } },
      template: { spec: { containers: [] } },
    },
  });
  await deploymentPause.pause({ ref: MANAGER, object }).apply(work());
  const lease = await holdLease(MANAGER).apply(work(), {
    ...{ user: 'ann', host: 'desk', pid: 7, processStart: '', since: '', route: 'direct', health: '' },
    targets: [MANAGER],
  });
  await lease![Symbol.asyncDispose]();
});

async function takeOver(name: string, to?: Record<string, string>): Promise<void> {
  const service = cluster.put<Service>('Service', {
    metadata: { name, namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443, targetPort: 'webhook' }] },
  });
  await swapSelector(work(), service, to);
  cluster.put('EndpointSlice', ourSlice(service, 's1', HERE));
  cluster.put('Endpoints', ourEndpoints(service, 's1', HERE, undefined));
}

function putPod(name: string, podIP: string, ready: 'True' | 'False' = 'True'): void {
  const labels = { app: 'shop', 'pod-template-hash': 'abc' };
  cluster.put<Pod>('Pod', {
    metadata: {
      ...{ name, namespace: 'shop', labels },
      ownerReferences: [{ kind: 'ReplicaSet', name: 'manager-abc', uid: 'x' }],
    },
    spec: { containers: [{ name: 'manager', ports: [{ name: 'webhook', containerPort: 9443 }] }] },
    status: { podIP, conditions: [{ type: 'Ready', status: ready }] },
  });
}

function refusing(...what: string[]): void {
  cluster.hook = {
    before: (verb, object) => {
      if (verb === 'patch' && what.includes(object)) throw refusal(403, 'Forbidden', 'no');
    },
  };
}

const slice = (name: string) => cluster.read<EndpointSlice>('EndpointSlice', `${name}-devloop-s1`, 'shop');
const endpoints = (name: string) => cluster.read<Endpoints>('Endpoints', name, 'shop');
const addresses = (name: string): unknown => [
  slice(name)?.endpoints?.flatMap((one) => one.addresses),
  endpoints(name)?.subsets?.[0]?.addresses?.map(({ ip }) => ip),
];

it('a Service whose restore is refused is pointed to the ready Pods, and the rest is restored', async () => {
  putPod('a', '10.1.0.1');
  putPod('b', '10.1.0.2');
  putPod('c', '10.1.0.3', 'False');
  refusing('Service shop/first');
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({ code: 'cluster.forbidden' });
  const pods = ['10.1.0.1', '10.1.0.2'];
  expect(addresses('first')).toEqual([pods, pods]);
  expect([slice('first')?.ports?.[0]?.port, endpoints('first')?.subsets?.[0]?.ports?.[0]?.port]).toEqual([
    9443, 9443,
  ]);
  expect(addresses('second')).toEqual([undefined, undefined]);
  expect(cluster.read<Service>('Service', 'second', 'shop')?.spec.selector).toEqual({ app: 'shop' });
  expect(cluster.read<Workload>('Deployment', 'manager', 'shop')?.spec.replicas).toBe(2);
  expect(cluster.names('Lease')).toHaveLength(1);
  cluster.hook = {};
  await restore(work(), ['shop'], NO_WAIT);
  expect(addresses('first')).toEqual([undefined, undefined]);
  expect((await findMarked(cluster.api, [])).marked).toEqual([]);
});

it('without a ready Pod, its endpoints stay as they are', async () => {
  putPod('a', '10.1.0.1', 'False');
  refusing('Service shop/first');
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({ code: 'cluster.forbidden' });
  expect(addresses('first')).toEqual([[HERE.address], [HERE.address]]);
});

it('a Service whose undo is not valid is pointed to the Pods of the manager, in one pass', async () => {
  putPod('a', '10.1.0.1');
  cluster.edit<Service>('Service', 'first', 'shop', ({ metadata }) => {
    metadata.annotations = { [UNDO_ANNOTATION]: '{}' };
  });
  const { left } = await restore(work(), ['shop'], NO_WAIT);
  expect(left).toMatchObject([{ ref: { name: 'first' }, kept: [{ fault: expect.any(String) }] }]);
  expect(addresses('first')).toEqual([['10.1.0.1'], ['10.1.0.1']]);
  expect(cluster.names('Lease')).toHaveLength(1);
  // Once to find what there is, and once to verify that nothing else is left.
  expect(cluster.calls.filter((call) => call === 'list Service *')).toHaveLength(2);
});

it('a Service that selects the relay gets only a slice: Kubernetes itself writes its Endpoints', async () => {
  putPod('a', '10.1.0.1');
  cluster.drop('Service', 'first', 'shop');
  cluster.drop('EndpointSlice', 'first-devloop-s1', 'shop');
  cluster.drop('Endpoints', 'first', 'shop');
  await takeOver('first', relayLabels('s1'));
  cluster.drop('EndpointSlice', 'first-devloop-s1', 'shop');
  cluster.drop('Endpoints', 'first', 'shop');
  refusing('Service shop/first');
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({ code: 'cluster.forbidden' });
  expect(addresses('first')).toEqual([['10.1.0.1'], undefined]);
});

it('a manager whose restore is refused is resumed by its scale, and keeps its mark', async () => {
  refusing('Deployment shop/manager');
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({ code: 'cluster.forbidden' });
  const manager = cluster.read<Workload>('Deployment', 'manager', 'shop')!;
  expect([manager.spec.replicas, sessionOf(manager)]).toEqual([2, 's1']);
  expect(cluster.read<Service>('Service', 'second', 'shop')?.spec.selector).toEqual({ app: 'shop' });
});

it('Pods of another family or with other ports do not count, since a slice has one of each', () => {
  const service: Service = {
    metadata: { name: 'first' },
    spec: { ipFamilies: ['IPv6'], ports: [{ name: 'https', port: 443, targetPort: 'webhook' }] },
  };
  const pod = (port: number, ...ips: string[]): Pod => ({
    metadata: { name: 'x' },
    spec: { containers: [{ name: 'm', ports: [{ name: 'webhook', containerPort: port }] }] },
    status: { podIP: ips[0]!, podIPs: ips.map((ip) => ({ ip })) },
  });
  const pods = [
    pod(1, '10.0.0.1', 'fd00::1'),
    pod(2, '10.0.0.2', 'fd00::2'),
    pod(1, '10.0.0.3'),
    pod(1, 'fd00::4'),
  ];
  expect(destinationOf(service, pods)).toEqual({
    ...{ address: 'fd00::1', others: ['fd00::4'] },
    ports: [{ name: 'https', port: 1 }],
  });
  expect(destinationOf({ ...service, spec: {} }, pods)).toBeUndefined();
});
