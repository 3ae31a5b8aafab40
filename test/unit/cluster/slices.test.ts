import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import { writeEndpoints } from '../../../src/cluster/takeover/endpoints.ts';
import { pointToAddress } from '../../../src/cluster/takeover/service.ts';
import { DevloopError } from '../../../src/errors.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const metadata = { name: 'hook', namespace: 'shop' };
const to = { address: '10.0.0.7', ports: [{ name: '', port: 40_001 }] };
let cluster: FakeCluster;
const work = () => ({
  api: cluster.api,
  sessionId: 's1',
  emit: () => {},
  signal: new AbortController().signal,
});
const service = (): Service => cluster.read<Service>('Service', 'hook', 'shop')!;

const putSlice = (): EndpointSlice => cluster.put('EndpointSlice', controllerSlice('hook', ['10.1.0.9']));
const putSecondFamily = (): EndpointSlice =>
  cluster.put('EndpointSlice', controllerSlice('hook', ['fd00::9'], 'hook-y'));

/** The addresses in the slices of Kubernetes' controller. */
function left(): string[] {
  return cluster
    .names('EndpointSlice')
    .filter((name) => name !== 'hook-devloop-s1')
    .flatMap((name) => cluster.read<EndpointSlice>('EndpointSlice', name, 'shop')!.endpoints ?? [])
    .flatMap(({ addresses }) => addresses);
}

beforeEach(() => {
  cluster = fakeCluster();
  cluster.put<Service>('Service', { metadata, spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] } });
  cluster.put<Endpoints>('Endpoints', { metadata });
  putSlice();
});

afterEach(() => void vi.useRealTimers());

describe('before the slices of Kubernetes are emptied, it is told whether all endpoints lead to the address:', () => {
  const addresses = (): (string | undefined)[] =>
    cluster.names('EndpointSlice').map((name) => {
      const slice = cluster.read<EndpointSlice>('EndpointSlice', name, 'shop')!;
      return slice.endpoints?.[0]?.addresses[0];
    });

  async function seen(): Promise<(string | undefined)[] | undefined> {
    let found: (string | undefined)[] | undefined;
    await pointToAddress(service(), '').apply(
      work(),
      () => to,
      () => {
        found = addresses();
      },
    );
    expect(left()).toEqual([]);
    return found;
  }

  it('they do', async () => {
    expect(await seen()).toEqual(['10.0.0.7', '10.0.0.7']);
  });

  it('not with one of the other family', async () => {
    putSecondFamily();
    expect(await seen()).toBeUndefined();
  });

  it.each([
    ['somebody has just written', refusal(409, 'Conflict', 'the object has been modified')],
    ['somebody has just deleted', refusal(404, 'NotFound')],
    ['the API server had no time for', refusal(503, 'ServiceUnavailable')],
    ['was written, but the answer was lost', new DevloopError('cluster.unreachable', 'socket hang up')],
  ])('not with one that %s', async (_, error) => {
    let refused = false;
    cluster.hook = {
      before(verb, what) {
        if (verb !== 'replace' || !what.includes('hook-x') || refused) return;
        refused = true;
        throw error;
      },
    };
    expect(await seen()).toBeUndefined();
  });
});

it('an API server that takes long for each list is not taken for somebody who writes slices', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  cluster.hook = { before: (verb) => void (verb === 'list' && vi.advanceTimersByTime(40_000)) };
  await pointToAddress(service(), '').apply(work(), () => to);
  expect(left()).toEqual([]);
});

it('the slices of Kubernetes stay, because their controller waits for one that is gone', async () => {
  putSecondFamily();
  await pointToAddress(service(), '').apply(work(), () => to);
  expect(cluster.names('EndpointSlice')).toEqual(['hook-x', 'hook-y', 'hook-devloop-s1']);
  expect(left()).toEqual([]);
});

it('a mirrored slice is deleted, because it has no place beside a selector', async () => {
  cluster.edit<EndpointSlice>('EndpointSlice', 'hook-x', 'shop', ({ metadata: { labels } }) => {
    labels!['endpointslice.kubernetes.io/managed-by'] = 'endpointslicemirroring-controller.k8s.io';
  });
  await pointToAddress(service(), '').apply(work(), () => to);
  expect(cluster.names('EndpointSlice')).toEqual(['hook-devloop-s1']);
});

/** Fills the slice again after each write that empties it, as a controller does that still knows the selector. */
function refillEachTime(meanwhile: () => void): { times: number } {
  const refilled = { times: 0 };
  cluster.hook = {
    after(verb, what) {
      const isEmptied = verb === 'replace' && what.includes('hook-x') && left().length === 0;
      if (!isEmptied) return;
      refilled.times++;
      meanwhile();
      putSlice();
    },
  };
  return refilled;
}

it('slices that are filled because the Service was restored meanwhile are left alone', async () => {
  const refilled = refillEachTime(() =>
    cluster.edit<Service>('Service', 'hook', 'shop', (now) => {
      now.spec.selector = { app: 'shop' };
      delete now.metadata.labels;
    }),
  );
  await pointToAddress(service(), '').apply(work(), () => to);
  expect(refilled.times).toBe(1);
  expect(left()).toEqual(['10.1.0.9']);
});

it('slices that are filled although the Service has no selector are emptied for a minute, and then reported', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const refilled = refillEachTime(() => vi.advanceTimersByTime(13_000));
  await expect(pointToAddress(service(), '').apply(work(), () => to)).rejects.toMatchObject({
    code: 'change.conflict',
    message: expect.stringMatching(/Service shop\/hook .*: hook-x\./),
  });
  expect(refilled.times).toBe(5);
});

it('a session that ends does not go on emptying slices', async () => {
  const ending = new AbortController();
  const refilled = refillEachTime(() => ending.abort());
  await pointToAddress(service(), '').apply({ ...work(), signal: ending.signal }, () => to);
  expect(refilled.times).toBe(1);
});

it('a slice that is deleted between a look and the write is created', async () => {
  await writeEndpoints(work(), service(), () => to);
  let once = true;
  cluster.hook = {
    before(verb, what) {
      if (verb !== 'replace' || !what.startsWith('EndpointSlice') || !once) return;
      once = false;
      cluster.drop('EndpointSlice', 'hook-devloop-s1', 'shop');
    },
  };
  await writeEndpoints(work(), service(), () => ({ ...to, address: '10.0.0.8' }));
  const slice = cluster.read<EndpointSlice>('EndpointSlice', 'hook-devloop-s1', 'shop');
  expect(slice?.endpoints).toMatchObject([{ addresses: ['10.0.0.8'] }]);
});
