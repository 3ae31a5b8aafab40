/** What devloop changes and restores while others write to the same objects: random states, and random sequences of commands. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { Labels } from '../../../src/cluster/api/labels.ts';
import type {
  EndpointSlice,
  Endpoints,
  Json,
  KubeObject,
  Service,
} from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { applyChange, restoreChange } from '../../../src/cluster/marks/change.ts';
import { changePatch, type OwnChange, same, sessionOf } from '../../../src/cluster/marks/marks.ts';
import { isSelectorless, originalSelector, SELECTOR } from '../../../src/cluster/marks/selector.ts';
import { planUndo } from '../../../src/cluster/marks/undo.ts';
import { MANAGED_BY, RELAY_LABEL, relayLabels, SKIP_MIRROR } from '../../../src/cluster/names.ts';
import { SERVICE_NAME } from '../../../src/cluster/takeover/endpoints.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { ownChangeOf, removeCreated, restoreServices } from '../../../src/cluster/takeover/restore-steps.ts';
import { assertTakeable, pointToAddress } from '../../../src/cluster/takeover/service.ts';
import { hasControllerEndpoints } from '../../../src/cluster/takeover/slices.ts';
import type { Work } from '../../../src/cluster/work.ts';
import { DevloopError } from '../../../src/errors.ts';
import type { Emit } from '../../../src/report/events.ts';
import type { GuardedScope } from '../../../src/session/guard/guard.ts';
import { watchedObject } from '../../../src/session/guard/react.ts';
import { kubectlApply, type Manifest, replaced } from '../../support/appliers.ts';
import { type FakeCluster, fakeCluster } from '../../support/fake-cluster.ts';
import { settle } from '../../support/interleaving/controllers.ts';
import { withoutWaiting } from '../../support/interleaving/drive.ts';
import { applyJsonPatch } from '../../support/json-patch.ts';
import { checkAsyncProperty, checkProperty } from '../../support/repeat.ts';

const REPLICAS = ownChangeOf('Deployment')!;

const labels = fc.dictionary(
  fc.constantFrom('app', 'control-plane', 'example.com/a', 'b'),
  fc.constantFrom('', 'x', 'y'),
  { maxKeys: 3, noNullPrototype: true },
);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** Without the keys that are undefined, as the API server sends it. */
const sent = <T>(object: unknown): T => JSON.parse(JSON.stringify(object));

const metadata = fc.record({
  name: fc.constant('hook'),
  namespace: fc.constant('shop'),
  resourceVersion: fc.constant('7'),
  labels: optional(labels),
  annotations: optional(fc.dictionary(fc.constantFrom('note', 'meta.helm.sh/release-name'), fc.string())),
  finalizers: optional(fc.constant<string[]>(['example.com/stays'])),
});
const port = fc.record({
  name: optional(fc.constantFrom('https', 'metrics')),
  port: fc.constantFrom(443, 8443),
  targetPort: fc.constantFrom<(number | string)[]>(9443, 'webhook-server'),
});
const service: fc.Arbitrary<Service> = fc
  .record({
    metadata,
    spec: fc.record({
      selector: optional(labels),
      type: optional(fc.constantFrom('ClusterIP', 'NodePort', 'ExternalName')),
      clusterIP: optional(fc.constantFrom('10.0.0.1', 'fd00::1', 'None')),
      ipFamilies: optional(fc.subarray<'IPv4' | 'IPv6'>(['IPv4', 'IPv6'])),
      internalTrafficPolicy: optional(fc.constantFrom('Cluster', 'Local')),
      ports: fc.array(port, { minLength: 1, maxLength: 3 }),
    }),
  })
  .map(sent<Service>);
const deployment: fc.Arbitrary<Workload> = fc
  .record({ metadata, spec: fc.record({ replicas: optional(fc.nat(5)), paused: optional(fc.boolean()) }) })
  .map(sent<Workload>);

/** The selector that a session writes: none, or its relay's. */
type Selector = Record<string, string> | undefined;
const route = fc.constantFrom<('direct' | 'relay')[]>('direct', 'relay');
const selectorFor = (way: 'direct' | 'relay', session: string): Selector =>
  way === 'relay' ? relayLabels(session) : undefined;

/** The API server drops empty maps. */
function normal<T extends KubeObject>(object: T): T {
  const { labels: _l, annotations: _a, ...rest } = object.metadata;
  const maps = Object.entries({ labels: object.metadata.labels, annotations: object.metadata.annotations });
  const kept = maps.filter(([, map]) => Object.keys(map ?? {}).length > 0);
  return { ...object, metadata: { ...rest, ...Object.fromEntries(kept) } };
}

