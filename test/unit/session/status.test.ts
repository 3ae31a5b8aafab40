import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '../../../src/cluster/api/errors.ts';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import { HOLDER_ANNOTATION, leaseRef } from '../../../src/cluster/names.ts';
import type { Look } from '../../../src/session/status.ts';
import { isLive, orWarning, readSessions } from '../../../src/session/status.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';

const ref = leaseRef({ kind: 'Service', namespace: 'shop', name: 'webhook-service' });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function held(renewTime: string, running?: boolean) {
  const cluster = fakeCluster();
  const annotations = { [HOLDER_ANNOTATION]: JSON.stringify({ host: 'there', pid: 1, processStart: '' }) };
  const lease = cluster.put<Lease>('Lease', {
    metadata: { name: ref.name, namespace: 'shop', annotations, labels: { 'devloop.dev/session': 's1' } },
    spec: { renewTime, leaseDurationSeconds: 15 },
  });
  const look = partly<Look>({
    context: { api: cluster.api },
    machine: { isHere: () => running !== undefined, isRunning: async () => running },
    io: { emit: () => {}, signal: new AbortController().signal },
    dead: new Map(),
  });
  return { cluster, lease, look };
}

it('a session whose clock is a day behind is live as long as it renews its Lease', async () => {
  const { cluster, lease, look } = held('2020-01-01T00:00:00.000000Z');
  const live = isLive(lease, ref, look);
  await vi.advanceTimersByTimeAsync(4_000);
  cluster.edit<Lease>(
    'Lease',
    ref.name,
    'shop',
    (one) => (one.spec.renewTime = '2020-01-01T00:00:04.000000Z'),
  );
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await live).toBe(true);
});

it('a session whose clock is a day ahead is stale when its Lease stands still, and is then not watched again', async () => {
  const { cluster, lease, look } = held('2999-01-01T00:00:00.000000Z');
  const live = isLive(lease, ref, look);
  await vi.advanceTimersByTimeAsync(17_000);
  expect(await live).toBe(false);
  const calls = cluster.calls.length;
  expect(await isLive(lease, ref, look)).toBe(false);
  expect(cluster.calls).toHaveLength(calls);
});

it('a Lease that was renewed a moment ago is not watched', async () => {
  const { cluster, lease, look } = held(new Date(Date.now() - 3_000).toISOString());
  expect(await isLive(lease, ref, look)).toBe(true);
  expect(cluster.calls).toEqual([]);
});

it('a session that was seen to stand still stays stale when the clock of this machine reaches that of its own', async () => {
  const aheadMs = 60_000;
  const { lease, look } = held(new Date(Date.now() + aheadMs).toISOString());
  const live = isLive(lease, ref, look);
  await vi.advanceTimersByTimeAsync(17_000);
  expect(await live).toBe(false);
  vi.setSystemTime(Date.now() + aheadMs - 10_000);
  expect(await isLive(lease, ref, look)).toBe(false);
});

it.each([
  ['a day ahead', 86_400_000],
  ['a day back', -86_400_000],
])('a live session is live when the clock of this machine was set %s', async (_, ms) => {
  const { cluster, lease, look } = held(new Date().toISOString());
  vi.setSystemTime(Date.now() + ms);
  const live = isLive(lease, ref, look);
  cluster.edit<Lease>('Lease', ref.name, 'shop', ({ spec }) => {
    spec.renewTime = new Date(Date.now() - ms + 5_000).toISOString();
  });
  expect(await live).toBe(true);
});

it('where the namespace in devloop.yaml is gone, all sessions are shown, and one that was typed is an error', async () => {
  const { cluster, look } = held(new Date().toISOString());
  const { api } = cluster;
  const context = { api, wanted: { services: ['gone/hook'], namespace: 'gone' } };
  const running = partly<Look>({ ...look, context });
  const sessions = async () => {
    const [status] = await readSessions(running, { services: [] });
    return status?.type === 'status' ? status.sessions.map(({ session }) => session) : undefined;
  };
  expect(await sessions()).toEqual(['s1']);
  cluster.put('Namespace', { metadata: { name: 'gone' } });
  expect(await sessions()).toEqual([]);
  await expect(readSessions(running, { services: [], namespace: 'gnoe' })).rejects.toMatchObject({
    code: 'target.not-found',
  });
});

it('the account as which a controller works is that which its Lease names', async () => {
  const { cluster, look } = held(new Date().toISOString());
  const { api } = cluster;
  const running = partly<Look>({ ...look, context: { api, wanted: { services: [] } } });
  const texts = { user: 'ann', host: 'there', processStart: '', since: '', route: '', health: 'serving' };
  const accountIn = async (account: unknown) => {
    const annotation = JSON.stringify({ ...texts, pid: 1, targets: [], account });
    cluster.edit<Lease>('Lease', ref.name, 'shop', ({ metadata }) => {
      metadata.annotations = { [HOLDER_ANNOTATION]: annotation };
    });
    const [status] = await readSessions(running, { services: [] });
    return status?.type === 'status' ? status.sessions[0] : undefined;
  };
  expect(await accountIn('system:serviceaccount:shop:manager')).toMatchObject({
    account: 'system:serviceaccount:shop:manager',
  });
  expect(await accountIn(undefined)).not.toHaveProperty('account');
  expect(await accountIn({ name: 'x' })).not.toHaveProperty('account');
});

it('where no session holds what was named, those that hold something are', async () => {
  const { cluster, look } = held(new Date().toISOString());
  const { api } = cluster;
  const running = partly<Look>({ ...look, context: { api, wanted: { services: [] } } });
  const searchedFor = async (...services: string[]) => {
    const [status] = await readSessions(running, { services });
    return status?.type === 'status' ? status.searched : undefined;
  };
  const others = [{ kind: 'Service', namespace: 'shop', name: 'webhook-service' }];
  expect(await searchedFor('webhok-service')).toMatchObject({ names: ['webhok-service'], others });
  expect(await searchedFor('webhook-service')).not.toHaveProperty('others');
  expect(await searchedFor()).not.toHaveProperty('others');
});

it('a watch outlasts an API server that is away, but not a missing permission', async () => {
  const away = orWarning(Promise.reject(new ApiError('etcdserver: leader changed.', 503, '')));
  const values = { cause: 'etcdserver: leader changed.' };
  expect(await away).toMatchObject([{ type: 'warning', code: 'search.failed', values }]);
  const forbidden = new ApiError('services is forbidden', 403, 'Forbidden');
  await expect(orWarning(Promise.reject(forbidden))).rejects.toBe(forbidden);
});
