import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { type Lease, microTime } from '../../../src/cluster/api/objects.ts';
import type { Pod } from '../../../src/cluster/api/workloads.ts';
import { hasEnded } from '../../../src/cluster/takeover/pause/leadership.ts';
import { followElection } from '../../../src/session/start/election.ts';
import type { Starts } from '../../../src/session/start/starts.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { recordEvents } from '../controller/support/events.ts';

const HOST = 'laptop';
const LEASE = { kind: 'Lease', namespace: 'shop', name: 'election' } as const;
const CANDIDATE = 'attempting to acquire leader lease shop/election...';
const LEADER = 'successfully acquired lease shop/election';

function begin(endedPods: Pod[] = [], admit?: Starts['begin']) {
  const cluster = fakeCluster();
  const recorder = recordEvents();
  const signal = new AbortController().signal;
  const work = { api: cluster.api, emit: recorder.emit, sessionId: 's1', signal };
  const election = followElection(work, { endedPods: () => endedPods, begin: admit, host: HOST });
  onTestFinished(() => election[Symbol.asyncDispose]());
  return { cluster, recorder, election };
}

const put = (cluster: FakeCluster, spec: Lease['spec']) =>
  cluster.put<Lease>('Lease', { metadata: { namespace: 'shop', name: 'election' }, spec });

const holderOf = (cluster: FakeCluster) =>
  cluster.read<Lease>('Lease', 'election', 'shop')!.spec.holderIdentity;

/** As client-go writes it. */
const held = (by: string): Lease['spec'] => ({
  ...{ holderIdentity: by, leaseDurationSeconds: 15 },
  ...{ acquireTime: microTime(), renewTime: microTime() },
});

const own = `${HOST}_${randomUUID()}`;

/** A controller that has led and ended. */
async function led(
  { cluster, election }: Pick<ReturnType<typeof begin>, 'cluster' | 'election'>,
  spec: () => Lease['spec'],
  { isGone = true, says = LEADER } = {},
): Promise<void> {
  const controller = election.attend();
  put(cluster, spec());
  controller.reads(says);
  controller.ended(isGone);
  await election[Symbol.asyncDispose]();
}

test('the Lease of a controller that has ended is freed, by a write that fails if somebody else wrote', async () => {
  const all = begin();
  let isFirst = true;
  all.cluster.hook.before = (verb) => {
    if (verb !== 'patch' || !isFirst) return;
    isFirst = false;
    all.cluster.edit<Lease>('Lease', 'election', 'shop', ({ metadata }) => {
      metadata.labels = { seen: 'yes' };
    });
  };
  await led(all, () => held(own));
  expect(holderOf(all.cluster)).toBeUndefined();
  expect(all.cluster.calls.filter((call) => call.startsWith('patch'))).toHaveLength(2);
  expect(all.recorder.all('leader.released')).toEqual([
    { type: 'leader.released', lease: LEASE, holder: own },
  ]);
});

const LATER = () => new Date(Date.now() + 60_000).toISOString();
const EARLIER = () => new Date(Date.now() - 60_000).toISOString();

test.each([
  ['of another machine', () => held(`other_${randomUUID()}`)],
  ['of a machine whose name only begins the same', () => held(`${HOST}-2_${randomUUID()}`)],
  ['that client-go has not named', () => held(`${HOST}_1`)],
  ['that led before the controller began', () => ({ ...held(own), acquireTime: EARLIER() })],
  ['that leads since the controller said that it leads', () => ({ ...held(own), acquireTime: LATER() })],
  ['that has renewed it since the controller ended', () => ({ ...held(own), renewTime: LATER() })],
  ['without times', () => ({ holderIdentity: own })],
])('the Lease of a holder %s is left alone', async (_, spec) => {
  const all = begin();
  await led(all, spec);
  expect(holderOf(all.cluster)).toMatch(/_/);
  expect(all.recorder.events).toEqual([]);
});

test('a Lease is left alone while something of the controller may be left, or if it never led', async () => {
  for (const options of [{ isGone: false }, { says: CANDIDATE }]) {
    const all = begin();
    await led(all, () => held(own), options);
    expect(holderOf(all.cluster)).toBe(own);
  }
});

test('somebody who renews the Lease in the meantime keeps it', async () => {
  const all = begin();
  all.cluster.hook.before = (verb) => {
    if (verb === 'patch')
      all.cluster.edit<Lease>('Lease', 'election', 'shop', ({ spec }) => {
        spec.renewTime = LATER();
      });
  };
  await led(all, () => held(own));
  expect(holderOf(all.cluster)).toBe(own);
});

test('an account that is not allowed to write Leases gets one note', async () => {
  const all = begin();
  all.cluster.hook.before = (verb) => {
    if (verb === 'patch') throw refusal(403, 'Forbidden', 'leases is forbidden');
  };
  const controller = all.election.attend();
  put(all.cluster, held(own));
  controller.reads(LEADER);
  controller.ended(true);
  const next = all.election.attend();
  next.reads(LEADER);
  next.ended(true);
  await all.election[Symbol.asyncDispose]();
  expect(all.recorder.all('note')).toHaveLength(1);
});

/** The access of a controller to the API proxy, which has seen it write its Lease. */
function seen(resourceVersion: () => string | undefined) {
  const admitted = {
    hasEnded: false,
    leases: {
      led: () => [{ ref: LEASE, holder: 'anybody', resourceVersion: resourceVersion() ?? '', elects: true }],
    },
    end: () => {
      admitted.hasEnded = true;
    },
  };
  return admitted;
}