/** The same without an API server. */
function take<T extends KubeObject>(object: T, session: string, own: OwnChange, value: Selector | number): T {
  const { path } = own.fields[0]!;
  const wanted = [{ path, ...(value === undefined ? {} : { value }) }];
  return applyJsonPatch(object, changePatch(object, session, wanted, own.store));
}

function restore<T extends KubeObject>(object: T, own: OwnChange): { object: T; reported: boolean } {
  const plan = planUndo(object, own);
  if ('fault' in plan) return { object, reported: true };
  const kept = plan.fields.filter((field) => field.kept);
  for (const { to, before } of kept) expect(same(to, before)).toBe(false);
  return { object: applyJsonPatch(object, plan.patch), reported: kept.length > 0 };
}

it('whatever state an object is in, it is refused, or is the same again after a session', () => {
  checkProperty(
    'random states',
    { soak: 4_000, quick: 300 },
    fc.property(service, deployment, route, (hook, manager, way) => {
      const paused = restore(take(manager, 's1', REPLICAS, 0), REPLICAS);
      // A manifest that named no replicas had one.
      const replicas = manager.spec.replicas ?? 1;
      expect(normal(paused.object)).toEqual(normal({ ...manager, spec: { ...manager.spec, replicas } }));
      try {
        assertTakeable(hook);
      } catch (error) {
        expect(error).toBeInstanceOf(DevloopError);
        return;
      }
      // The relay works by a selector.
      if (isEmptied(hook) || (isSelectorless(hook) && selectorFor(way, 's1') !== undefined)) return;
      const taken = take(hook, 's1', SELECTOR, selectorFor(way, 's1'));
      expect(same(taken.spec.selector, selectorFor(way, 's1'))).toBe(true);
      expect(originalSelector(taken)).toEqual(hook.spec.selector ?? {});
      const back = restore(taken, SELECTOR);
      expect(back.reported).toBe(false);
      expect(normal(back.object)).toEqual(normal(hook));
    }),
  );
});

const slice = fc.record({
  manager: fc.constantFrom(
    'endpointslice-controller.k8s.io',
    'endpointslicemirroring-controller.k8s.io',
    'somebody.example.com',
    undefined,
  ),
  addressType: fc.constantFrom('IPv4' as const, 'IPv6' as const),
  labels: optional(labels),
});
const endpoints = fc.record({ labels: optional(labels), isUnmirrored: fc.boolean() });

it('the endpoints of others stay or come back, and those of Kubernetes come back', async () => {
  await checkAsyncProperty(
    'random states with endpoints, mirrored or not',
    { soak: 2_000, quick: 100 },
    fc.asyncProperty(
      fc.record({
        hook: service,
        slices: fc.array(slice, { maxLength: 4 }),
        endpoints: optional(endpoints),
        address: fc.constantFrom('10.0.0.7', 'fd00::7'),
      }),
      async (state) => {
        const { hook, address } = state;
        if (!isTakeable(hook, address) || isEmptied(hook)) return;
        const [live, without] = [fakeCluster(), fakeCluster()];
        for (const cluster of [live, without]) putEndpoints(cluster, state);
        const to = { address, ports: [{ name: '', port: 1 }] };
        const work: Work = { ...NOBODY, api: live.as('devloop'), sessionId: 's1' };
        await withoutWaiting(async () => {
          await pointToAddress(live.read<Service>('Service', 'hook', 'shop')!, '').apply(work, () => to);
          expect(slicesIn(live).filter(hasControllerEndpoints)).toEqual([]);
          const { marked } = await findMarked(live.api, ['shop'], { sessionId: 's1' });
          await restoreServices(work, marked);
          await settle(live);
          await removeCreated(work, marked);
          await settle(live);
        });
        await settle(without);
        expect(contentsOf(live)).toEqual(contentsOf(without));
      },
    ),
  );
});

const NOBODY = { emit: () => {}, signal: new AbortController().signal };

/** The API server returns no empty selector. */
function isEmptied({ spec }: Service): boolean {
  return spec.selector !== undefined && Object.keys(spec.selector).length === 0;
}

function isTakeable(hook: Service, address: string): boolean {
  try {
    assertTakeable(hook, address);
    return true;
  } catch {
    return false;
  }
}

interface EndpointState {
  hook: Service;
  slices: {
    manager: string | undefined;
    addressType: 'IPv4' | 'IPv6';
    labels: Record<string, string> | undefined;
  }[];
  endpoints: { labels: Record<string, string> | undefined; isUnmirrored: boolean } | undefined;
}

