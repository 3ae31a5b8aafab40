import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Lease } from '../../../src/cluster/api/objects.ts';
import { HOLDER_ANNOTATION, leaseRef, SESSION_LABEL } from '../../../src/cluster/names.ts';
import { type HeldLease, type Holder, holderOf, holdLease } from '../../../src/cluster/takeover/lease.ts';
import { type Here, readHolder } from '../../../src/cluster/takeover/lease-holder.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const object = { kind: 'Service', namespace: 'shop', name: 'webhook-service' } as const;
const ref = leaseRef(object);
const holder: Holder = {
  user: 'ann',
  host: 'here',
  pid: 42,
  processStart: '7',
  since: '2026-01-01T00:00:00Z',
  route: 'direct',
  targets: [],
  health: 'starting',
};
const signal = new AbortController().signal;
let cluster: FakeCluster;
let events: DevloopEvent[];
let held: HeldLease | undefined;
const emit = (event: DevloopEvent): void => void events.push(event);
const work = (sessionId = 's1') => ({ api: cluster.api, sessionId, emit, signal });
const lease = (): Lease | undefined => cluster.read<Lease>('Lease', ref.name, 'shop');
const at = (host: string, running: boolean | undefined): Here => ({
  isHere: (one) => one.host === host,
  isRunning: async () => running,
});
const hold = async (session = 's1'): Promise<HeldLease | undefined> =>
  (held = await holdLease(object).apply(work(session), holder));

beforeEach(() => {
  vi.useFakeTimers();
  cluster = fakeCluster();
  events = [];
});
afterEach(async () => {
  await held?.[Symbol.asyncDispose]();
  held = undefined;
  vi.useRealTimers();
});

describe('a held Lease', () => {
  it('names its holder, and is renewed as long as it is held', async () => {
    await hold();
    expect(holderOf(lease()!)).toEqual(holder);
    expect(lease()?.spec.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const first = lease()?.spec.renewTime;
    await vi.advanceTimersByTimeAsync(6_000);
    const second = lease()?.spec.renewTime;
    expect(second).not.toBe(first);
    await held![Symbol.asyncDispose]();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lease()?.spec.renewTime).toBe(second);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not created where one without the label is in the way, which the hint deletes', async () => {
    const metadata = { name: ref.name, namespace: 'shop' };
    cluster.put<Lease>('Lease', { metadata, spec: { holderIdentity: 'ann@desk (pid 1)' } });
    await expect(hold()).rejects.toMatchObject({
      code: 'session.held',
      message: expect.stringContaining('ann@desk (pid 1)'),
      hint: expect.stringContaining(`kubectl --context fake -n shop delete lease ${ref.name}`),
    });
  });

  it('is created where another session deletes its own at that moment', async () => {
    const metadata = { name: ref.name, namespace: 'shop', labels: { [SESSION_LABEL]: 's0' } };
    cluster.put<Lease>('Lease', { metadata, spec: {} });
    cluster.hook = {
      before(verb) {
        if (verb === 'get') cluster.drop('Lease', ref.name, 'shop');
      },
    };
    vi.useRealTimers();
    await hold();
    expect(holderOf(lease()!)).toEqual(holder);
  });

  it.each([
    'unable to create new content in namespace shop because it is being terminated',
    'exceeded quota: objects, requested: count/leases.coordination.k8s.io=1',
    'User "ann" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "shop"',
  ])('is missing with a warning that blames only what the API server says: %s', async (why) => {
    cluster.hook = {
      before(verb) {
        if (verb === 'create')
          throw refusal(403, 'Forbidden', `leases.coordination.k8s.io "x" is forbidden: ${why}`);
      },
    };
    expect(await hold()).toBeUndefined();
    const cause = expect.stringContaining(why);
    expect(events).toMatchObject([{ type: 'warning', code: 'session.no-leases', values: { cause } }]);
    expect(JSON.stringify(events)).not.toContain('not allowed');
  });

  it('survives failed renewals', async () => {
    await hold();
    cluster.hook = {
      before: () => {
        throw refusal(500, 'InternalError');
      },
    };
    await vi.advanceTimersByTimeAsync(11_000);
    cluster.hook = {};
    const before = lease()?.spec.renewTime;
    await held!.update({ health: 'serving' });
    expect(lease()?.spec.renewTime).not.toBe(before);
    expect(holderOf(lease()!)?.health).toBe('serving');
  });

  it('says what its holder was told last, also where a renewal takes longer than the next one', async () => {
    await hold();
    let reads = 0;
    cluster.hook = {
      before: async (verb) => {
        if (verb === 'get' && ++reads === 1) await new Promise((resolve) => setTimeout(resolve, 1_000));
      },
    };
    const updated = Promise.all([held!.update({}), held!.update({ health: 'ending' })]);
    await vi.advanceTimersByTimeAsync(2_000);
    await updated;
    expect(holderOf(lease()!)?.health).toBe('ending');
  });

  it('is reported once when renewals fail for so long that others see the session as dead', async () => {
    await hold();
    events.length = 0;
    const refuse = (): never => {
      throw refusal(500, 'InternalError', 'etcd is gone.');
    };
    cluster.hook = { before: refuse };
    await vi.advanceTimersByTimeAsync(14_000);
    expect(events).toEqual([]);
    await vi.advanceTimersByTimeAsync(20_000);
    const warning = {
      type: 'warning',
      code: 'session.lease-outdated',
      values: { seconds: 15, cause: 'etcd is gone' },
    };
    expect(events).toMatchObject([warning]);
    cluster.hook = {};
    await vi.advanceTimersByTimeAsync(6_000);
    cluster.hook = { before: refuse };
    await vi.advanceTimersByTimeAsync(21_000);
    expect(events).toMatchObject([warning, warning]);
  });

  it('is lost when another session has it, and the other Lease is left alone', async () => {
    await hold();
    cluster.drop('Lease', ref.name, 'shop');
    const other = cluster.put<Lease>('Lease', {
      metadata: { name: ref.name, namespace: 'shop' },
      spec: { holderIdentity: 'bob@there' },
    });
    await vi.advanceTimersByTimeAsync(6_000);
    await expect(held!.lost).resolves.toBe('bob@there');
    expect(lease()?.metadata.resourceVersion).toBe(other.metadata.resourceVersion);
  });

  it("does not overwrite another session's Lease that appears between read and write", async () => {
    await hold();
    let other: Lease | undefined;
    cluster.hook = {
      before(verb) {
        if (verb !== 'patch' || other) return;
        cluster.drop('Lease', ref.name, 'shop');
        other = cluster.put<Lease>('Lease', {
          metadata: { name: ref.name, namespace: 'shop' },
          spec: { holderIdentity: 'bob@there' },
        });
      },
    };
    await vi.advanceTimersByTimeAsync(6_000);
    expect(lease()?.metadata.resourceVersion).toBe(other?.metadata.resourceVersion);
    await vi.advanceTimersByTimeAsync(6_000);
    await expect(held!.lost).resolves.toBe('bob@there');
  });

  it('is session.held when it already exists, and a single warning where Leases are forbidden', async () => {
    await hold();
    await expect(holdLease(object).apply(work('s2'), holder)).rejects.toMatchObject({
      code: 'session.held',
    });
    cluster.hook = {
      before: () => {
        throw refusal(403, 'Forbidden', 'leases is forbidden');
      },
    };
    expect(await holdLease(object).apply(work('s2'), holder)).toBeUndefined();
    expect(events.filter((event) => event.type === 'warning')).toHaveLength(1);
  });

  it('is cluster.rejected when the API server refuses it for another reason', async () => {
    cluster.hook = {
      before: () => {
        throw refusal(500, 'InternalError', 'failed calling webhook "leases.policy.example": EOF');
      },
    };
    await expect(hold()).rejects.toMatchObject({
      code: 'cluster.rejected',
      message: expect.stringContaining('leases.policy.example'),
      hint: expect.stringContaining('failurePolicy'),
    });
  });
});

