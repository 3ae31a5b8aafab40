/** What `down` and its dry run leave as it is, because somebody else changed it. */
import { beforeEach, expect, it } from 'vitest';
import type { EndpointSlice, Endpoints, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { SERVICE_NAME } from '../../../src/cluster/takeover/endpoints.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { holdLease } from '../../../src/cluster/takeover/lease.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { pointToAddress, swapSelector } from '../../../src/cluster/takeover/service.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { printRestore } from '../../../src/session/end/dry-run.ts';
import { restore } from '../../../src/session/end/restore.ts';
import { refuseUnfinished } from '../../../src/session/end/unfinished.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';

const HOOK = { kind: 'Service', namespace: 'shop', name: 'hook' } as const;
const MANAGER = { kind: 'Deployment', namespace: 'shop', name: 'manager' } as const;
const UNDO = 'devloop.dev/undo';
let cluster: FakeCluster;
let events: DevloopEvent[];
const work = () => ({
  ...{ api: cluster.api, sessionId: 's1' },
  emit: (event: DevloopEvent) => void events.push(event),
  signal: new AbortController().signal,
});
const look = () => findMarked(cluster.api, ['shop'], { sessionId: 's1' });
const end = () => restore(work(), ['shop'], { managerReadySeconds: 0, taken: [HOOK, MANAGER] });
const leases = async () => (await look()).marked.filter(({ ref }) => ref.kind === 'Lease').length;

beforeEach(async () => {
  events = [];
  cluster = fakeCluster();
  const spec = { selector: { app: 'shop' }, ports: [{ port: 443 }] };
  const service = cluster.put<Service>('Service', { metadata: { name: 'hook', namespace: 'shop' }, spec });
  const object = cluster.put<Workload>('Deployment', {
    metadata: { name: 'manager', namespace: 'shop' },
    spec: { replicas: 2, selector: {}, template: { spec: { containers: [] } } },
  });
  const holder = {
    user: 'ann',
    host: 'desk',
    pid: 7,
    processStart: '',
    since: '',
    route: 'relay',
    health: '',
  };
  for (const ref of [HOOK, MANAGER]) {
    const lease = await holdLease(ref).apply(work(), { ...holder, targets: [HOOK, MANAGER] });
    await lease![Symbol.asyncDispose]();
  }
  await swapSelector(work(), service, undefined);
  await deploymentPause.pause({ ref: MANAGER, object }).apply(work());
});

const setUndo = (undo: string): void =>
  void cluster.edit<Service>('Service', 'hook', 'shop', ({ metadata }) => {
    metadata.annotations = { [UNDO]: undo };
  });
const scale = (replicas: number): void =>
  void cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ spec }) => {
    spec.replicas = replicas;
  });
const strip = (): void =>
  void cluster.edit<Workload>('Deployment', 'manager', 'shop', ({ metadata }) => {
    metadata.labels = {};
  });

it('a session keeps its Leases as long as an object keeps its mark, and counts what is restored', async () => {
  const undo = cluster.read<Service>('Service', 'hook', 'shop')!.metadata.annotations![UNDO]!;
  setUndo('broken');
  expect(await end()).toMatchObject({ changes: 1, left: [{ ref: HOOK }] });
  expect(await leases()).toBe(2);
  expect(await end()).toMatchObject({ changes: 0, left: [{ ref: HOOK }] });
  expect(await leases()).toBe(2);
  setUndo(undo);
  expect(await end()).toMatchObject({ changes: 1, left: [] });
  expect((await look()).marked).toEqual([]);
});

it('an object that lost its mark, or is restored but for a field, keeps no Lease', async () => {
  scale(5);
  expect(await end()).toMatchObject({ changes: 2, left: [{ ref: MANAGER }] });
  expect(await leases()).toBe(0);
});

