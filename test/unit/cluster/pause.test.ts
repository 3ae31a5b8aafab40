import { expect, it } from 'vitest';
import type { Kind } from '../../../src/cluster/api/kinds.ts';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { leaderIdentity, PAUSED, REPLICAS_LABEL, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { turnOf } from '../../../src/cluster/takeover/pause/hold-leader.ts';
import {
  holdLeaderLeases,
  isHeldBy,
  readElection,
} from '../../../src/cluster/takeover/pause/leader-lease.ts';
import { refusedByCondition } from '../../../src/cluster/takeover/pause/refusals.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { pauseFor } from '../../../src/cluster/takeover/pause/strategies.ts';
import { followPods, waitUntilReady } from '../../../src/cluster/takeover/pause/waits.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;

function pod(name: string, kind: string, owner: string, hash?: string): Pod {
  return {
    metadata: {
      name,
      namespace: 'shop',
      labels: { app: 'shop', ...(hash === undefined ? {} : { 'pod-template-hash': hash }) },
      ownerReferences: [{ kind, name: hash === undefined ? owner : `${owner}-${hash}`, uid: '1' }],
    },
    status: { phase: 'Running' },
  };
}

function paused(replicas: number) {
  const cluster: FakeCluster = fakeCluster((_, path, body) => {
    const isScale = path.endsWith('/deployments/manager/scale');
    const { replicas = 1 } = isScale ? (body as Workload).spec : {};
    if (isScale)
      cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ spec }) => {
        spec.replicas = replicas;
      });
    return {};
  });
  const deployment = cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas, selector: { matchLabels: { app: 'shop' } }, template: { spec: { containers: [] } } },
  });
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  const read = () => cluster.read<Workload>('Deployment', 'manager', 'shop')!;
  return { cluster, manager: { ref, object: deployment }, work, read };
}

it('says that the replicas stay 0 if the manager already has none', () => {
  const { manager } = paused(0);
  expect(pauseFor(manager)!.pause(manager).changes).toEqual([
    { action: 'update', object: ref, detail: 'replicas stay 0' },
  ]);
});

it('pauses a Deployment by its replicas, remembers them in a label alone, and restores them', async () => {
  const { manager, work, read } = paused(3);
  const step = pauseFor(manager)!.pause(manager);
  expect(step.changes).toEqual([{ action: 'update', object: ref, detail: 'replicas 3 -> 0' }]);
  await step.apply(work);
  expect(read().spec.replicas).toBe(0);
  // The Deployment controller would copy an annotation to the ReplicaSets.
  expect(read().metadata.annotations).toBeUndefined();
  expect(read().metadata.labels).toEqual({ [SESSION_LABEL]: 's1', [REPLICAS_LABEL]: '3' });
  expect(await deploymentPause.restore(work, ref)).toEqual([]);
  expect(read().spec.replicas).toBe(3);
  expect(read().metadata.labels).toBeUndefined();
});

it('leaves a Deployment unchanged whose label was edited, and keeps the mark', async () => {
  const { cluster, manager, work, read } = paused(3);
  await deploymentPause.pause(manager).apply(work);
  cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ metadata }) => {
    metadata.labels![REPLICAS_LABEL] = 'many';
  });
  expect(await deploymentPause.restore(work, ref)).toMatchObject([
    { fault: expect.stringContaining(REPLICAS_LABEL) },
  ]);
  expect(read()).toMatchObject({ spec: { replicas: 0 }, metadata: { labels: { [SESSION_LABEL]: 's1' } } });
});

it.each([
  ['as it was', 3],
  ['as somebody else has set it', 5],
])('a Deployment that is paused once more, %s meanwhile, comes back so: %s', async (_, replicas) => {
  const { cluster, manager, work, read } = paused(3);
  await deploymentPause.pause(manager).apply(work);
  cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ spec }) => {
    spec.replicas = replicas;
  });
  await deploymentPause.pauseAgain!(work, { ref, object: read() });
  expect(read().spec.replicas).toBe(0);
  await deploymentPause.restore(work, ref);
  expect(read().spec.replicas).toBe(replicas);
});

it('waits for the Pods of the Deployment alone, first until they are terminating, then until they have ended', async () => {
  const { cluster, manager, work } = paused(1);
  cluster.put('Pod', pod('manager-1', 'ReplicaSet', 'manager', '66d9'));
  cluster.put('Pod', pod('other-1', 'ReplicaSet', 'other', '5fb1'));
  // Another operator, with the same labels from an old scaffold.
  cluster.put('Pod', pod('manager-two-1', 'ReplicaSet', 'manager-two', '5fb1'));
  const { terminating, ended } = await deploymentPause.pause(manager).apply(work);
  cluster.edit<Pod>('Pod', 'manager-1', 'shop', ({ metadata }) => {
    metadata.deletionTimestamp = '2026-01-01T00:00:00Z';
  });
  await terminating;
  cluster.drop('Pod', 'manager-1', 'shop');
  expect(await ended).toBe(true);
});

