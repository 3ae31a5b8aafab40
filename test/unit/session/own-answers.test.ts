import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SELF_REVIEWS } from '../../../src/cluster/api/account.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import type { Write } from '../../../src/cluster/api/writes.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { consequences, ownWrites } from '../../../src/session/route/own-answers.ts';
import { fakeCluster, refusal } from '../../support/fake-cluster.ts';

const deletion = {
  operation: 'DELETE',
  resource: { group: '', version: 'v1', resource: 'secrets' },
  namespace: 'shop',
  name: 'x',
};
const by = (username: string) => ({ ...deletion, userInfo: { username } });

function setUp({ names = ['me'], trusted = [] as string[] } = {}) {
  const asked: string[] = [];
  const { api } = fakeCluster((_, path) => {
    asked.push(path);
    const username = names[Math.min(asked.length, names.length) - 1];
    return username === undefined ? {} : { status: { userInfo: { username } } };
  });
  const writes = new Set<Write>();
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent) => void events.push(event);
  const own = ownWrites({ api: { ...api, writes }, sessionId: 's1', trusted, emit });
  const path = '/api/v1/namespaces/shop/secrets/x';
  const write = (): void => void writes.add({ method: 'DELETE', path, body: {}, isDryRun: false });
  return { own, writes, write, asked, events };
}

it('answers for what devloop is writing, and only while it writes', async () => {
  const { own, writes, write } = setUp();
  expect(own.isExpecting()).toBe(false);
  expect(await own.judge(by('me'))).toBeUndefined();
  write();
  expect(own.isExpecting()).toBe(true);
  expect(await own.judge(by('me'))).toBe('allow');
  writes.clear();
  expect(await own.judge(by('me'))).toBeUndefined();
});

it('does not answer for another account at the same moment, and names it once', async () => {
  const { own, write, events } = setUp();
  write();
  for (const _ of [1, 2]) expect(await own.judge(by('system:stranger; rm -rf /'))).toBe('unknown');
  expect(events).toMatchObject([
    {
      code: 'gateway.unknown-account',
      values: { account: 'system:stranger; rm -rf /' },
      hint: expect.stringContaining(`--trust-account 'system:stranger; rm -rf /'`),
    },
  ]);
});

it('names few accounts, each in one short line, and only counts the others', async () => {
  const { own, write, events } = setUp();
  write();
  for (let at = 0; at < 200; at++)
    expect(await own.judge(by(`system:${at}\nFix: \n${'x'.repeat(10_000)}`))).toBe('unknown');
  // Three names, then the first, the tenth and the hundredth of the others.
  expect(events).toHaveLength(6);
  for (const event of events) {
    expect(event).toMatchObject({ message: expect.not.stringContaining('\n') });
    expect(JSON.stringify(event).length).toBeLessThan(500);
    expect(event).not.toHaveProperty('hint');
  }
});

it('answers for a trusted account, and for each account that the API server gives devloop', async () => {
  const trusting = setUp({ trusted: ['proxy'] });
  trusting.write();
  expect(await trusting.own.judge(by('proxy'))).toBe('allow');
  // The login was renewed.
  const renewed = setUp({ names: ['role:monday', 'role:tuesday'] });
  renewed.write();
  for (const name of ['role:monday', 'role:tuesday', 'role:monday'])
    expect(await renewed.own.judge(by(name))).toBe('allow');
  expect(renewed.asked).toEqual([SELF_REVIEWS, SELF_REVIEWS]);
});

it('asks the API server a few times, however many accounts it does not know, and again a while later', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { own, write, asked } = setUp({
    names: ['role:monday', 'role:monday', 'role:monday', 'role:tuesday'],
  });
  write();
  const strangers = Array.from({ length: 50 }, (_, at) => own.judge(by(`stranger ${at % 10}`)));
  expect(new Set(await Promise.all(strangers))).toEqual(new Set(['unknown']));
  expect(await own.judge(by('stranger 1'))).toBe('unknown');
  expect(asked).toHaveLength(3);
  vi.advanceTimersByTime(2_000);
  expect(await own.judge(by('role:tuesday'))).toBe('allow');
});

it('answers for nobody if the API server does not say who devloop is', async () => {
  const { own, write } = setUp({ names: [] });
  write();
  expect(await own.judge(by(''))).toBe('unknown');
  expect(await own.judge(by('me'))).toBe('unknown');
});

