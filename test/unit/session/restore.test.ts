import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { sessionOf } from '../../../src/cluster/marks/marks.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { holdLease } from '../../../src/cluster/takeover/lease.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { swapSelector } from '../../../src/cluster/takeover/service.ts';
import { DevloopError } from '../../../src/errors.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { restore } from '../../../src/session/end/restore.ts';
import { reportKept } from '../../../src/session/end/unfinished.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

let cluster: FakeCluster;
let events: DevloopEvent[];
const work = (signal = new AbortController().signal) => ({
  api: cluster.api,
  sessionId: 's1',
  emit: (event: DevloopEvent) => void events.push(event),
  signal,
});
const selector = { app: 'shop' };
const service = () => cluster.read<Service>('Service', 'webhook', 'shop')!;
const NO_WAIT = { managerReadySeconds: 0 };

beforeEach(async () => {
  events = [];
  cluster = fakeCluster();
  await takeOver();
});

async function takeOver(): Promise<void> {
  const metadata = { name: 'webhook', namespace: 'shop' };
  cluster.put<Service>('Service', { metadata, spec: { selector, ports: [{ port: 443 }] } });
  const object = cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 2, selector: {}, template: { spec: { containers: [] } } },
  });
  await swapSelector(work(), service(), undefined);
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
  await deploymentPause.pause({ ref, object }).apply(work());
}

/** Fails these calls, counted from the beginning of the restore. */
function failing(numbers: number[], error: () => Error): void {
  let call = 0;
  const fail = (): void => {
    if (numbers.includes(call++)) throw error();
  };
  cluster.hook = { before: fail };
}

async function expectRestored(): Promise<void> {
  cluster.hook = {};
  expect(service().spec.selector).toEqual(selector);
  expect(cluster.read<Workload>('Deployment', 'manager', 'shop')!.spec.replicas).toBe(2);
  expect((await findMarked(cluster.api, [])).marked).toEqual([]);
}

it.each(Array.from({ length: 16 }, (_, index) => index))(
  'a fault of one call, the number %i, does not end a restoration half-way',
  async (number) => {
    failing([number], () => refusal(500, 'InternalError', 'etcd: leader changed'));
    const found: number[] = [];
    const { changes } = await restore(work(), ['shop'], { ...NO_WAIT, onFound: (n) => found.push(n) });
    expect(changes).toBe(2);
    expect(found).toEqual([2]);
    await expectRestored();
  },
);

it('an API server that is away behind a proxy that answers 404 is waited for', async () => {
  failing([0, 1, 2, 3, 9, 10], () => refusal(404, '', 'GET /api/v1/services: HTTP 404 page not found'));
  await restore(work(), ['shop'], NO_WAIT);
  await expectRestored();
});

it('who owns the fields is put right beside the next steps, and waited for at the end', async () => {
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
  const lease = await holdLease(ref).apply(work(), { ...HELD, targets: [ref] });
  await lease![Symbol.asyncDispose]();
  const named = { ...work(), api: cluster.as('devloop') };
  let writes = 0;
  const { promise: answer, resolve: letAnswer } = Promise.withResolvers<void>();
  cluster.hook = {
    async before(verb, what) {
      if (verb === 'patch' && what === 'Deployment shop/manager' && ++writes === 2) await answer;
    },
  };
  let done = false;
  const restoring = restore(named, ['shop'], NO_WAIT).then(() => (done = true));
  await vi.waitFor(() => expect(cluster.names('Lease')).toEqual([]));
  await sleep(50);
  expect({ writes, done }).toEqual({ writes: 2, done: false });
  letAnswer();
  await restoring;
  for (const { metadata } of [service(), cluster.read('Deployment', 'manager', 'shop')!])
    expect(metadata.managedFields).toEqual([]);
});

it('credentials that are rejected for a while are waited for', async () => {
  failing([9, 10, 11], () => new DevloopError('cluster.unauthorized', 'expired'));
  const away: unknown[] = [];
  await restore(work(), ['shop'], { ...NO_WAIT, onAway: (error) => away.push(error) });
  expect(away).toMatchObject([{ code: 'cluster.unauthorized' }]);
  await expectRestored();
});

it('an answer that was made up is found out', async () => {
  for (const liar of ['get', 'patch', 'remove'] as const) {
    const honest = cluster.api[liar] as (ref: never, ...rest: never[]) => Promise<unknown>;
    let lies = 1;
    const lie = async (ref: ObjectRef, ...rest: never[]): Promise<unknown> => {
      if (lies-- <= 0) return await honest(ref as never, ...rest);
      return liar === 'get' ? undefined : cluster.read(ref.kind, ref.name, ref.namespace);
    };
    await restore({ ...work(), api: { ...cluster.api, [liar]: lie } }, ['shop'], NO_WAIT);
    await expectRestored();
    await takeOver();
  }
});

it('what is refused is tried once, and the rest is restored', async () => {
  refusing('Deployment', 403, 'no');
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({ code: 'cluster.forbidden' });
  expect(service().spec.selector).toEqual(selector);
  expect(sessionOf(cluster.read('Deployment', 'manager', 'shop')!)).toBe('s1');
});