function putEndpoints(cluster: FakeCluster, { hook, slices, endpoints: state }: EndpointState): void {
  cluster.put<Service>('Service', hook);
  slices.forEach(({ manager, addressType, labels: others }, index) => {
    const managed: Labels = manager === undefined ? {} : { [MANAGED_BY]: manager };
    const metadata = {
      ...NAME,
      name: `hook-${index}`,
      labels: { ...others, [SERVICE_NAME]: 'hook', ...managed },
    };
    const addresses = [addressType === 'IPv4' ? '10.1.0.9' : 'fd00::9'];
    cluster.put<EndpointSlice>('EndpointSlice', { metadata, addressType, endpoints: [{ addresses }] });
  });
  if (state === undefined) return;
  const mirror: Labels = state.isUnmirrored ? { [SKIP_MIRROR]: 'true' } : {};
  const metadata = { ...NAME, labels: { ...state.labels, ...mirror } };
  const subsets = [{ addresses: [{ ip: '10.1.0.9' }] }];
  cluster.put<Endpoints>('Endpoints', { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets });
}

const slicesIn = (cluster: FakeCluster): EndpointSlice[] =>
  cluster.names('EndpointSlice').map((name) => cluster.read<EndpointSlice>('EndpointSlice', name, 'shop')!);

/** Without names, since the controllers create new ones. */
function contentsOf(cluster: FakeCluster): string[] {
  const objects = [
    cluster.read<Service>('Service', 'hook', 'shop')!,
    cluster.read<Endpoints>('Endpoints', 'hook', 'shop'),
    ...slicesIn(cluster),
  ];
  return objects
    .filter((one) => one !== undefined)
    .map(({ metadata: { labels: own = {}, annotations = {}, finalizers = [] }, ...rest }) =>
      JSON.stringify({ own, annotations, finalizers, ...rest }, inOrder),
    )
    .sort();
}

function inOrder(_key: string, value: unknown): unknown {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isMap ? Object.fromEntries(Object.entries(value).sort()) : value;
}

/** What a session remembers of its object while it lives: its guard knows what it wrote, even if the mark is gone. */
interface Alive {
  work: Work;
  watched: GuardedScope;
}

/** One object in two worlds: with devloop, and as it would be if nobody had ever used devloop. */
interface Worlds {
  live: FakeCluster;
  without: FakeCluster;
  ref: ObjectRef;
  own: OwnChange;
  alive: Map<string, Alive>;
}

interface Command {
  toString(): string;
  run(worlds: Worlds): Promise<void>;
}

const named = (name: string, run: Command['run']): Command => ({ toString: () => name, run });

function workOf(worlds: Worlds, sessionId: string): Work {
  const emit: Emit = (event) => {
    if (event.type === 'guard.overwritten' && event.field === worlds.own.fields[0]!.path.join('.'))
      tell(worlds, JSON.parse(event.to));
  };
  return { api: worlds.live.as('devloop'), sessionId, emit, signal: new AbortController().signal };
}

/**
 * The user knows what others have set. That can be less than without devloop: somebody who merges a manifest into a missing selector cannot
 * keep the entries that the manifest does not name. If others removed a field, that is not reported.
 */
function tell({ without, ref, own }: Worlds, value: Json): void {
  const theirs = withoutRelay(value);
  if (!same(theirs, undefined)) without.edit<Applied>(ref.kind, ref.name, ref.namespace, put);
  function put({ spec }: Applied): void {
    Object.assign(spec, { [own.fields[0]!.path[1]!]: theirs });
  }
}

const withoutRelay = (value: Json): Json =>
  typeof value !== 'object' || value === null
    ? value
    : Object.fromEntries(Object.entries(value).filter(([key]) => key !== RELAY_LABEL));

const read = (cluster: FakeCluster, { kind, name, namespace }: ObjectRef) =>
  cluster.read<Service & Workload>(kind, name, namespace)!;

const nonEmpty = labels.filter((map) => Object.keys(map).length > 0);
const manifest: fc.Arbitrary<Manifest> = fc
  .record({ selector: nonEmpty, replicas: optional(fc.integer({ min: 1, max: 4 })) })
  .map(sent<Manifest>);

type Applied = Service & Workload;

function foreign(name: string, manager: string, write: (object: Applied) => Applied): Command {
  return named(name, async ({ live, without, ref }) => {
    for (const cluster of [live, without]) await cluster.as(manager).replace(ref, write(read(cluster, ref)));
  });
}

/**
 * If the API server refuses a write because devloop owns the field, its writer knows that, and the write is not made without devloop,
 * either.
 */
const serverSide = (text: Manifest, isForced: boolean): Command =>
  named(`server-side apply ${JSON.stringify(text)}${isForced ? ', forced' : ''}`, async (worlds) => {
    const { live, without, ref } = worlds;
    const spec = { selector: text.selector, replicas: text.replicas ?? 1 };
    const by = { manager: 'argocd-controller', isForced };
    try {
      live.apply(ref, { spec }, by);
    } catch (error) {
      expect(error).toMatchObject({ status: 409 });
      return;
    }
    without.apply(ref, { spec }, { ...by, isForced: true });
  });