describe('a session', () => {
  it('has no holder without a Lease', async () => {
    expect(await readHolder(work(), ref, at('here', true))).toBeUndefined();
  });

  it('of this machine is alive while its process runs', async () => {
    await hold();
    expect(await readHolder(work(), ref, at('here', true))).toMatchObject({
      sessionId: 's1',
      alive: true,
      local: true,
      identity: 'ann@here (pid 42)',
    });
  });

  it('of this machine whose process cannot be seen is alive while its Lease is renewed, and dead when that stands still', async () => {
    await hold();
    const first = readHolder(work(), ref, at('here', undefined));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await first).toMatchObject({ alive: true, local: true });
    await held![Symbol.asyncDispose]();
    const second = readHolder(work(), ref, at('here', undefined));
    await vi.advanceTimersByTimeAsync(17_000);
    expect(await second).toMatchObject({ alive: false });
  });

  it('of another machine is alive while its Lease is renewed, whatever the clocks say', async () => {
    await hold();
    cluster.edit<Lease>(
      'Lease',
      ref.name,
      'shop',
      (object) => (object.spec.renewTime = '1999-01-01T00:00:00.000000Z'),
    );
    const looking = readHolder(work(), ref, at('there', false));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await looking).toMatchObject({ alive: true, local: false });
  });

  it('of another machine is dead when its Lease was not renewed for its duration, even with a time in the future', async () => {
    await hold();
    await held![Symbol.asyncDispose]();
    cluster.edit<Lease>(
      'Lease',
      ref.name,
      'shop',
      (object) => (object.spec.renewTime = '2999-01-01T00:00:00.000000Z'),
    );
    const looking = readHolder(work(), ref, at('there', false));
    let done = false;
    void looking.then(() => (done = true));
    await vi.advanceTimersByTimeAsync(14_000);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await looking).toMatchObject({ alive: false });
  });

  it('of another machine is not dead because the API server was away, when nobody could renew its Lease', async () => {
    await hold();
    await held![Symbol.asyncDispose]();
    let awayMs = 12_000;
    cluster.hook = {
      async before() {
        const ms = awayMs;
        awayMs = 0;
        if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
      },
    };
    const looking = readHolder(work(), ref, at('there', false), lease());
    await vi.advanceTimersByTimeAsync(12_000);
    // Longer than the Lease is valid since the first look, but shorter since the API server is back.
    await vi.advanceTimersByTimeAsync(5_000);
    await vi.waitUntil(() => cluster.calls.filter((call) => call.startsWith('get')).length > 1);
    cluster.edit<Lease>('Lease', ref.name, 'shop', ({ spec }) => {
      spec.renewTime = '2026-01-01T00:00:17.000000Z';
    });
    expect(await looking).toMatchObject({ alive: true });
  });

  it('of another machine is dead when its Lease stands still, also where each answer takes long', async () => {
    await hold();
    await held![Symbol.asyncDispose]();
    cluster.hook = { before: () => new Promise((resolve) => setTimeout(resolve, 4_000)) };
    const asked = (): number => cluster.calls.filter((call) => call.startsWith('get')).length;
    const looking = readHolder(work(), ref, at('there', false), lease());
    let done = false;
    void looking.then(() => (done = true));
    for (let calls = 1; calls <= 9 && !done; calls++) {
      await vi.waitUntil(() => done || asked() === calls);
      // It may have been away for as long as the first ones took.
      if (calls <= 6) expect(done).toBe(false);
      await vi.advanceTimersByTimeAsync(4_000);
    }
    expect(done).toBe(true);
    expect(await looking).toMatchObject({ alive: false });
  });

  it('that has taken the place of a dead one while that was watched is the one that is named', async () => {
    await hold();
    await held![Symbol.asyncDispose]();
    const looks = (): number => cluster.calls.filter((call) => call.startsWith('get')).length;
    const looking = readHolder(work(), ref, at('there', false));
    await vi.waitUntil(() => looks() === 2);
    cluster.drop('Lease', ref.name, 'shop');
    held = await holdLease(object).apply(work('s2'), { ...holder, user: 'bob' });
    await vi.waitUntil(() => looks() >= 3);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await looking).toMatchObject({ sessionId: 's2', identity: 'bob@here (pid 42)', alive: true });
  });

  it('of another machine is dead when its Lease is deleted while it is watched', async () => {
    await hold();
    const looking = readHolder(work(), ref, at('there', false));
    await vi.advanceTimersByTimeAsync(100);
    cluster.drop('Lease', ref.name, 'shop');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await looking).toMatchObject({ alive: false });
  });
});

