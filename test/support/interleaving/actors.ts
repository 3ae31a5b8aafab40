/** What others do to the operator's objects while devloop runs. Each write is made in both worlds at the same instant. */
import fc from 'fast-check';
import { sleep } from '../../../src/async.ts';
import type { ClusterApi } from '../../../src/cluster/api/client.ts';
import { isConflict } from '../../../src/cluster/api/errors.ts';
import type { ObjectRef } from '../../../src/cluster/api/kinds.ts';
import type { KubeObject, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { same, sessionOf } from '../../../src/cluster/marks/marks.ts';
import { valueAt } from '../../../src/cluster/marks/paths.ts';
import { describe } from '../../../src/report/object-name.ts';
import { kubectlApply, type Manifest, mergePatch, replaced } from '../appliers.ts';
import type { FakeCluster } from '../fake-cluster.ts';
import { HOOK, MANAGER, NAMESPACE } from './objects.ts';
import { fieldOf, withoutRelay } from './told.ts';
import type { World } from './world.ts';

type Applied = Service & Workload;

/** One command of one person. */
export interface Act {
  toString(): string;
  run(world: World): Promise<void>;
}

/** The part of the manifest for a kind: only a Service has a selector that devloop changes, and only a Deployment has replicas. */
export function applyTo<T extends KubeObject>(live: T, ref: ObjectRef, { selector, replicas }: Manifest): T {
  const { spec } = live as KubeObject as Applied;
  const isService = ref.kind === 'Service';
  const seen = { ...live, spec: { ...spec, selector: isService ? (spec.selector ?? {}) : {} } };
  const manifest = isService
    ? { selector }
    : { selector: {}, ...(replicas === undefined ? {} : { replicas }) };
  const next = kubectlApply(seen as Applied, manifest);
  return { ...next, spec: isService ? next.spec : { ...next.spec, selector: spec.selector } } as never;
}

function replaceBy<T extends KubeObject>(live: T, ref: ObjectRef, manifest: Manifest): T {
  const { spec } = live as KubeObject as Applied;
  const next = replaced(live as KubeObject as Applied, manifest);
  const { selector, replicas } = next.spec;
  const own = ref.kind === 'Service' ? { selector } : { replicas };
  return { ...next, spec: { ...spec, ...own } } as never;
}

const read = (cluster: FakeCluster, ref: ObjectRef): KubeObject =>
  cluster.read(ref.kind, ref.name, ref.namespace)!;

function act(name: string, run: (world: World) => Promise<void>): Act {
  return { toString: () => name, run };
}

/** Reads, decides, and writes later without reading again; none of these writes names a version. */
function merging(
  name: string,
  ref: ObjectRef,
  manager: string,
  change: (now: KubeObject) => KubeObject,
): Act {
  return act(`${name} of ${ref.kind}`, async ({ live, without, turn, parted }) => {
    await turn(`${name} of ${ref.kind} reads`);
    const plans = [live, without].map((cluster): Plan => {
      const seen = read(cluster, ref);
      const wanted = change(seen);
      return { api: cluster.as(manager), seen, wanted, patch: mergePatch(seen, wanted) };
    });
    await turn(`${name} of ${ref.kind} writes`);
    const done: Done[] = [];
    for (const plan of plans) done.push({ ...plan, now: await plan.api.patch(ref, 'merge', plan.patch) });
    if (isParted(done, fieldOf(ref))) parted.add(describe(ref));
  });
}

interface Plan {
  api: ClusterApi;
  seen: KubeObject;
  wanted: KubeObject;
  patch: unknown;
}

interface Done extends Plan {
  now: KubeObject;
}

/**
 * A client that has read what a session wrote sends a different patch than without devloop: `replicas: 3` for a paused manager, and nothing
 * if the manager already has 3. Both have the same result, unless the field changed before the client wrote: then one patch overwrites that
 * change, and the other does not. Nobody can prevent that, and devloop cannot report it if the value is the one that it had found.
 */
function isParted(done: Done[], path: string[]): boolean {
  const [patch, other] = done.map((one) => valueAt(one.patch, path));
  const [now, otherNow] = done.map((one) => withoutRelay(valueAt(one.now, path) ?? null));
  const isMet = done.some((one) => !same(valueAt(one.now, path), valueAt(one.wanted, path)));
  return isMet && sessionOf(done[0]!.seen) !== undefined && !same(patch, other) && !same(now, otherNow);
}

/** `kubectl scale` does not read. */
function scaling(replicas: number): Act {
  const name = `kubectl scale to ${replicas}`;
  return act(name, async ({ live, without, turn }) => {
    await turn(name);
    for (const cluster of [live, without])
      await cluster.as('kubectl').patch(MANAGER, 'merge', { spec: { replicas } });
  });
}

/** `helm upgrade --force`, `kubectl replace`: one write that keeps nothing. */
function replacing(ref: ObjectRef, manifest: Manifest): Act {
  const name = `replace ${ref.kind} by ${JSON.stringify(manifest)}`;
  return act(name, async ({ live, without, turn }) => {
    await turn(name);
    for (const cluster of [live, without])
      await cluster.as('helm').replace(ref, replaceBy(read(cluster, ref), ref, manifest));
  });
}

/** If the API server refuses a write because of a conflict, its writer learns that, and the write is not made without devloop, either. */
function serverSide(ref: ObjectRef, { selector, replicas }: Manifest, isForced: boolean): Act {
  const spec = ref.kind === 'Service' ? { selector } : { replicas: replicas ?? 1 };
  const name = `server-side apply of ${ref.kind} ${JSON.stringify(spec)}${isForced ? ', forced' : ''}`;
  return act(name, async ({ live, without, turn }) => {
    await turn(name);
    try {
      live.apply(ref, { spec }, { manager: 'argocd-controller', isForced });
    } catch (error) {
      if (isConflict(error)) return;
      throw error;
    }
    without.apply(ref, { spec }, { manager: 'argocd-controller', isForced: true });
  });
}

/** Argo CD with self-heal: it writes its values again whenever devloop has overwritten them, until devloop gives up. */
function insisting(ref: ObjectRef, manifest: Manifest): Act {
  const once = serverSide(ref, manifest, true);
  return act(`${once}, again and again`, async (world) => {
    for (let round = 0; round < 10; round++) {
      await once.run(world);
      await sleep(3_000);
    }
  });
}

/** The controllers create them again. */
function deleting(kind: 'Endpoints' | 'EndpointSlice'): Act {
  return act(`delete ${kind}`, async ({ live, turn }) => {
    await turn(`delete ${kind}`);
    for (const name of live.names(kind)) live.drop(kind, name, NAMESPACE);
  });
}

const cutWatches = act('all watches end', async ({ watches, turn }) => {
  await turn('all watches end');
  watches.cut();
});

export const selectors = fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('shop', 'web'), {
  minKeys: 1,
  noNullPrototype: true,
});
const replicas = fc.integer({ min: 1, max: 3 });
export const manifests: fc.Arbitrary<Manifest> = fc.record(
  { selector: selectors, replicas },
  { requiredKeys: ['selector'], noNullPrototype: true },
);
const refs = fc.constantFrom(HOOK, HOOK, MANAGER);

