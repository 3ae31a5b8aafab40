import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Pod } from '../../../src/cluster/api/workloads.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { slicesBack, slicesLimitMs } from '../../../src/session/end/slices-back.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const ref = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;

test.each<[string, { isLate?: boolean; isBlocked?: boolean }[], boolean, number]>([
  ['a manager that is ready', [{}], false, 10_000],
  ['one that is not ready in time', [{}, { isLate: true }], false, 3_000],
  ['one whose Pods are refused', [{ isBlocked: true }], false, 3_000],
  ['one that was not ready before either', [{}], true, 3_000],
  ['no manager', [], false, 3_000],
])('slices of %s', (_, resumed, wasEmpty, limit) => {
  const left = resumed.map((one) => ({ ref, kept: [], ...one }));
  expect(slicesLimitMs(left, () => wasEmpty)).toBe(limit);
});

describe('when Kubernetes does not write the endpoints in time,', () => {
  const service = { kind: 'Service', namespace: 'shop', name: 'hook' } as const;
  let cluster: FakeCluster;
  let warnings: DevloopEvent[];
  let looks: number;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
    cluster = fakeCluster();
    warnings = [];
    looks = 0;
    cluster.put<Service>('Service', {
      metadata: { name: 'hook', namespace: 'shop' },
      spec: { selector: { app: 'shop' }, ports: [{ port: 443 }] },
    });
    cluster.put('EndpointSlice', controllerSlice('hook', []));
  });
  afterEach(() => void vi.useRealTimers());

  function putPod(status: 'True' | 'False'): void {
    const metadata = { name: 'manager-1', namespace: 'shop', labels: { app: 'shop' } };
    cluster.put<Pod>('Pod', { metadata, status: { conditions: [{ type: 'Ready', status }] } });
  }

  /** Each look takes 9 s; the endpoints come after this many looks. */
  async function waitWith(filledAfter: number): Promise<void> {
    cluster.hook.before = (verb, what) => {
      if (verb !== 'list' || !what.startsWith('EndpointSlice')) return;
      vi.advanceTimersByTime(9_000);
      if (++looks === filledAfter) cluster.put('EndpointSlice', controllerSlice('hook', ['10.1.0.9']));
    };
    const { signal } = new AbortController();
    const emit = (event: DevloopEvent): void => void warnings.push(event);
    const work = { api: cluster.api, sessionId: 's1', emit, signal };
    const restoring = { taken: [service], marked: [], resumed: [{ ref, kept: [] }] };
    await slicesBack(work, restoring, () => false);
  }

  it('a Pod that is ready is worth a longer wait', async () => {
    putPod('True');
    await waitWith(6);
    expect(looks).toBe(6);
    expect(warnings).toEqual([]);
  });

  it('after that wait, the Service is named', async () => {
    putPod('True');
    await waitWith(Number.POSITIVE_INFINITY);
    expect(warnings).toMatchObject([
      { code: 'restore.no-endpoints', values: { service: { namespace: 'shop', name: 'hook' } } },
    ]);
    expect(looks).toBeLessThan(12);
  });

  it('a Pod that is not ready is not waited for', async () => {
    putPod('False');
    await waitWith(Number.POSITIVE_INFINITY);
    expect(looks).toBe(2);
    expect(warnings).toEqual([]);
  });
});