describe('a Lease that somebody else wrote', () => {
  it('says of the targets only their names, which are printed', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const text = JSON.stringify({ ...holder, targets: [{ ...object, more: 'deep' }] }).replace(
      '"deep"',
      deep,
    );
    const metadata = { name: ref.name, namespace: 'shop', annotations: { [HOLDER_ANNOTATION]: text } };
    expect(holderOf({ metadata, spec: {} })).toEqual({ ...holder, targets: [object] });
  });

  it.each([
    ...['', 'null', '7', '[]', '{}', '{"user":"ann"}'],
    ...[
      { pid: -1 },
      { pid: 0 },
      { pid: 1.5 },
      { pid: '42' },
      { host: 7 },
      { targets: null },
      { targets: [null] },
      { targets: [{ kind: 'Service' }] },
      { targets: [{ kind: 'Service', name: 'x', namespace: 7 }] },
      { processStart: undefined },
    ].map((change) => JSON.stringify({ ...holder, ...change })),
  ])('names no holder: %s', async (text) => {
    await hold();
    cluster.edit<Lease>('Lease', ref.name, 'shop', ({ metadata }) => {
      metadata.annotations![HOLDER_ANNOTATION] = text;
    });
    expect(holderOf(lease()!)).toBeUndefined();
  });

  it.each([
    [0, 14_000, 3_000],
    [-5, 14_000, 3_000],
    [1e9, 14_000, 3_000],
  ])('with a duration of %s s is watched for a time that makes sense', async (seconds, before, after) => {
    await hold();
    await held![Symbol.asyncDispose]();
    cluster.edit<Lease>('Lease', ref.name, 'shop', ({ spec }) => {
      spec.leaseDurationSeconds = seconds;
    });
    const looking = readHolder(work(), ref, at('there', false));
    let done = false;
    void looking.then(() => (done = true));
    await vi.advanceTimersByTimeAsync(before);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(after);
    expect(await looking).toMatchObject({ alive: false });
  });
});