const annotated = (now: KubeObject): KubeObject => ({
  ...now,
  metadata: { ...now.metadata, annotations: { ...now.metadata.annotations, note: 'theirs' } },
});
const edited = (selector: Record<string, string>) => (now: KubeObject) =>
  ({ ...now, spec: { ...(now as Service).spec, selector } }) as KubeObject;

export const acts: fc.Arbitrary<Act> = fc.oneof(
  fc
    .tuple(refs, manifests)
    .map(([ref, text]) =>
      merging(`kubectl apply ${JSON.stringify(text)}`, ref, 'kubectl-client-side-apply', (now) =>
        applyTo(now, ref, text),
      ),
    ),
  fc.tuple(refs, manifests).map(([ref, text]) => replacing(ref, text)),
  fc.tuple(refs, manifests, fc.boolean()).map(([ref, text, isForced]) => serverSide(ref, text, isForced)),
  fc.tuple(refs, manifests).map(([ref, text]) => insisting(ref, text)),
  replicas.map(scaling),
  selectors.map((one) => merging(`kubectl edit ${JSON.stringify(one)}`, HOOK, 'kubectl-edit', edited(one))),
  refs.map((ref) => merging('kubectl annotate', ref, 'kubectl-annotate', annotated)),
  fc.constantFrom('Endpoints' as const, 'EndpointSlice' as const).map(deleting),
  fc.constant(cutWatches),
);
