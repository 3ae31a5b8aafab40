import { expect, it } from 'vitest';
import type { KubeEvent } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { whyNotStarted } from '../../../src/cluster/takeover/pause/why-not-started.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';

type Kind = 'Deployment' | 'StatefulSet' | 'DaemonSet';
type Status = NonNullable<Pod['status']>;
type Container = NonNullable<Status['containerStatuses']>[number];

/** A manager that is not ready, with one Pod in this state, or with none. */
function manager(kind: Kind, pod?: Status) {
  const cluster = fakeCluster();
  const metadata = { name: 'manager', namespace: 'shop' };
  cluster.put<Workload>(kind, {
    metadata,
    spec: { selector: { matchLabels: { app: 'shop' } }, template: { spec: { containers: [] } } },
    status: { desiredNumberScheduled: 1 },
  });
  const owner =
    kind === 'Deployment' ? { kind: 'ReplicaSet', name: 'manager-5f' } : { kind, name: 'manager' };
  if (pod)
    cluster.put<Pod>('Pod', {
      metadata: {
        name: 'manager-0',
        namespace: 'shop',
        labels: { app: 'shop', 'pod-template-hash': '5f' },
        ownerReferences: [{ ...owner, uid: '1' }],
      },
      status: pod,
    });
  const tell = (reason: string, message: string, second: number): void =>
    void cluster.put<KubeEvent>('Event', {
      metadata: { name: `${reason}.${second}`, namespace: 'shop' },
      ...{ reason, message, lastTimestamp: `2026-01-01T00:00:0${second}Z` },
    });
  const why = () => whyNotStarted(cluster.api, { kind, ...metadata });
  return { cluster, tell, why };
}

const container = (rest: Partial<Container>): Status => ({ containerStatuses: [{ name: 'main', ...rest }] });
const waiting = (reason: string, message?: string): Status =>
  container({ state: { waiting: { reason, ...(message !== undefined && { message }) } } });
const unscheduled = { type: 'PodScheduled', status: 'False', message: '0/1 nodes are available' };

it.each<[string, Status, RegExp]>([
  [
    'no image',
    waiting('ImagePullBackOff', 'Back-off pulling x'),
    /container main: ImagePullBackOff: Back-off/,
  ],
  [
    'a missing ConfigMap',
    waiting('CreateContainerConfigError'),
    /container main: CreateContainerConfigError$/,
  ],
  ['a crash loop', waiting('CrashLoopBackOff', 'back-off 40s'), /CrashLoopBackOff: back-off 40s/],
  [
    'a crash loop, seen between two crashes',
    container({ restartCount: 2, state: { running: {} }, lastState: { terminated: { exitCode: 3 } } }),
    /restarted 2 times; it exits with code 3/,
  ],
  [
    'an init container that fails',
    { initContainerStatuses: [{ name: 'init', state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
    /container init: CrashLoopBackOff/,
  ],
  ['no node', { conditions: [unscheduled] }, /not scheduled: 0\/1 nodes are available/],
])('a Pod shows why: %s', async (_, status, cause) => {
  const { why } = manager('Deployment', status);
  const look = { kind: 'Pod', namespace: 'shop', name: 'manager-0' };
  expect(await why()).toMatchObject({ cause: expect.stringMatching(cause), look });
});

it.each<[string, Status]>([
  ['is being created', waiting('ContainerCreating')],
  ['runs, and is not ready yet', container({ restartCount: 0, state: { running: {} } })],
  [
    'was restarted once',
    container({ restartCount: 1, state: { running: {} }, lastState: { terminated: { exitCode: 1 } } }),
  ],
])('a manager is only slow where its Pod %s', async (_, status) => {
  expect(await manager('StatefulSet', status).why()).toBeUndefined();
});

it('a Secret that is missing shows in the events of the Pod, until its container runs', async () => {
  const message = 'MountVolume.SetUp failed for volume "cert" : secret "cert" not found';
  const stuck = manager('DaemonSet', waiting('ContainerCreating'));
  stuck.tell('FailedMount', message, 1);
  expect(await stuck.why()).toMatchObject({ cause: expect.stringContaining(message) });
  const late = manager('DaemonSet', container({ state: { running: {} } }));
  late.tell('FailedMount', message, 1);
  expect(await late.why()).toBeUndefined();
});

it('refused Pods of a Deployment show in its condition', async () => {
  const { cluster, why } = manager('Deployment');
  const message = 'pods "manager-5f-x" is forbidden: exceeded quota: none';
  cluster.edit<Workload>('Deployment', 'manager', 'shop', (one) => {
    one.status = { conditions: [{ type: 'ReplicaFailure', status: 'True', message }] };
  });
  expect(await why()).toMatchObject({ cause: expect.stringContaining(message) });
});

/** Nothing says why. */
const NO_PODS = expect.stringMatching(/\bnone of its Pods$/);

it.each<Kind>(['StatefulSet', 'DaemonSet'])('refused Pods of a %s show in its events', async (kind) => {
  const { tell, why } = manager(kind);
  const message = 'violates PodSecurity "restricted:latest"';
  tell('FailedCreate', 'of before the session', 1);
  tell('SuccessfulDelete', 'of the pause', 2);
  expect(await why()).toMatchObject({ cause: NO_PODS });
  tell('FailedCreate', message, 3);
  expect(await why()).toMatchObject({ cause: expect.stringContaining(message), look: { kind } });
  tell('SuccessfulCreate', 'in the same second', 3);
  expect(await why()).toMatchObject({ cause: NO_PODS });
});

it('what the account is not allowed to list shows nothing, and is no failure', async () => {
  const { cluster, why } = manager('StatefulSet');
  const forbid = (kind: RegExp): void => {
    cluster.hook.before = (verb, what) => {
      if (verb === 'list' && kind.test(what)) throw refusal(403, 'Forbidden');
    };
  };
  forbid(/^Event/);
  expect(await why()).toMatchObject({ cause: NO_PODS });
  forbid(/^(Event|Pod)/);
  expect(await why()).toBeUndefined();
});

it('a manager that is ready, or gone, needs no cause', async () => {
  const { cluster, why } = manager('Deployment', waiting('ImagePullBackOff'));
  cluster.edit<Workload>('Deployment', 'manager', 'shop', (one) => {
    one.status = { readyReplicas: 1 };
  });
  expect(await why()).toBeUndefined();
  cluster.drop('Deployment', 'manager', 'shop');
  expect(await why()).toBeUndefined();
});