it('goes on waiting for a manager while the API server does not answer, and ends at any other refusal', async () => {
  const { cluster, manager, work } = paused(1);
  const refuse = (status: number, reason: string, times: number): void => {
    cluster.hook.before = (verb, what) => {
      if (['get', 'list'].includes(verb) && !what.startsWith('Lease') && times-- > 0)
        throw refusal(status, reason);
    };
  };
  refuse(503, 'ServiceUnavailable', 4);
  const { terminating, ended } = followPods(work, manager);
  await terminating;
  expect(await ended).toBe(true);
  refuse(429, 'TooManyRequests', 2);
  cluster.edit<Workload>('Deployment', 'manager', 'shop', (one) => {
    one.status = { readyReplicas: 1 };
  });
  expect(await waitUntilReady(work, ref, { limitSeconds: 10, refusedBy: refusedByCondition })).toEqual({
    ready: true,
  });
  refuse(403, 'Forbidden', 1);
  await expect(
    waitUntilReady(work, ref, { limitSeconds: 10, refusedBy: refusedByCondition }),
  ).rejects.toMatchObject({ status: 403 });
});

const workload = (replicas?: number): Workload => ({
  metadata: { name: 'manager', namespace: 'shop' },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { app: 'shop' } },
    template: { spec: { containers: [] } },
  },
});

