import { beforeEach, describe, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../../../src/cluster/api/objects.ts';
import { sessionOf } from '../../../src/cluster/marks/marks.ts';
import { SKIP_MIRROR, UNDO_ANNOTATION } from '../../../src/cluster/names.ts';
import { moveEndpoints, SERVICE_NAME } from '../../../src/cluster/takeover/endpoints.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { removeCreated, restoreServices } from '../../../src/cluster/takeover/restore-steps.ts';
import { pointToAddress } from '../../../src/cluster/takeover/service.ts';
import { emptyLateSlices } from '../../../src/cluster/takeover/slices.ts';
import { controllerSlice } from '../../support/controller-slice.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';

const metadata = { name: 'hook', namespace: 'shop' };
const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 9443 }] }];
const to = (port: number) => () => ({ address: '10.0.0.7', ports: [{ name: '', port }] });

let cluster: FakeCluster;
let before: KubeObject[];

const work = () => ({
  api: cluster.as('devloop'),
  sessionId: 's1',
  emit: () => {},
  signal: new AbortController().signal,
});
const service = (): Service => cluster.read<Service>('Service', 'hook', 'shop')!;
const endpoints = (): Endpoints => cluster.read<Endpoints>('Endpoints', 'hook', 'shop')!;
const slice = (name: string): EndpointSlice => cluster.read<EndpointSlice>('EndpointSlice', name, 'shop')!;

function contents(): KubeObject[] {
  const objects = [service(), endpoints(), ...cluster.names('EndpointSlice').map(slice)];
  return objects.map(
    ({ metadata: { resourceVersion: _, managedFields: __, generation: ___, ...rest }, ...object }) => {
      return { ...object, metadata: rest };
    },
  );
}

