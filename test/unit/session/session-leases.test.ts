import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import { leaseRef } from '../../../src/cluster/names.ts';
import { holderOf, holdLease } from '../../../src/cluster/takeover/lease.ts';
import type { Work } from '../../../src/cluster/work.ts';
import type { DevloopError } from '../../../src/errors.ts';
import type { Target } from '../../../src/operator/target.ts';
import { Facts } from '../../../src/session/context/observed.ts';
import { createSessionLeases } from '../../../src/session/start/leases.ts';
import type { Session } from '../../../src/session/start/session.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';

const REF = { kind: 'Service', namespace: 'shop', name: 'hook' } as const;

async function heldLeases({ also = [] as ObjectRef[], forbidden = '' } = {}) {
  const cluster = fakeCluster();
  cluster.hook.before = (verb, what) => {
    if (verb === 'create' && what.startsWith(`Lease ${forbidden}/`)) throw refusal(403, 'Forbidden');
  };
  const metadata = { name: REF.name, namespace: REF.namespace };
  const target = partly<Target>({ namespace: 'shop', services: [{ service: { metadata, spec: {} } }] });
  const plan = { leases: [REF, ...also].map(holdLease), routes: [], webhookTime: [] };
  const machine = { user: 'ann', host: 'desk', processStart: '' };
  const session = partly<Session>({ machine, target, plan, unready: [], io: { emit() {} } });
  const signal = new AbortController().signal;
  const work: Work = { api: cluster.api, sessionId: 's1', emit() {}, signal };
  const facts = new Facts([]);
  const leases = createSessionLeases(target, facts);
  const lost: DevloopError[] = [];
  await leases.hold(session, work, (error) => lost.push(error));
  return { cluster, facts, leases, lost };
}

it('whoever renews them knows at once that one is lost, however long it takes to find out why', async () => {
  const { cluster, leases, lost } = await heldLeases();
  await using _leases = leases;
  const before = cluster.calls.length;
  await leases.renew();
  expect(cluster.calls.slice(before), 'they were held just now').toEqual([]);
  await sleep(1_010);
  await leases.renew();
  expect(cluster.calls.length).toBeGreaterThan(before);
  expect(lost).toEqual([]);
  cluster.drop('Lease', leaseRef(REF).name, 'shop');
  cluster.hook = {
    before: (_, what) =>
      what === 'Namespace shop' ? new Promise((resolve) => setTimeout(resolve, 20)) : undefined,
  };
  await leases.renew();
  expect(lost).toMatchObject([{ code: 'target.gone' }]);
});

it('one that is forbidden does not keep the others from being held', async () => {
  const reconciler = { kind: 'Deployment', namespace: 'olm', name: 'manager' } as const;
  const { cluster, leases } = await heldLeases({ also: [reconciler], forbidden: 'shop' });
  await using _ = leases;
  expect(cluster.names('Lease')).toEqual([leaseRef(reconciler).name]);
});

it('a Lease is outdated when it was not renewed in time, held again after a renewal, and lost when somebody else has it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { cluster, leases } = await heldLeases();
  await using _ = leases;
  expect(leases.state()).toBe('held');
  vi.advanceTimersByTime(15_000);
  expect(leases.state()).toBe('outdated');
  cluster.hook.before = () => {
    throw new Error('the network is down');
  };
  await leases.renew();
  expect(leases.state()).toBe('outdated');
  cluster.hook.before = () => {};
  await leases.renew();
  expect(leases.state()).toBe('held');
  cluster.drop('Lease', leaseRef(REF).name, 'shop');
  await leases.renew();
  expect(leases.state()).toBe('lost');
});

it('say as whom the controller works, and status reads it there', async () => {
  const { cluster, facts, leases } = await heldLeases();
  await using _ = leases;
  const account = 'system:serviceaccount:shop:manager';
  const told = (event: Parameters<Facts['observe']>[0]) => {
    facts.observe(event);
    leases.observe();
  };
  const shown = async () => holderOf((await cluster.api.get<Lease>(leaseRef(REF)))!)?.account;
  told({ type: 'controller.identity', how: 'token', account });
  await expect.poll(shown).toBe(account);
  told({ type: 'controller.identity', how: 'user' });
  await expect.poll(shown).toBeUndefined();
});
