/** How an operator is installed, and what devloop leaves behind when nobody uses it. */
import fc from 'fast-check';
import { type Kind, type ObjectRef, refOf } from '../../../src/cluster/api/kinds.ts';
import type { EndpointSlice, Json, KubeObject, Service } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { same } from '../../../src/cluster/marks/marks.ts';
import { valueAt } from '../../../src/cluster/marks/paths.ts';
import { describe } from '../../../src/report/object-name.ts';
import type { Manifest } from '../appliers.ts';
import type { FakeCluster } from '../fake-cluster.ts';
import { applyTo, manifests } from './actors.ts';
import { settle } from './controllers.ts';
import { HOOK, MANAGER, NAMESPACE } from './objects.ts';
import { fieldOf, toldValues } from './told.ts';
import type { World } from './world.ts';

const labels = fc.dictionary(fc.constantFrom('app', 'example.com/a'), fc.constantFrom('', 'x'), {
  maxKeys: 2,
  noNullPrototype: true,
});
const metadata = fc.record(
  { labels, annotations: labels, finalizers: fc.constant<string[]>(['example.com/stays']) },
  { requiredKeys: [], noNullPrototype: true },
);
const ports = fc.constantFrom<State['ports'][]>(
  [{ port: 443, targetPort: 9443 }],
  [
    { name: 'https', port: 443, targetPort: 'webhook-server' },
    { name: 'metrics', port: 8443, targetPort: 8080 },
  ],
);
const ipFamilies = fc.constantFrom<('IPv4' | 'IPv6')[][]>(['IPv4'], ['IPv6'], ['IPv4', 'IPv6']);

export interface State {
  service: Pick<KubeObject['metadata'], 'labels' | 'annotations' | 'finalizers'>;
  manager: State['service'];
  ports: NonNullable<Service['spec']['ports']>;
  ipFamilies: ('IPv4' | 'IPv6')[];
  manifest: Manifest;
  by: 'kubectl' | 'server-side apply' | 'helm';
  /** A second Service, to which nobody else writes. */
  hasSecond: boolean;
}

export const states: fc.Arbitrary<State> = fc.record(
  {
    service: metadata,
    manager: metadata,
    ports,
    ipFamilies,
    manifest: manifests,
    by: fc.constantFrom('kubectl', 'server-side apply', 'helm'),
    hasSecond: fc.nat(3).map((one) => one === 0),
  },
  { noNullPrototype: true },
);

/** Installs it in both worlds, and waits for the controllers. */
export async function install({ live, without }: World, state: State): Promise<void> {
  for (const cluster of [live, without]) {
    cluster.put('Namespace', { metadata: { name: NAMESPACE } });
    const template = {
      metadata: { labels: { app: 'shop', tier: 'web' } },
      spec: { containers: [{ name: 'manager', image: 'none' }] },
    };
    const { selector, replicas } = state.manifest;
    const service = {
      metadata: { ...state.service, name: 'hook', namespace: NAMESPACE },
      spec: { clusterIP: '10.0.0.1', ipFamilies: state.ipFamilies, ports: state.ports, selector },
    };
    const manager = {
      metadata: { ...state.manager, name: 'manager', namespace: NAMESPACE },
      spec: { replicas: replicas ?? 1, selector: { matchLabels: { app: 'shop' } }, template },
    };
    await create(cluster, HOOK, service, state);
    await create(cluster, MANAGER, manager, state);
    if (state.hasSecond) {
      const second = { ...service, metadata: { ...service.metadata, name: 'second' } };
      await create(cluster, refOf('Service', second.metadata), second, state);
    }
    await settle(cluster);
  }
}

async function create(cluster: FakeCluster, ref: ObjectRef, object: KubeObject, state: State): Promise<void> {
  const { by, manifest } = state;
  const first = by === 'kubectl' ? applyTo(object, ref, manifest) : object;
  await cluster.as(by === 'kubectl' ? 'kubectl-client-side-apply' : 'helm').create(ref, first);
  if (by !== 'server-side apply') return;
  const { selector, replicas = 1 } = manifest;
  const spec = ref.kind === 'Service' ? { selector } : { replicas };
  cluster.apply(ref, { spec }, { manager: 'argocd-controller', isForced: true });
}

/** What is not as it would be without devloop, although no user was told. */
export async function differencesOf(world: World): Promise<string[]> {
  const { live, without } = world;
  await settle(live);
  await settle(without);
  const left = KINDS.flatMap((kind) =>
    live
      .names(kind)
      .map((name) => ({ kind, object: live.read<KubeObject>(kind, name, NAMESPACE)! }))
      .filter(({ object }) =>
        JSON.stringify({ ...object, metadata: { ...object.metadata, managedFields: [] } }).includes(
          'devloop',
        ),
      )
      .map(({ kind, object }) => `left: ${kind} ${JSON.stringify(object)}`),
  );
  const changed = without
    .names('Service')
    .map((name): ObjectRef => ({ ...HOOK, name }))
    .concat(MANAGER)
    .flatMap((ref) => changesIn(world, ref));
  return [...left, ...changed, ...wrongSlices(live)];
}

const KINDS: Kind[] = ['Service', 'Deployment', 'Endpoints', 'EndpointSlice', 'Lease', 'Pod'];

/** A field that devloop changes may keep a value that somebody wrote during the session, if devloop reported that value to the user. */
function changesIn(world: World, ref: ObjectRef): string[] {
  const path = fieldOf(ref);
  const now = world.live.read<KubeObject>(ref.kind, ref.name, NAMESPACE)!;
  const wanted = world.without.read<KubeObject>(ref.kind, ref.name, NAMESPACE)!;
  const [value, other] = [valueAt(now, path), valueAt(wanted, path)];
  const isTold =
    same(value, other) ||
    toldValues(world.events, ref, path).some((one) => same(one, value)) ||
    world.parted.has(describe(ref));
  const rest = (object: KubeObject): Json => JSON.parse(JSON.stringify(stripped(object, path[1]!)));
  return [
    ...(isTold ? [] : [`${describe(ref)}: ${JSON.stringify(value)}, not ${JSON.stringify(other)}`]),
    ...(same(rest(now), rest(wanted))
      ? []
      : [`${describe(ref)}: ${JSON.stringify([rest(now), rest(wanted)])}`]),
  ];
}

function stripped(object: KubeObject, field: string): object {
  const { name, labels, annotations, finalizers } = object.metadata;
  const { status: _, ...rest } = object as Workload;
  const spec = { ...rest.spec, [field]: undefined };
  return { ...rest, metadata: { name, labels, annotations, finalizers }, spec };
}

/** One slice for each Service and family. */
function wrongSlices(live: FakeCluster): string[] {
  const slices = live
    .names('EndpointSlice')
    .map((name) => live.read<EndpointSlice>('EndpointSlice', name, NAMESPACE)!);
  const wanted = live
    .names('Service')
    .map((name) => live.read<Service>('Service', name, NAMESPACE)!.spec.ipFamilies!.length)
    .reduce((sum, one) => sum + one, 0);
  return slices.length === wanted
    ? []
    : [`slices: ${JSON.stringify(slices.map(({ metadata }) => metadata.name))}`];
}
