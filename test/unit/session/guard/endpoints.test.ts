import { beforeEach, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../../src/cluster/api/objects.ts';
import { type Destination, pointersOf, writeEndpoints } from '../../../../src/cluster/takeover/endpoints.ts';
import { swapSelector } from '../../../../src/cluster/takeover/service.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { reactToPointer } from '../../../../src/session/guard/endpoints.ts';
import { noRounds } from '../../../../src/session/guard/rounds.ts';
import { type FakeCluster, fakeCluster } from '../../../support/fake-cluster.ts';

const REF = { kind: 'Service', namespace: 'shop', name: 'hook' } as const;
const SLICE = 'hook-devloop-abc';

let cluster: FakeCluster;
let events: DevloopEvent[];
let to: Destination;
let service: Service;

const work = () => ({
  api: cluster.api,
  sessionId: 'abc',
  emit: (event: DevloopEvent) => void events.push(event),
  signal: new AbortController().signal,
});
const slice = () => cluster.read<EndpointSlice>('EndpointSlice', SLICE, 'shop');
const endpoints = () => cluster.read<Endpoints>('Endpoints', 'hook', 'shop');

beforeEach(async () => {
  cluster = fakeCluster();
  to = { address: '10.0.0.7', ports: [{ name: '', port: 1 }] };
  service = cluster.put<Service>('Service', {
    metadata: { name: 'hook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  cluster.put<Endpoints>('Endpoints', { metadata: { name: 'hook', namespace: 'shop' } });
  events = [];
  await swapSelector(work(), service, undefined);
  await writeEndpoints(work(), service, () => to);
  events = [];
});

/** Shows the guard both objects as they are, after this many recent writes. */
async function reactNow(writes: number[] = []): Promise<unknown[]> {
  const pointers = pointersOf(service, 'abc', () => to);
  return await Promise.all(
    pointers.map((pointer) => {
      const now = pointer.ref.kind === 'EndpointSlice' ? slice() : endpoints();
      return reactToPointer(work(), { ...pointer, service: REF }, { ...noRounds(), writes }, now);
    }),
  );
}

it('an EndpointSlice and Endpoints that were deleted are created again', async () => {
  cluster.drop('EndpointSlice', SLICE, 'shop');
  cluster.drop('Endpoints', 'hook', 'shop');
  expect(await reactNow()).toEqual([undefined, undefined]);
  expect(slice()?.endpoints).toMatchObject([{ addresses: ['10.0.0.7'] }]);
  expect(endpoints()).toMatchObject({
    metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: [{ addresses: [{ ip: '10.0.0.7' }] }],
  });
  const deleted = events.flatMap((event) => (event.type === 'guard.deleted' ? [event.object.kind] : []));
  expect(deleted.sort()).toEqual(['EndpointSlice', 'Endpoints']);
  expect(await reactNow()).toEqual([undefined, undefined]);
  expect(events.filter(({ type }) => type === 'guard.deleted')).toHaveLength(2);
});

it('what others write into them is written again, with who it was, and what else they wrote stays', async () => {
  cluster.edit<EndpointSlice>('EndpointSlice', SLICE, 'shop', (now) => {
    now.endpoints = [{ addresses: ['10.9.9.9'] }];
    now.metadata.labels!.theirs = 'kept';
    const fieldsV1 = { 'f:endpoints': {} };
    now.metadata.managedFields = [{ manager: 'meddler', operation: 'Update', fieldsV1 }];
  });
  cluster.edit<Endpoints>('Endpoints', 'hook', 'shop', ({ metadata }) => delete metadata.labels);
  expect(await reactNow()).toEqual([undefined, undefined]);
  expect(slice()).toMatchObject({
    metadata: { labels: { theirs: 'kept' } },
    endpoints: [{ addresses: ['10.0.0.7'] }],
  });
  expect(endpoints()?.metadata.labels).toMatchObject({ 'devloop.dev/session': 'abc' });
  const by = { manager: 'meddler', operation: 'Update' };
  const overwritten = events.filter(({ type }) => type === 'guard.overwritten');
  expect(overwritten).toContainEqual(expect.objectContaining({ field: 'endpoints', by }));
  expect(overwritten).toContainEqual(
    expect.objectContaining({ field: 'metadata.labels.devloop.dev/session', to: 'null' }),
  );
});

it('they are left to the controllers while the Service has a selector, and to another session', async () => {
  cluster.drop('EndpointSlice', SLICE, 'shop');
  cluster.edit<Service>('Service', 'hook', 'shop', ({ spec }) => (spec.selector = { app: 'shop' }));
  expect(await reactNow()).toEqual([undefined, undefined]);
  cluster.edit<Service>('Service', 'hook', 'shop', ({ metadata, spec }) => {
    delete spec.selector;
    metadata.labels = { 'devloop.dev/session': 'other' };
  });
  expect(await reactNow()).toEqual([undefined, undefined]);
  cluster.drop('Service', 'hook', 'shop');
  expect(await reactNow()).toEqual([undefined, undefined]);
  expect([slice(), events]).toEqual([undefined, []]);
});

it("a port that changed and is being written by devloop is nobody's overwriting", async () => {
  const fieldsV1 = { 'f:ports': {}, 'f:subsets': {} };
  for (const [kind, name] of [
    ['EndpointSlice', SLICE],
    ['Endpoints', 'hook'],
  ] as const)
    cluster.edit(kind, name, 'shop', ({ metadata }) => {
      metadata.managedFields = [{ manager: 'devloop', operation: 'Update', fieldsV1 }];
    });
  to = { ...to, ports: [{ name: '', port: 2 }] };
  cluster.calls.length = 0;
  expect(await reactNow()).toEqual([undefined, undefined]);
  expect(cluster.calls).toEqual([]);
});

it('five writes within a minute are the last ones', async () => {
  const now = performance.now();
  cluster.drop('EndpointSlice', SLICE, 'shop');
  cluster.edit<Endpoints>('Endpoints', 'hook', 'shop', (endpoints) => delete endpoints.subsets);
  const given = { code: 'session.overwritten', hint: expect.stringContaining('--route relay') };
  expect(await reactNow([now, now, now, now, now])).toMatchObject([given, given]);
  expect(slice()).toBeUndefined();
  expect(await reactNow([now, now, now, now, now - 60_000])).toEqual([undefined, undefined]);
  expect(slice()).toBeDefined();
});