it('what a webhook denies is tried for a while, whatever its status, and the rest is restored in the same pass', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const denied = 'admission webhook "limits.policy" denied the request: cannot list the limits';
  const calls = refusing('Deployment', 500, denied, 10_000);
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({
    message: expect.stringContaining(denied),
  });
  expect(calls()).toBeGreaterThan(1);
  expect(service().spec.selector).toEqual(selector);
  expect(cluster.calls.filter((call) => call === 'list Service *')).toHaveLength(1);
});

/** Refuses each patch of this kind, after some time of a clock that the test controls; returns how many there were. */
function refusing(kind: string, status: number, message: string, afterMs?: number): () => number {
  let count = 0;
  cluster.hook = {
    before: (verb, what) => {
      if (verb !== 'patch' || !what.startsWith(kind)) return;
      count++;
      if (afterMs !== undefined) vi.advanceTimersByTime(afterMs);
      throw refusal(status, 'Refused', message);
    },
  };
  return () => count;
}

it('what somebody deletes while it is being restored needs no restoration, and leaves no Lease', async () => {
  const lease = { kind: 'Service', namespace: 'shop', name: 'webhook' } as const;
  await (await holdLease(lease).apply(work(), { ...HELD, targets: [lease] }))![Symbol.asyncDispose]();
  cluster.hook = {
    before: (verb, what) => {
      if (verb === 'patch' && what.startsWith('Service')) cluster.drop('Service', 'webhook', 'shop');
    },
  };
  await expect(restore(work(), ['shop'], NO_WAIT)).resolves.toMatchObject({ left: [] });
  expect(cluster.names('Lease')).toEqual([]);
});

it('an account that is not allowed to see what the session changed restores the rest, and leaves the Lease', async () => {
  const kind = 'ValidatingWebhookConfiguration';
  const lease = await holdLease({ kind: 'Service', namespace: 'shop', name: 'webhook' }).apply(work(), {
    ...{ user: 'ann', host: 'desk', pid: 7, processStart: '', since: '', route: '', health: '' },
    targets: [{ kind, name: 'shop' }],
  });
  await lease![Symbol.asyncDispose]();
  cluster.put(kind, { metadata: { name: 'shop', labels: { 'devloop.dev/session': 's1' } } });
  cluster.hook = {
    before: (verb, what) => {
      if (verb === 'list' && what.startsWith(kind)) throw refusal(403, 'Forbidden', 'no');
    },
  };
  await expect(restore(work(), ['shop'], NO_WAIT)).rejects.toMatchObject({
    code: 'cluster.forbidden',
    message: expect.stringContaining('validatingwebhookconfigurations'),
  });
  expect(service().spec.selector).toEqual(selector);
  expect(cluster.read('Lease', 'devloop.service.webhook', 'shop')).toBeDefined();
});

function forbidding(...kinds: string[]): void {
  cluster.hook = {
    before: (verb, what) => {
      if (verb === 'list' && kinds.some((kind) => what.startsWith(kind)))
        throw refusal(403, 'Forbidden', 'no');
    },
  };
}

const OWN = { targets: [{ kind: 'Service' as const, namespace: 'shop', name: 'webhook' }] };

it('a session that has lost all its permissions does not take what it cannot see for restored', async () => {
  forbidding('Service', 'Deployment', 'Lease', 'Endpoint');
  await expect(
    restore(work(), ['shop'], { ...NO_WAIT, own: { ...OWN, route: 'relay' } }),
  ).rejects.toMatchObject({
    code: 'cluster.forbidden',
    message: expect.stringContaining('services in shop'),
  });
});

it.each([
  ['direct 10.0.0.1', true],
  ['ssh', true],
  ['relay', false],
])('endpoints that cannot be listed matter to a session on the route %s: %s', async (route, matters) => {
  forbidding('Endpoints', 'EndpointSlice');
  const restored = restore(work(), ['shop'], { ...NO_WAIT, own: { ...OWN, route } });
  if (matters)
    await expect(restored).rejects.toMatchObject({
      message: expect.stringContaining('endpointslices in shop'),
    });
  else await expect(restored).resolves.toMatchObject({ changes: 2 });
});

/** As somebody does who removes labels that they do not know. */
function strip(
  kind: 'Service' | 'Deployment',
  name: string,
  also: (object: Workload & Service) => void = () => {},
): void {
  cluster.edit<Workload & Service>(kind, name, 'shop', (object) => {
    object.metadata.labels = {};
    also(object);
  });
}

const HELD = {
  ...{ user: 'ann', host: 'desk', pid: 7, processStart: '', since: '', route: 'relay' },
  health: '',
};

