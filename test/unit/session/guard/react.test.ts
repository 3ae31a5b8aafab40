import { beforeEach, expect, it } from 'vitest';
import type { Service } from '../../../../src/cluster/api/objects.ts';
import { restoreChange } from '../../../../src/cluster/marks/change.ts';
import type { FieldChange } from '../../../../src/cluster/marks/marks.ts';
import { SELECTOR } from '../../../../src/cluster/marks/selector.ts';
import { undoOf } from '../../../../src/cluster/marks/undo.ts';
import { swapSelector } from '../../../../src/cluster/takeover/service.ts';
import { DevloopError } from '../../../../src/errors.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { type GuardedObject, type Memory, react } from '../../../../src/session/guard/react.ts';
import { type FakeCluster, fakeCluster } from '../../../support/fake-cluster.ts';

const REF = { kind: 'Service', namespace: 'shop', name: 'hook' } as const;
const LABELS = { app: 'shop' };

let cluster: FakeCluster;
let events: DevloopEvent[];
let followedUp: number;
let guarded: GuardedObject;
let memory: Memory;

const read = (): Service => cluster.read<Service>('Service', 'hook', 'shop')!;
const work = () => ({
  api: cluster.api,
  sessionId: 'abc',
  emit: (event: DevloopEvent) => void events.push(event),
  signal: new AbortController().signal,
});
const select = (selector: Record<string, string>): void =>
  cluster.edit<Service>('Service', 'hook', 'shop', ({ spec }) => (spec.selector = selector));
const reactNow = () => react(work(), guarded, memory, read());

beforeEach(async () => {
  cluster = fakeCluster();
  events = [];
  followedUp = 0;
  const service = cluster.put<Service>('Service', {
    metadata: { name: 'hook', namespace: 'shop' },
    spec: { selector: LABELS },
  });
  await swapSelector(work(), service, undefined);
  guarded = { ref: REF, own: SELECTOR, again: async () => void followedUp++ };
  memory = { changes: undoOf(read(), SELECTOR) as FieldChange[], writes: [], tries: [], isHalfDone: false };
});

async function restoredSelector(): Promise<unknown> {
  expect(await restoreChange(work(), REF, SELECTOR)).toEqual([]);
  return read().spec.selector;
}

it('writes the object again with all that follows, and restores what others wanted', async () => {
  select({ app: 'new' });
  expect(await reactNow()).toBeUndefined();
  expect(read().spec.selector).toBeUndefined();
  expect(followedUp).toBe(1);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'guard.overwritten', field: 'spec.selector' }),
  );
  expect(await reactNow()).toBeUndefined();
  expect(followedUp).toBe(1);
  expect(await restoredSelector()).toEqual({ app: 'new' });
});

it('leaves the object to whoever wrote in between, who is seen next', async () => {
  const old = { ...read(), spec: { selector: LABELS } };
  select({ app: 'new' });
  expect(await react(work(), guarded, memory, old)).toBeUndefined();
  expect(read().spec.selector).toEqual({ app: 'new' });
  expect(await reactNow()).toBeUndefined();
  expect(await restoredSelector()).toEqual({ app: 'new' });
});

it('knows its own write again when the answer was lost', async () => {
  select({ app: 'new' });
  cluster.hook = {
    after(verb) {
      if (verb === 'patch') throw new DevloopError('cluster.unreachable', 'socket hang up');
    },
  };
  await expect(reactNow()).rejects.toMatchObject({ code: 'cluster.unreachable' });
  cluster.hook = {};
  expect(await reactNow()).toBeUndefined();
  expect(followedUp).toBe(1);
  expect(await restoredSelector()).toEqual({ app: 'new' });
});

it('completes what has to follow when that failed', async () => {
  select(LABELS);
  const again = guarded.again!;
  guarded.again = () => Promise.reject(new Error('no endpoints'));
  await expect(reactNow()).rejects.toThrow('no endpoints');
  guarded.again = again;
  expect(await reactNow()).toBeUndefined();
  expect(followedUp).toBe(1);
});

it('gives up after some writes within a minute', async () => {
  for (let write = 0; write < 5; write++) {
    select(LABELS);
    expect(await reactNow()).toBeUndefined();
  }
  select(LABELS);
  expect(await reactNow()).toMatchObject({ code: 'session.overwritten' });
  expect(read().spec.selector).toEqual(LABELS);
  memory.writes = memory.writes.map((at) => at - 60_000);
  expect(await reactNow()).toBeUndefined();
});

it('names the object that was deleted', async () => {
  cluster.drop('Service', 'hook', 'shop');
  expect(await react(work(), guarded, memory, undefined)).toMatchObject({ code: 'target.gone' });
  // A manager may delete its webhook configurations when it stops, and create them again.
  guarded.isOptional = true;
  expect(await react(work(), guarded, memory, undefined)).toBeUndefined();
});

const change = (spec: Partial<Service['spec']>): Promise<unknown> =>
  cluster.as('kubectl').patch(REF, 'merge', { spec });

it.each<[string, Partial<Service['spec']>, Partial<Service['spec']>, string]>([
  [
    'spec.type',
    { type: 'ExternalName' },
    { type: 'NodePort' },
    `kubectl -n shop patch service hook -p '{"spec":{"type":"NodePort"}}'`,
  ],
  ['spec.clusterIP', { clusterIP: 'None' }, { clusterIP: '10.0.0.7' }, 'kubectl -n shop delete service hook'],
  [
    'spec.internalTrafficPolicy',
    { internalTrafficPolicy: 'Local' },
    { internalTrafficPolicy: 'Cluster' },
    `kubectl -n shop patch service hook -p '{"spec":{"internalTrafficPolicy":"Cluster"}}'`,
  ],
])(
  'a Service whose %s others change no longer reaches this machine, which is said once',
  async (field, to, back, hint) => {
    await change({ type: 'NodePort', clusterIP: '10.0.0.7', internalTrafficPolicy: 'Cluster' });
    await reactNow();
    expect(events.filter(({ type }) => type === 'warning' || type === 'note')).toEqual([]);
    await change(to);
    await reactNow();
    // Another version of the same object.
    cluster.edit<Service>('Service', 'hook', 'shop', ({ metadata }) => (metadata.annotations!.a = 'b'));
    expect(await reactNow()).toBeUndefined();
    const warnings = events.filter(({ type }) => type === 'warning');
    expect(warnings).toMatchObject([
      {
        code: 'guard.uncallable',
        values: { service: REF, field, by: { manager: 'kubectl' }, before: 'NodePort' },
        hint: expect.stringContaining(hint),
      },
    ]);
    await change(back);
    await reactNow();
    await reactNow();
    expect(events.filter(({ type }) => type === 'note')).toMatchObject([
      { code: 'guard.callable-again', values: { service: REF } },
    ]);
    expect(read().spec).toMatchObject(back);
  },
);

it('a Service is not judged before it is taken over', async () => {
  await change({ type: 'ExternalName' });
  memory.changes = undefined;
  await reactNow();
  expect(events.filter(({ type }) => type === 'warning')).toEqual([]);
});