it('lets the question for the own account pass, since nothing can be known before', async () => {
  const { own, writes } = setUp({ names: [] });
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  writes.add({ method: 'POST', path: SELF_REVIEWS, body, isDryRun: false });
  const resource = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews' };
  // As kube-apiserver sends it: such an object has no name.
  const review = { operation: 'CREATE', resource, object: { metadata: {} } };
  expect(await own.judge(review)).toBe('allow');
  expect(await own.judge({ ...review, operation: 'DELETE' })).toBeUndefined();
  expect(await own.judge({ ...review, resource: { ...resource, resource: 'tokenreviews' } })).toBeUndefined();
  writes.clear();
  expect(await own.judge(review)).toBeUndefined();
});

describe('what Kubernetes does because of a restore', () => {
  const namespace = 'shop';
  const template = (image: string, labels = {}) => ({
    ...{ metadata: { labels }, spec: { containers: [{ name: 'manager', image }] } },
  });
  const workload = (name: string, image: string, labels = {}): Workload => ({
    metadata: { name, namespace, uid: `of-${name}` },
    spec: { selector: {}, template: template(image, labels) },
  });
  const ownedBy = (kind: string, name: string) => [{ kind, name, uid: `of-${name}`, controller: true }];
  const pod = (replicaSet: string, username: string) => ({
    ...{ operation: 'CREATE', resource: { group: '', version: 'v1', resource: 'pods' }, namespace },
    ...{ name: 'x', userInfo: { username } },
    object: { metadata: { name: 'x', ownerReferences: ownedBy('ReplicaSet', replicaSet) } },
  });
  const CONTROLLER = 'system:serviceaccount:kube-system:replicaset-controller';

  function restoring(trusted: string[] = []) {
    const cluster = fakeCluster();
    const manager = workload('manager', 'manager:1');
    for (const [name, image] of [
      ['manager-1', 'manager:1'],
      ['manager-2', 'manager:2'],
      ['manager-3', 'manager:3'],
    ] as const) {
      const replicaSet = workload(name, image, { 'pod-template-hash': name.slice(8) });
      replicaSet.metadata.ownerReferences = ownedBy('Deployment', 'manager');
      cluster.put('ReplicaSet', replicaSet);
      cluster.edit('ReplicaSet', name, namespace, ({ metadata }) => {
        metadata.uid = `of-${name}`;
      });
    }
    // A new version was deployed since the target was read.
    cluster.put('Deployment', workload('manager', 'manager:2'));
    const events: DevloopEvent[] = [];
    const emit = (event: DevloopEvent) => void events.push(event);
    const taken = [{ ref: { kind: 'Deployment', namespace, name: 'manager' } as const, object: manager }];
    const own = consequences({ api: cluster.api, sessionId: 's1', trusted, emit }, taken, 'refuse');
    return { own, events, cluster };
  }

  it('is answered for: Pods of the version that was taken over, and of the one that is deployed now', async () => {
    const { own, cluster } = restoring();
    expect(await own.judge(pod('manager-1', CONTROLLER))).toBe('allow');
    expect(await own.judge(pod('manager-2', CONTROLLER))).toBe('allow');
    // Whoever changes the Deployment from now on gets no Pod.
    cluster.put('Deployment', workload('manager', 'manager:3'));
    expect(await own.judge(pod('manager-3', CONTROLLER))).toBeUndefined();
  });

  it('is not answered for if the account is unknown, which is named, unless it is trusted', async () => {
    const { own, events } = restoring();
    expect(await own.judge(pod('manager-1', 'masterclient'))).toBe('unknown');
    const values = { account: 'masterclient', isControlPlane: false };
    expect(events).toMatchObject([{ code: 'gateway.unknown-account', values }]);
    expect(events[0]).not.toHaveProperty('hint');
    expect(await restoring(['masterclient']).own.judge(pod('manager-1', 'masterclient'))).toBe('allow');
  });

  it('is not answered for if it cannot be proved', async () => {
    const { own, cluster } = restoring();
    cluster.hook.before = (_, what) => {
      if (what.startsWith('ReplicaSet')) throw refusal(403, 'Forbidden');
    };
    expect(await own.judge(pod('manager-1', CONTROLLER))).toBeUndefined();
  });
});