it('what looks taken over but has lost its label is reported, and does not count as restored', async () => {
  for (const ref of [
    { kind: 'Service', namespace: 'shop', name: 'webhook' },
    { kind: 'Deployment', namespace: 'shop', name: 'manager' },
  ] as const)
    await (await holdLease(ref).apply(work(), { ...HELD, targets: [ref] }))![Symbol.asyncDispose]();
  strip('Service', 'webhook');
  strip('Deployment', 'manager');
  const restored = await restore(work(), ['shop'], NO_WAIT);
  const { left } = restored;
  const faults = left.map(({ ref, kept }) => [ref.kind, ...kept.map((one) => 'fault' in one && one.fault)]);
  expect(faults.sort()).toEqual([
    ['Deployment', 'has 0 replicas'],
    ['Service', 'still has devloop.dev/undo'],
  ]);
  expect(cluster.read('Lease', 'devloop.service.webhook', 'shop')).toBeUndefined();
  events = [];
  reportKept(restored, (event) => events.push(event));
  expect(events).toContainEqual(
    expect.objectContaining({
      code: 'restore.undo-broken',
      values: { object: expect.objectContaining({ name: 'manager' }), fault: 'has 0 replicas' },
    }),
  );
});

it.each([
  ['has the replicas that somebody gave it again', 2, []],
  ['had none before the session', 0, [{ kind: 'Deployment', namespace: 'shop', name: 'manager' }]],
] as const)('a manager without a label that %s is restored', async (_, replicas, unready) => {
  strip('Deployment', 'manager', ({ spec }) => Object.assign(spec, { replicas }));
  const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
  const { left } = await restore(work(), ['shop'], { ...NO_WAIT, taken: [ref], unready: [...unready] });
  expect(left).toEqual([]);
});

it('what was kept in an earlier pass is still reported', async () => {
  cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => (object.spec.replicas = 7));
  let failures = 0;
  cluster.hook = {
    before: (verb, what) => {
      if (verb === 'patch' && what.startsWith('Service') && failures++ === 0)
        throw new DevloopError('cluster.unauthorized', 'expired');
    },
  };
  const { left } = await restore(work(), ['shop'], NO_WAIT);
  expect(left).toMatchObject([{ ref: { kind: 'Deployment' }, kept: [{ now: 7, before: 2 }] }]);
});

it('waits for the manager in a later pass too, although its mark is gone', async () => {
  const setReady = (readyReplicas: number): void => {
    cluster.edit<Workload>('Deployment', 'manager', 'shop', (object) => (object.status = { readyReplicas }));
  };
  setReady(2);
  const readyAtService: (number | undefined)[] = [];
  cluster.hook = {
    before: (verb, what) => {
      if (verb !== 'patch' || !what.startsWith('Service')) return;
      readyAtService.push(cluster.read<Workload>('Deployment', 'manager', 'shop')!.status?.readyReplicas);
      if (readyAtService.length > 1) return;
      setReady(0);
      setTimeout(() => setReady(2), 500);
      throw new DevloopError('cluster.unauthorized', 'expired');
    },
  };
  await restore(work(), ['shop'], { managerReadySeconds: 10 });
  expect(readyAtService).toEqual([2, 2]);
  await expectRestored();
});

it('ends with the last failure when its limit has passed, or somebody leaves', async () => {
  cluster.hook = {
    before: () => {
      throw refusal(503, 'ServiceUnavailable', 'away');
    },
  };
  const left = { ...NO_WAIT, awayLimitMs: 0 };
  await expect(restore(work(), ['shop'], left)).rejects.toMatchObject({
    message: expect.stringContaining('away'),
  });
  await expect(restore(work(AbortSignal.abort()), ['shop'], NO_WAIT)).rejects.toMatchObject({
    message: expect.stringContaining('away'),
  });
});

it('the stand-in goes before the manager comes back: with it goes the lock of a leader for life', async () => {
  const metadata = { name: 'manager-devloop-s1', namespace: 'shop', labels: { 'devloop.dev/session': 's1' } };
  cluster.put('Pod', { metadata });
  cluster.calls.length = 0;
  await restore(work(), ['shop'], NO_WAIT);
  const [removed, resumed] = ['remove Pod', 'patch Deployment'].map((what) =>
    cluster.calls.findIndex((call) => call.startsWith(what)),
  );
  expect(removed).toBeGreaterThan(-1);
  expect(removed).toBeLessThan(resumed!);
  const pods = events.filter((event) => event.type === 'change' && event.object.kind === 'Pod');
  expect(pods).toMatchObject([{ action: 'delete' }]);
  await expectRestored();
});

it('a stand-in that a webhook keeps at first is deleted at the end', async () => {
  const metadata = { name: 'manager-devloop-s1', namespace: 'shop', labels: { 'devloop.dev/session': 's1' } };
  cluster.put('Pod', { metadata });
  let tries = 0;
  const before = (verb: string, what: string): void => {
    if (verb === 'remove' && what.startsWith('Pod') && tries++ === 0)
      throw refusal(403, 'Forbidden', 'admission webhook "pods.shop" denied the request');
  };
  cluster.hook = { before };
  await restore(work(), ['shop'], NO_WAIT);
  expect(tries).toBe(2);
  await expectRestored();
});
