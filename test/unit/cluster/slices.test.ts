import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import { writeEndpoints } from '../../../src/cluster/takeover/endpoints.ts';
import { pointToAddress } from '../../../src/cluster/takeover/service.ts';
import { DevloopError } from '../../../src/errors.ts';
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

function putSlice(addressType: EndpointSlice['addressType'] = 'IPv4'): void {
  cluster.put<EndpointSlice>('EndpointSlice', {
    metadata: {
      name: addressType === 'IPv4' ? 'hook-x' : 'hook-y',
      namespace: 'shop',
      labels: {
        'kubernetes.io/service-name': 'hook',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
    },
    addressType,
    endpoints: [],
  });
}

beforeEach(() => {
  cluster = fakeCluster();
  cluster.put<Service>('Service', { metadata, spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] } });
  cluster.put<Endpoints>('Endpoints', { metadata });
  putSlice();
});

afterEach(() => void vi.useRealTimers());

describe('before the slices of Kubernetes are deleted, it is told whether all endpoints lead to the address:', () => {
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
    expect(cluster.names('EndpointSlice')).toEqual(['hook-devloop-s1']);
    return found;
  }

  it('they do', async () => {
    expect(await seen()).toEqual(['10.0.0.7', '10.0.0.7']);
  });

  it('not with one of the other family', async () => {
    putSlice('IPv6');
    expect(await seen()).toBeUndefined();
  });

  it.each([
    ['somebody has just written', refusal(409, 'Conflict', 'the object has been modified')],
    ['somebody has just deleted', refusal(404, 'NotFound')],
    ['the API server had no time for', refusal(503, 'ServiceUnavailable')],
    ['was written, but the answer was lost', new DevloopError('cluster.unreachable', 'socket hang up')],
  ])('not with one that %s', async (_, error) => {
    cluster.hook = {
      before(verb, what) {
        if (verb === 'replace' && what.includes('hook-x')) throw error;
      },
    };
    expect(await seen()).toBeUndefined();
  });
});

it('an API server that takes seconds for each list is not taken for somebody who creates slices', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  cluster.hook = { before: (verb) => void (verb === 'list' && vi.advanceTimersByTime(6_000)) };
  await pointToAddress(service(), '').apply(work(), () => to);
  expect(cluster.names('EndpointSlice')).toEqual(['hook-devloop-s1']);
});

it('slices that come back because the Service was restored meanwhile are left alone', async () => {
  let removals = 0;
  cluster.hook = {
    after(verb, what) {
      if (verb !== 'remove' || !what.startsWith('EndpointSlice')) return;
      removals++;
      cluster.edit<Service>('Service', 'hook', 'shop', (now) => {
        now.spec.selector = { app: 'shop' };
        delete now.metadata.labels;
      });
      putSlice();
    },
  };
  await pointToAddress(service(), '').apply(work(), () => to);
  expect(removals).toBe(1);
  expect(cluster.names('EndpointSlice')).toContain('hook-x');
});

it('slices that come back although the Service has no selector are reported', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  cluster.hook = {
    after(verb, what) {
      if (verb !== 'remove' || !what.startsWith('EndpointSlice')) return;
      vi.advanceTimersByTime(6_000);
      putSlice();
    },
  };
  await expect(pointToAddress(service(), '').apply(work(), () => to)).rejects.toMatchObject({
    code: 'change.conflict',
  });
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