function managerIn(kind: Kind, replicas?: number) {
  const cluster = fakeCluster();
  const object = cluster.put<Workload>(kind, workload(replicas));
  const manager = { ref: { ...ref, kind }, object };
  const work = { api: cluster.api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  return { cluster, manager, work, read: () => cluster.read<Workload>(kind, 'manager', 'shop')! };
}

it('starts the controller beside no Pod of a StatefulSet, which ends them one after the other', async () => {
  const { cluster, manager, work } = managerIn('StatefulSet', 2);
  cluster.put('Pod', pod('manager-0', 'StatefulSet', 'manager'));
  cluster.put('Pod', pod('manager-two-0', 'StatefulSet', 'manager-two'));
  const { idle } = await pauseFor(manager)!.pause(manager).apply(work);
  const order: string[] = [];
  const idled = idle.then(() => order.push('idle'));
  const looks = () => cluster.calls.filter((call) => call.startsWith('list Pod')).length;
  await eventually(async () => expect(looks()).toBeGreaterThan(4));
  order.push('ended');
  cluster.drop('Pod', 'manager-0', 'shop');
  await idled;
  expect(order).toEqual(['ended', 'idle']);
});

it('pauses a DaemonSet by one key of its node selector, and removes that revision from its history', async () => {
  const { cluster, manager, work, read } = managerIn('DaemonSet');
  const pause = pauseFor(manager)!;
  await pause.pause(manager).apply(work);
  const { template } = read().spec;
  expect(template.spec.nodeSelector).toEqual({ [PAUSED]: 'true' });
  // The DaemonSet controller would copy an annotation to the revision of the template.
  expect(read().metadata.annotations).toBeUndefined();
  const revision = (name: string, owner: string, nodeSelector: object) => ({
    metadata: { name, namespace: 'shop', ownerReferences: [{ kind: 'DaemonSet', name: owner, uid: '1' }] },
    data: { spec: { template: { spec: { nodeSelector } } } },
  });
  cluster.put('ControllerRevision', revision('manager-1', 'manager', {}));
  cluster.put('ControllerRevision', revision('manager-2', 'manager', { [PAUSED]: 'true' }));
  cluster.put('ControllerRevision', revision('other-1', 'other', { [PAUSED]: 'true' }));
  const seen: (Record<string, string> | undefined)[] = [];
  cluster.hook = { before: (verb) => void (verb === 'remove' && seen.push(read().metadata.labels)) };
  expect(await pause.restore(work, manager.ref)).toEqual([]);
  // A session that is still running sees that it is being restored, and the next restore sees what is left to do.
  expect(seen).toEqual([{ [SESSION_LABEL]: 's1', [PAUSED]: 'resuming' }]);
  expect(read().metadata.labels).toBeUndefined();
  expect(read().spec.template.spec.nodeSelector).toEqual({});
  expect(cluster.names('ControllerRevision')).toEqual(['manager-1', 'other-1']);
});

it('leaves the paused revision of a DaemonSet alone that another session has paused since', async () => {
  const { cluster, manager, work } = managerIn('DaemonSet');
  const pause = pauseFor(manager)!;
  await pause.pause(manager).apply({ ...work, sessionId: 's2' });
  cluster.put('ControllerRevision', {
    metadata: {
      ...{ name: 'manager-2', namespace: 'shop' },
      ownerReferences: [{ kind: 'DaemonSet', name: 'manager', uid: '1' }],
    },
    data: { spec: { template: { spec: { nodeSelector: { [PAUSED]: 'true' } } } } },
  } as never);
  expect(await pause.restore(work, manager.ref)).toEqual([]);
  expect(cluster.names('ControllerRevision')).toEqual(['manager-2']);
});

it.each([undefined, 'edited'])(
  'reports a DaemonSet whose mark is %s, and leaves it and its history alone',
  async (mark) => {
    const { cluster, manager, work } = managerIn('DaemonSet');
    const pause = pauseFor(manager)!;
    await pause.pause(manager).apply(work);
    cluster.edit('DaemonSet', 'manager', 'shop', ({ metadata }) => {
      if (mark === undefined) delete metadata.labels!['devloop.dev/paused'];
      else metadata.labels!['devloop.dev/paused'] = mark;
    });
    const before = cluster.read('DaemonSet', 'manager', 'shop');
    cluster.calls.length = 0;
    const kept = await pause.restore(work, manager.ref);
    expect(kept).toMatchObject([{ fault: expect.stringContaining('devloop.dev/paused') }]);
    expect(cluster.read('DaemonSet', 'manager', 'shop')).toEqual(before);
    expect(cluster.calls.filter((one) => !one.startsWith('get'))).toEqual([]);
  },
);

it('has nothing left to do for a DaemonSet that somebody deletes while it is being resumed', async () => {
  const { cluster, manager, work } = managerIn('DaemonSet');
  const pause = pauseFor(manager)!;
  await pause.pause(manager).apply(work);
  cluster.hook = {
    before: (verb) => (verb === 'patch' ? cluster.drop('DaemonSet', 'manager', 'shop') : undefined),
  };
  expect(await pause.restore(work, manager.ref)).toEqual([]);
});

const lease = (holderIdentity?: string): Lease => ({
  metadata: { name: 'election', namespace: 'shop' },
  spec: { leaseDurationSeconds: 15, ...(holderIdentity === undefined ? {} : { holderIdentity }) },
});

it.each([
  ['manager-1', 'manager-1_0a1b', true],
  ['manager-1', 'manager-1', true],
  ['manager-1', 'manager-10_0a1b', false],
  ['manager-1', 'manager-1-two_0a1b', false],
  ['manager-1', '', false],
])('Pod %s holds the Lease of %s: %s', (name, holder, expected) => {
  expect(isHeldBy(lease(holder), name)).toBe(expected);
});

it('holds the Lease of the leader, waits until its container has restarted, and sets the Lease free at the end', async () => {
  const { cluster, manager, work } = managerIn('StatefulSet', 1);
  cluster.put('Pod', pod('manager-0', 'StatefulSet', 'manager'));
  cluster.put('Lease', lease('manager-0_0a1b'));
  cluster.put('Lease', { ...lease('other-0_0a1b'), metadata: { name: 'other', namespace: 'shop' } });
  const { leases } = await readElection(cluster.api, manager);
  const step = holdLeaderLeases(manager, leases);
  expect(step.changes).toMatchObject([{ object: { kind: 'Lease', name: 'election' } }]);
  const { idle, resume } = await step.apply(work);
  const holder = (name: string) => cluster.read<Lease>('Lease', name, 'shop')!.spec.holderIdentity;
  expect([holder('election'), holder('other')]).toEqual([leaderIdentity('s1'), 'other-0_0a1b']);
  cluster.edit<Pod>('Pod', 'manager-0', 'shop', (one) => {
    one.status!.containerStatuses = [{ name: 'manager', restartCount: 1 }];
  });
  await idle;
  await resume!(work);
  expect(holder('election')).toBeUndefined();
});

it.each([
  ['its own Lease', 's1', 'a', undefined, 0, 'renew'],
  ['a free Lease', '', 'a', undefined, 0, 'renew'],
  ['one that somebody else has just taken', 'pod', 'a', undefined, 0, 'wait'],
  ['one whose time is not over', 'pod', 'a', 'a', 14_999, 'wait'],
  ['one that stood still', 'pod', 'a', 'a', 15_000, 'take'],
  ['one that was renewed', 'pod', 'b', 'a', 15_000, 'end'],
])('does with %s what leader election demands', (_, holderIdentity, renewTime, before, now, expected) => {
  const other = before === undefined ? undefined : { holder: 'pod', renewTime: before, since: 0 };
  expect(turnOf({ holderIdentity, renewTime }, 's1', other, { now, durationMs: 15_000 }).do).toBe(expected);
});