const versionOf = (cluster: FakeCluster) =>
  cluster.read<Lease>('Lease', 'election', 'shop')!.metadata.resourceVersion;

test.each([
  ['freed at once, whatever it calls itself and leaves behind', 'anybody', undefined, true],
  ['left alone if somebody else holds it', 'somebody', undefined, false],
  ['left alone if somebody has written it since', 'anybody', 'later', false],
])('a Lease that the API proxy has seen the controller write is %s', async (_, holder, version, isFreed) => {
  const start = seen(() => version ?? versionOf(all.cluster));
  const all = begin([], () => start);
  await led(all, () => ({ ...held(holder), renewTime: LATER() }), { isGone: false, says: '' });
  expect(start.hasEnded).toBe(true);
  expect(holderOf(all.cluster)).toBe(isFreed ? undefined : holder);
  expect(all.recorder.all('leader.released')).toHaveLength(isFreed ? 1 : 0);
});

const POD = 'shop-1';
const terminated = { terminated: { exitCode: 0 } };

function pod(states: object[], metadata: object = { deletionTimestamp: EARLIER() }): Pod {
  const containerStatuses = states.map((state, index) => ({ name: String(index), state }));
  return {
    metadata: { name: POD, namespace: 'shop', uid: 'u1', ...metadata },
    status: { containerStatuses },
  };
}

test('a controller that waits says who leads, and takes the Lease of a Pod as soon as that has ended', async () => {
  const ended: Pod[] = [];
  const { cluster, recorder, election } = begin(ended);
  put(cluster, held(`${POD}_${randomUUID()}`));
  const controller = election.attend();
  controller.reads(CANDIDATE);
  expect(await recorder.waitFor('leader.waiting')).toMatchObject({
    lease: LEASE,
    holder: expect.stringContaining(POD),
  });
  ended.push(pod([terminated]));
  expect(await recorder.waitFor('leader.released')).toMatchObject({ holder: expect.stringContaining(POD) });
  expect(holderOf(cluster)).toBeUndefined();
  controller.reads(LEADER);
  expect(await recorder.waitFor('leader.elected')).toMatchObject({ lease: LEASE });
});

test('the Lease of another Pod, or of a new one with the same name, is left alone', async () => {
  const { cluster, recorder, election } = begin([pod([terminated])]);
  cluster.put('Pod', { metadata: { name: POD, namespace: 'shop', uid: 'u2' } });
  put(cluster, held(`${POD}_${randomUUID()}`));
  election.attend().reads(CANDIDATE);
  await recorder.waitFor('leader.waiting');
  expect(holderOf(cluster)).toContain(POD);
  put(cluster, held(`${POD}0_${randomUUID()}`));
  cluster.drop('Pod', POD, 'shop');
  const looked = cluster.calls.length;
  await expect.poll(() => cluster.calls.length).toBeGreaterThan(looked + 2);
  expect(holderOf(cluster)).toContain(`${POD}0`);
});

test.each([
  ['is left alone', undefined, POD],
  ['is freed if that Pod cannot be seen, since the account is not allowed to list Pods there', 'Pod *', ''],
])('a Lease that a Pod of that name in another namespace may hold %s', async (_, forbidden, holder) => {
  const { cluster, recorder, election } = begin([pod([terminated])]);
  cluster.put('Pod', { metadata: { name: POD, namespace: 'other', uid: 'u2' } });
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && what === forbidden) throw refusal(403, 'Forbidden', 'pods is forbidden');
  };
  put(cluster, held(`${POD}_${randomUUID()}`));
  election.attend().reads(CANDIDATE);
  await recorder.waitFor(forbidden === undefined ? 'leader.waiting' : 'leader.released');
  expect(holderOf(cluster) ?? '').toContain(holder);
});

test('the Lease of another namespace is left alone: a Pod of that name may hold it there', async () => {
  const { cluster, recorder, election } = begin([pod([terminated], { namespace: 'other' })]);
  put(cluster, held(`${POD}_${randomUUID()}`));
  const controller = election.attend();
  controller.reads(CANDIDATE);
  await recorder.waitFor('leader.waiting');
  expect(cluster.calls.some((call) => call.startsWith('patch'))).toBe(false);
  expect(holderOf(cluster)).toContain(POD);
});

test('a Pod has ended when kubelet says so of all its containers, and it is being deleted', () => {
  expect(hasEnded(pod([terminated, terminated]))).toBe(true);
  expect(hasEnded(pod([terminated, { running: {} }]))).toBe(false);
  expect(hasEnded(pod([]))).toBe(false);
  // kubelet starts its container again.
  expect(hasEnded(pod([terminated], {}))).toBe(false);
  // A sidecar can be an init container.
  const sidecar = pod([terminated]);
  sidecar.status!.initContainerStatuses = [{ name: 'proxy', state: { running: {} } }];
  expect(hasEnded(sidecar)).toBe(false);
});

test('a controller whose log quotes many Leases has devloop look at few of them', async () => {
  const { cluster, election } = begin();
  const controller = election.attend();
  for (let at = 0; at < 100; at++) controller.reads(`${CANDIDATE.replace('election', `other-${at}`)}`);
  for (let at = 0; at < 100; at++) controller.reads(`${LEADER}-${at}`);
  controller.ended(true);
  await election[Symbol.asyncDispose]();
  const asked = new Set(cluster.calls.filter((call) => call.includes('Lease')));
  expect(asked.size).toBeLessThanOrEqual(4 * 2);
});
