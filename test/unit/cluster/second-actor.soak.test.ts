/** What devloop changes and restores while others write to the same objects: random states, and random sequences of commands. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KubeObject, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import {
  changePatch,
  markedPatch,
  type OwnChange,
  same,
  sessionOf,
} from '../../../src/cluster/marks/marks.ts';
import { changesAfter, observe } from '../../../src/cluster/marks/observe.ts';
import { valueAt } from '../../../src/cluster/marks/paths.ts';
import { originalSelector, SELECTOR } from '../../../src/cluster/marks/selector.ts';
import { planUndo, undoOf } from '../../../src/cluster/marks/undo.ts';
import { relayLabels } from '../../../src/cluster/names.ts';
import { ownChangeOf } from '../../../src/cluster/takeover/restore.ts';
import { assertTakeable } from '../../../src/cluster/takeover/service.ts';
import { DevloopError } from '../../../src/errors.ts';
import { kubectlApply, type Manifest, replaced } from '../../support/appliers.ts';
import { applyJsonPatch } from '../../support/json-patch.ts';
import { checkProperty } from '../../support/repeat.ts';

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
      // One that named no replicas had one.
      const replicas = manager.spec.replicas ?? 1;
      expect(normal(paused.object)).toEqual(normal({ ...manager, spec: { ...manager.spec, replicas } }));
      try {
        assertTakeable(hook);
      } catch (error) {
        expect(error).toBeInstanceOf(DevloopError);
        return;
      }
      const taken = take(hook, 's1', SELECTOR, selectorFor(way, 's1'));
      expect(same(taken.spec.selector, selectorFor(way, 's1'))).toBe(true);
      expect(originalSelector(taken)).toEqual(hook.spec.selector);
      const back = restore(taken, SELECTOR);
      expect(back.reported).toBe(false);
      expect(normal(back.object)).toEqual(normal(hook));
    }),
  );
});

/** One object in two worlds: with devloop, and as it would be if nobody had ever used devloop. */
interface Worlds {
  object: Service & Workload;
  without: Service & Workload;
  /** What the session found and wrote, as long as it lives: its guard knows it although the mark may be gone. */
  alive: Map<string, ReturnType<typeof changesOf>>;
  /** The user was told that something is not as before. */
  reported: boolean;
}

const OWNS: OwnChange[] = [SELECTOR, REPLICAS];
const changesOf = (object: KubeObject, own: OwnChange) => {
  const changes = undoOf(object, own);
  return 'fault' in changes ? undefined : changes;
};

interface Command {
  toString(): string;
  run(worlds: Worlds, own: OwnChange): void;
}

const named = (name: string, run: Command['run']): Command => ({ toString: () => name, run });

const nonEmpty = labels.filter((map) => Object.keys(map).length > 0);
const manifest: fc.Arbitrary<Manifest> = fc
  .record({ selector: nonEmpty, replicas: optional(fc.integer({ min: 1, max: 4 })) })
  .map(sent<Manifest>);

function foreign(name: string, write: (object: Worlds['object']) => Worlds['object']): Command {
  return named(name, (worlds) => {
    worlds.object = write(worlds.object);
    worlds.without = write(worlds.without);
  });
}

const up = (session: string, way: 'direct' | 'relay'): Command =>
  named(`${session} up (${way})`, (worlds, own) => {
    if (sessionOf(worlds.object) !== undefined) return;
    worlds.object = take(worlds.object, session, own, own === SELECTOR ? selectorFor(way, session) : 0);
    worlds.alive.set(session, changesOf(worlds.object, own));
  });

const kill = (session: string): Command =>
  named(`kill ${session}`, ({ alive }) => void alive.delete(session));

/** A session that is alive takes back what others wrote; what they wrote becomes what a restore brings back. */
const guard = (session: string): Command =>
  named(`guard of ${session}`, (worlds, own) => {
    const changes = worlds.alive.get(session);
    if (changes === undefined) return;
    const observed = observe(worlds.object, changes);
    if (observed.session !== undefined && observed.session !== session) return;
    if (observed.session === session && observed.differing.length === 0) return;
    const next = changesAfter(changes, observed);
    for (const { change, theirs } of observed.differing) {
      // Whoever merges a manifest into a selector that is not there cannot keep the entries that the manifest does not name.
      const wanted = valueAt(worlds.without, change.path);
      worlds.reported ||= own === SELECTOR && !same(theirs, undefined) && !same(theirs, wanted);
    }
    worlds.alive.set(session, next);
    worlds.object = applyJsonPatch(worlds.object, markedPatch(worlds.object, session, next, own.store));
  });

const down = named('down --take-over', (worlds, own) => {
  const session = sessionOf(worlds.object);
  if (session === undefined) return;
  const after = restore(worlds.object, own);
  worlds.object = after.object;
  worlds.reported ||= after.reported;
  worlds.alive.delete(session);
});

const session = fc.constantFrom('s1', 's2');
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.tuple(session, route).map(([who, way]) => up(who, way)),
  session.map(guard),
  session.map(kill),
  fc.constant(down),
  manifest.map((text) => foreign(`kubectl apply ${JSON.stringify(text)}`, (to) => kubectlApply(to, text))),
  manifest.map((text) => foreign(`replace ${JSON.stringify(text)}`, (to) => replaced(to, text))),
  fc
    .integer({ min: 1, max: 4 })
    .map((replicas) => foreign(`scale to ${replicas}`, (to) => ({ ...to, spec: { ...to.spec, replicas } }))),
  nonEmpty.map((selector) =>
    foreign(`edit ${JSON.stringify(selector)}`, (to) => ({ ...to, spec: { ...to.spec, selector } })),
  ),
);

it('in any order of commands by two sessions and others, all is as if devloop had not been there, or it says what is not', () => {
  checkProperty(
    'sequences of commands with a second actor',
    { soak: 10_000, quick: 500 },
    fc.property(
      fc.constantFrom(...OWNS),
      manifest,
      fc.array(command, { maxLength: 12 }),
      (own, first, commands) => {
        const fresh = { metadata: { name: 'hook', namespace: 'shop' }, spec: {} } as Worlds['object'];
        const installed = kubectlApply(fresh, { replicas: 2, ...first });
        const worlds: Worlds = {
          object: installed,
          without: installed,
          alive: new Map(),
          reported: false,
        };
        for (const one of commands) one.run(worlds, own);
        // A session that is alive restores what is left of it; then whoever is left does.
        for (const who of worlds.alive.keys()) guard(who).run(worlds, own);
        down.run(worlds, own);
        expect(sessionOf(worlds.object)).toBeUndefined();
        if (own === SELECTOR)
          expect(Object.keys(worlds.object.spec.selector ?? {})).not.toContain('devloop.dev/relay');
        if (!worlds.reported) expect(normal(worlds.object)).toEqual(normal(worlds.without));
      },
    ),
  );
});