const up = (session: string, way: 'direct' | 'relay'): Command =>
  named(`${session} up (${way})`, async (worlds) => {
    const { live, ref, own, alive } = worlds;
    if (sessionOf(read(live, ref)) !== undefined) return;
    const work = workOf(worlds, session);
    const value = own === SELECTOR ? selectorFor(way, session) : 0;
    const field = { path: own.fields[0]!.path, ...(value === undefined ? {} : { value }) };
    await applyChange(work, { ref, fields: [field], detail: '', store: own.store });
    const watched = watchedObject({ ref, own }, session);
    watched.onObject!(read(live, ref));
    alive.set(session, { work, watched });
  });

const kill = (session: string): Command =>
  named(`kill ${session}`, async ({ alive }) => void alive.delete(session));

/** The guard of a live session sees its object, and the session may end because of that. */
const guard = (session: string): Command =>
  named(`guard of ${session}`, async (worlds) => {
    const { live, ref, alive } = worlds;
    const one = alive.get(session);
    if (one === undefined) return;
    const object = read(live, ref);
    one.watched.onObject!(object);
    const cause = await one.watched.react(one.work, [object]);
    const other = sessionOf(object);
    if (other !== undefined && other !== session) expect(sessionOf(read(live, ref))).toBe(other);
    if (cause === undefined) return;
    expect(['session.lost', 'session.overwritten']).toContain(cause.code);
    alive.delete(session);
    await restoreOf(worlds, session);
  });

async function restoreOf(worlds: Worlds, session: string): Promise<void> {
  const kept = await restoreChange(workOf(worlds, session), worlds.ref, worlds.own);
  for (const one of kept) {
    if ('fault' in one) throw new Error(one.fault);
    expect(same(one.now, one.before)).toBe(false);
    tell(worlds, one.now ?? null);
  }
}

const down = named('down --take-over', async (worlds) => {
  const session = sessionOf(read(worlds.live, worlds.ref));
  if (session !== undefined) await restoreOf(worlds, session);
});

const session = fc.constantFrom('s1', 's2');
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.tuple(session, route).map(([who, way]) => up(who, way)),
  session.map(guard),
  session.map(kill),
  fc.constant(down),
  manifest.map((text) =>
    foreign(`kubectl apply ${JSON.stringify(text)}`, 'kubectl', (to) => kubectlApply(to, text)),
  ),
  manifest.map((text) => foreign(`replace ${JSON.stringify(text)}`, 'helm', (to) => replaced(to, text))),
  fc.tuple(manifest, fc.boolean()).map(([text, isForced]) => serverSide(text, isForced)),
  fc
    .integer({ min: 1, max: 4 })
    .map((replicas) =>
      foreign(`scale to ${replicas}`, 'kubectl', (to) => ({ ...to, spec: { ...to.spec, replicas } })),
    ),
  nonEmpty.map((selector) =>
    foreign(`edit ${JSON.stringify(selector)}`, 'kubectl-edit', (to) => ({
      ...to,
      spec: { ...to.spec, selector },
    })),
  ),
);

it('in any order of commands by two sessions and others, all is as if devloop had not been there, or it says what is not', async () => {
  await checkAsyncProperty(
    'sequences of commands with a second actor',
    { soak: 10_000, quick: 500 },
    fc.asyncProperty(
      fc.record({
        own: fc.constantFrom(...OWNS),
        first: manifest,
        commands: fc.array(command, { maxLength: 12 }),
      }),
      async ({ own, first, commands }) => {
        const ref: ObjectRef = { kind: own === SELECTOR ? 'Service' : 'Deployment', ...NAME };
        const [live, without] = [fakeCluster(), fakeCluster()];
        const installed = kubectlApply({ metadata: NAME, spec: {} } as Applied, { replicas: 2, ...first });
        for (const cluster of [live, without]) await cluster.as('kubectl').create(ref, installed);
        const worlds: Worlds = { live, without, ref, own, alive: new Map() };
        for (const one of commands) await one.run(worlds);
        // The guards of the live sessions look once more; then `down` restores what is left.
        for (const who of worlds.alive.keys()) await guard(who).run(worlds);
        await down.run(worlds);
        const [now, wanted] = [read(live, ref), read(without, ref)];
        expect(JSON.stringify(unowned(now))).not.toContain('devloop');
        expect(unowned(now)).toEqual(unowned(wanted));
      },
    ),
  );
});

const NAME = { name: 'hook', namespace: 'shop' };
const OWNS: OwnChange[] = [SELECTOR, REPLICAS];

/** Without what differs between the two worlds in any case. */
function unowned({ metadata: { name, namespace, labels: own, annotations }, spec }: Applied): object {
  return { metadata: { name, namespace, labels: own, annotations }, spec };
}