beforeEach(() => {
  cluster = fakeCluster();
  cluster.put<Service>('Service', { metadata, spec: { ports: [{ port: 443 }] } });
  const byHand = { ...metadata, labels: { by: 'hand' }, annotations: { note: 'mine' } };
  cluster.put<Endpoints>('Endpoints', { apiVersion: 'v1', kind: 'Endpoints', metadata: byHand, subsets });
  const labels = { [SERVICE_NAME]: 'hook' };
  cluster.put<EndpointSlice>('EndpointSlice', {
    metadata: { ...metadata, name: 'by-hand', labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.2'] }],
  });
  // Kubernetes left it behind when the selector was removed.
  cluster.put('EndpointSlice', controllerSlice('hook', ['10.1.0.9']));
  before = contents();
});

async function adopt(): Promise<Service> {
  const seen = service();
  await pointToAddress(seen, '').apply(work(), to(1));
  return seen;
}

async function restore() {
  const { marked } = await findMarked(cluster.api, [], { sessionId: 's1' });
  const left = await restoreServices(work(), marked);
  await removeCreated(work(), marked);
  return left.flatMap(({ kept }) => kept);
}

describe('a Service without a selector', () => {
  it('gets only endpoints of the session, and then everything back, field for field', async () => {
    await adopt();
    expect(sessionOf(service())).toBe('s1');
    expect(endpoints().subsets![0]!.addresses).toEqual([{ ip: '10.0.0.7' }]);
    expect(endpoints().metadata.labels).toMatchObject({ by: 'hand', [SKIP_MIRROR]: 'true' });
    expect(cluster.names('EndpointSlice').filter((name) => (slice(name).endpoints ?? []).length > 0)).toEqual(
      ['hook-devloop-s1'],
    );
    expect(await restore()).toEqual([]);
    expect(contents()).toEqual(before);
  });

  it.each([
    'before the Endpoints are written',
    'after the Endpoints are written',
    'after the Service is marked',
    'after the slice of the session is written',
  ])('is as before if devloop is killed %s', async (when) => {
    const killed = ['replace Endpoints', 'patch Service', 'create EndpointSlice', 'replace EndpointSlice'];
    const whens = ['before the E', 'after the E', 'after the Service', 'after the slice'];
    const call = killed[whens.findIndex((one) => when.startsWith(one))]!;
    cluster.hook.before = (verb, what) => {
      if (`${verb} ${what}`.startsWith(call)) throw new Error('killed');
    };
    await expect(adopt()).rejects.toThrow('killed');
    cluster.hook = {};
    await restore();
    expect(contents()).toEqual(before);
  });

  it('gets its endpoints back after the port has changed twice', async () => {
    const seen = await adopt();
    await moveEndpoints(work(), seen, to(2));
    await moveEndpoints(work(), seen, to(3));
    expect(endpoints().subsets![0]!.ports![0]!.port).toBe(3);
    await restore();
    expect(contents()).toEqual(before);
  });

  it('gets back the order in which the API server keeps the ports of Endpoints', async () => {
    const ports = ['a', 'b'].map((name, index) => ({ name, port: index + 1 }));
    await pointToAddress(service(), '').apply(work(), () => ({ address: '10.0.0.7', ports }));
    cluster.edit<Endpoints>('Endpoints', 'hook', 'shop', ({ subsets: all }) => all![0]!.ports!.reverse());
    expect(await restore()).toEqual([]);
    expect(contents()).toEqual(before);
  });

  it('gets back what somebody else wrote into its endpoints during the session', async () => {
    const seen = await adopt();
    const others = cluster.as('kubectl');
    const theirs = [{ addresses: [{ ip: '192.0.2.3' }], ports: [{ port: 1 }] }];
    await others.replace({ kind: 'Endpoints', ...metadata }, { ...endpoints(), subsets: theirs });
    const again = [{ addresses: ['192.0.2.4'] }];
    const ref = { kind: 'EndpointSlice', namespace: 'shop', name: 'by-hand' } as const;
    await others.replace(ref, { ...slice('by-hand'), endpoints: again });
    expect(await emptyLateSlices(work(), seen)).toBe(true);
    await moveEndpoints(work(), seen, to(2));
    expect(endpoints().subsets![0]!.addresses).toEqual([{ ip: '10.0.0.7' }]);
    expect(slice('by-hand').endpoints).toBeNull();
    expect(await restore()).toEqual([]);
    expect(endpoints().subsets).toEqual(theirs);
    expect(slice('by-hand').endpoints).toEqual(again);
  });

  it('keeps what somebody else wrote after the session was killed', async () => {
    await adopt();
    const theirs = [{ addresses: [{ ip: '192.0.2.3' }], ports: [{ port: 1 }] }];
    await cluster
      .as('kubectl')
      .replace({ kind: 'Endpoints', ...metadata }, { ...endpoints(), subsets: theirs });
    expect(await restore()).toMatchObject([{ path: ['subsets'], now: theirs, before: subsets }]);
    expect(endpoints().subsets).toEqual(theirs);
  });

  it('keeps endpoints whose undo devloop cannot have written, with the mark', async () => {
    await adopt();
    const forged = { v: 1, fields: [{ path: ['metadata', 'finalizers'], before: ['x/y'] }] };
    cluster.edit<Endpoints>('Endpoints', 'hook', 'shop', ({ metadata: { annotations } }) => {
      annotations![UNDO_ANNOTATION] = JSON.stringify(forged);
    });
    expect(await restore()).toMatchObject([{ fault: expect.stringContaining('metadata.finalizers') }]);
    expect(sessionOf(endpoints())).toBe('s1');
  });

  it('is not deleted with what its author wrote if its undo is gone', async () => {
    const labels = { by: 'kubectl' };
    const written = { ...endpoints(), metadata: { ...endpoints().metadata, labels } };
    await cluster.as('kubectl').replace({ kind: 'Endpoints', ...metadata }, written);
    await adopt();
    cluster.edit<Endpoints>('Endpoints', 'hook', 'shop', ({ metadata: { annotations } }) => {
      delete annotations![UNDO_ANNOTATION];
    });
    await expect(restore()).rejects.toMatchObject({
      ...{ code: 'change.conflict', message: expect.stringContaining('Endpoints shop/hook') },
    });
    expect(endpoints().metadata.labels).toMatchObject(labels);
  });

  it('is a slice that stays, and is reported, if its undo is gone', async () => {
    await adopt();
    cluster.edit<EndpointSlice>('EndpointSlice', 'by-hand', 'shop', ({ metadata: { annotations } }) => {
      delete annotations![UNDO_ANNOTATION];
    });
    await expect(restore()).rejects.toMatchObject({
      ...{ code: 'change.conflict', message: expect.stringContaining('EndpointSlice shop/by-hand') },
    });
    expect(cluster.names('EndpointSlice')).toContain('by-hand');
  });
});
