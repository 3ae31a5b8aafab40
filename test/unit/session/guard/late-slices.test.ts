import { beforeEach, expect, it } from 'vitest';
import type { EndpointSlice, Service } from '../../../../src/cluster/api/objects.ts';
import { writeEndpoints } from '../../../../src/cluster/takeover/endpoints.ts';
import { swapSelector } from '../../../../src/cluster/takeover/service.ts';
import { watchedSlices } from '../../../../src/session/guard/late-slices.ts';
import { pauseMs } from '../../../../src/session/guard/rounds.ts';
import { controllerSlice } from '../../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster } from '../../../support/fake-cluster.ts';

let cluster: FakeCluster;
let service: Service;
const work = () => ({
  api: cluster.api,
  sessionId: 'abc',
  emit: () => {},
  signal: new AbortController().signal,
});
const filled = () => cluster.read<EndpointSlice>('EndpointSlice', 'hook-x', 'shop')?.endpoints?.length;
const slices = () =>
  cluster.names('EndpointSlice').map((name) => cluster.read<EndpointSlice>('EndpointSlice', name, 'shop')!);

beforeEach(() => {
  cluster = fakeCluster();
  service = cluster.put<Service>('Service', {
    metadata: { name: 'hook', namespace: 'shop' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
  });
  cluster.put('EndpointSlice', controllerSlice('hook', ['10.1.0.9']));
});

const pointHere = () => writeEndpoints(work(), service, () => ({ address: '10.0.0.7', ports: [] }));

it('a slice that a controller fills after the cut-over is emptied, later and later if that does not end', async () => {
  await swapSelector(work(), service, undefined);
  await pointHere();
  const watched = watchedSlices(service);
  expect(watched.scope).toMatchObject({ labelSelector: 'kubernetes.io/service-name=hook' });
  await watched.react(work(), slices());
  expect(filled()).toBe(0);
  expect(pauseMs(watched.rounds)).toBeGreaterThan(0);
  await watched.react(work(), slices());
  expect(watched.rounds.writes).toHaveLength(1);
});

it('a slice is not emptied before the one that points here exists, because then no endpoint would be left', async () => {
  await swapSelector(work(), service, undefined);
  await watchedSlices(service).react(work(), slices());
  expect(filled()).toBe(1);
});

it('a slice of a Service that has its selector is left alone', async () => {
  await pointHere();
  await watchedSlices(service).react(work(), slices());
  expect(filled()).toBe(1);
});