it('an object that was restored by hand, and lost what the hint says, leaves nothing to report', async () => {
  setUndo('broken');
  await printRestore(work(), await look(), undefined);
  const warning = events.find(({ type }) => type === 'warning');
  expect(warning).toMatchObject({
    hint: expect.stringMatching(
      /label service hook devloop\.dev\/session- && kubectl .* annotate service hook devloop\.dev\/undo-$/,
    ),
  });
  cluster.edit<Service>('Service', 'hook', 'shop', ({ metadata, spec }) => {
    metadata.labels = {};
    metadata.annotations = {};
    spec.selector = { app: 'shop' };
  });
  expect(await end()).toMatchObject({ left: [] });
  expect((await look()).marked).toEqual([]);
});

it.each<[string, () => void, object[]]>([
  ['nothing', () => {}, []],
  ['an undo that cannot be read', () => setUndo('broken'), [HOOK]],
  ['a field', () => scale(5), [MANAGER]],
  ['the labels', strip, [MANAGER]],
  [
    'an undo and a field',
    () => {
      setUndo('broken');
      scale(5);
    },
    [HOOK, MANAGER],
  ],
])('the dry run fails as down does where somebody changed %s', async (_, change, objects) => {
  change();
  const planned = await printRestore(work(), await look(), undefined);
  expect(planned.map(({ ref }) => ref)).toEqual(expect.arrayContaining(objects));
  const { left } = await end();
  expect(new Set(left)).toEqual(new Set(planned));
  const refuse = () => refuseUnfinished(planned, []);
  if (objects.length === 0) return expect(refuse).not.toThrow();
  for (const { kind, name } of objects as (typeof HOOK)[]) {
    const message = expect.stringContaining(`${kind} shop/${name}`);
    expect(refuse).toThrow(expect.objectContaining({ code: 'undo.incomplete', exitCode: 4, message }));
    const code = expect.stringMatching(/^restore\.(kept|undo-broken)$/);
    const values = expect.objectContaining({ object: { kind, namespace: 'shop', name } });
    expect(events).toContainEqual(expect.objectContaining({ code, values }));
  }
});

it('the dry run fails as down does where the account is not allowed to list what the session changed', async () => {
  cluster.hook = {
    before: (verb, what) => {
      if (verb === 'list' && what.startsWith('Deployment')) throw refusal(403, 'Forbidden', 'no');
    },
  };
  const refused = { code: 'cluster.forbidden', message: expect.stringContaining('deployments in shop') };
  await expect(printRestore(work(), await look(), undefined)).rejects.toMatchObject(refused);
  await expect(end()).rejects.toMatchObject(refused);
});

it('the dry run leaves it to a session that is alive to guard what it changed', async () => {
  scale(5);
  const holder = { sessionId: 's1', identity: 'ann', holder: undefined, alive: true, local: true };
  expect(await printRestore(work(), await look(), holder)).toEqual([]);
  expect(events).toContainEqual(expect.objectContaining({ type: 'note' }));
});

it('hand-made endpoints that have lost their label, but not their undo, are named', async () => {
  const metadata = { namespace: 'shop', name: 'by-hand' };
  const service = cluster.put<Service>('Service', { metadata, spec: { ports: [{ port: 443 }] } });
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 9443 }] }];
  cluster.put<Endpoints>('Endpoints', { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
  cluster.put<EndpointSlice>('EndpointSlice', {
    metadata: { ...metadata, labels: { [SERVICE_NAME]: 'by-hand' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.2'] }],
  });
  const to = { address: '10.0.0.7', ports: [{ name: '', port: 1 }] };
  await pointToAddress(service, '').apply(work(), () => to);
  const kinds = ['Endpoints', 'EndpointSlice'] as const;
  for (const kind of kinds)
    cluster.edit(kind, 'by-hand', 'shop', ({ metadata: { labels } }) => {
      delete labels!['devloop.dev/session'];
    });
  const kept = [{ fault: `still has ${UNDO}`, isUnmarked: true }];
  const expected = kinds.map((kind) => ({ ref: { kind, ...metadata }, kept }));
  expect(await printRestore(work(), await look(), undefined)).toEqual(expected);
  expect((await end()).left).toEqual(expected);
});
