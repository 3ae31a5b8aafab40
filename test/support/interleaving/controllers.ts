/** What Kubernetes' own controllers do with Services, Endpoints and Deployments: each reads, and writes a while later. */
import { ApiError } from '../../../src/cluster/api/errors.ts';
import { type Kind, refOf } from '../../../src/cluster/api/kinds.ts';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { same } from '../../../src/cluster/marks/marks.ts';
import { MANAGED_BY, SKIP_MIRROR } from '../../../src/cluster/names.ts';
import { SERVICE_NAME } from '../../../src/cluster/takeover/endpoints.ts';
import type { FakeCluster } from '../fake-cluster.ts';
import { NAMESPACE } from './objects.ts';
import type { World } from './world.ts';

type Write = () => Promise<unknown>;
type Controller = (cluster: FakeCluster) => Write[];

const MANAGER = 'kube-controller-manager';
const SLICES = 'endpointslice-controller.k8s.io';
export const MIRRORED = 'endpointslicemirroring-controller.k8s.io';

/** They run until the world is discarded. */
export function startControllers(world: World): void {
  for (const [name, look] of Object.entries(CONTROLLERS)) {
    let isQueued = false;
    const run = async (): Promise<void> => {
      await world.turn(`${name} controller looks`);
      isQueued = false;
      const writes = look(world.live);
      for (const write of writes) {
        await world.turn(`${name} controller writes`);
        await write()
          .catch(unlessStale)
          .then((isStale) => isStale === STALE && wake());
      }
    };
    const wake = (): void => {
      if (isQueued) return;
      isQueued = true;
      void run();
    };
    world.changes.push(wake);
    wake();
  }
}

/** Lets them finish their work. */
export async function settle(cluster: FakeCluster): Promise<void> {
  for (;;) {
    const writes = Object.values(CONTROLLERS).flatMap((look) => look(cluster));
    if (writes.length === 0) return;
    for (const write of writes) await write().catch(unlessStale);
  }
}

const STALE = Symbol('stale');

function unlessStale(error: unknown): typeof STALE {
  if (error instanceof ApiError && [404, 409].includes(error.status)) return STALE;
  throw error;
}

const all = <T extends KubeObject>(cluster: FakeCluster, kind: Kind): T[] =>
  cluster.names(kind).map((name) => cluster.read<T>(kind, name, NAMESPACE)!);

const CONTROLLERS: Record<string, Controller> = {
  Deployment: (cluster) => all<Workload>(cluster, 'Deployment').flatMap((one) => scale(cluster, one)),
  Endpoints: (cluster) => all<Service>(cluster, 'Service').flatMap((one) => endpoints(cluster, one)),
  EndpointSlice: (cluster) => all<Service>(cluster, 'Service').flatMap((one) => slices(cluster, one)),
  'EndpointSlice mirroring': (cluster) =>
    all<Service>(cluster, 'Service').flatMap((one) => mirrored(cluster, one)),
};

function scale(cluster: FakeCluster, manager: Workload): Write[] {
  const api = cluster.as(MANAGER);
  const wanted = manager.spec.replicas ?? 1;
  const pods = all<Pod>(cluster, 'Pod');
  const names = Array.from({ length: wanted }, (_, index) => `manager-hash-${index}`);
  const status = {
    observedGeneration: manager.metadata.generation ?? 0,
    replicas: wanted,
    readyReplicas: wanted,
  };
  const labels = { ...manager.spec.template.metadata?.labels, 'pod-template-hash': 'hash' };
  const ownerReferences = [{ kind: 'ReplicaSet', name: 'manager-hash', uid: 'r' }];
  return [
    ...names
      .filter((name) => !pods.some(({ metadata }) => metadata.name === name))
      .map((name) => () => {
        const metadata = { name, namespace: NAMESPACE, labels, ownerReferences };
        return api.create(refOf('Pod', metadata), { metadata, spec: {}, status: { phase: 'Running' } });
      }),
    ...pods
      .filter(({ metadata }) => !names.includes(metadata.name))
      .map(
        ({ metadata }) =>
          () =>
            api.remove(refOf('Pod', metadata)),
      ),
    ...(same(manager.status as never, status)
      ? []
      : [() => api.replace(refOf('Deployment', manager.metadata), { ...manager, status })]),
  ];
}

function selected(cluster: FakeCluster, { spec: { selector = {} } }: Service): string[] {
  const isSelected = ({ metadata: { labels = {} } }: Pod): boolean =>
    Object.entries(selector).every(([key, value]) => labels[key] === value);
  return all<Pod>(cluster, 'Pod')
    .filter(isSelected)
    .map(({ metadata }) => metadata.name.replace(/^.*-/, '10.1.0.'))
    .sort();
}

const hasSelector = ({ spec }: Service): boolean => !same(spec.selector, undefined);

function endpoints(cluster: FakeCluster, service: Service): Write[] {
  if (!hasSelector(service)) return [];
  const ref = { ...refOf('Endpoints', service.metadata) };
  const now = cluster.read<Endpoints>('Endpoints', ref.name, NAMESPACE);
  const addresses = selected(cluster, service).map((ip) => ({ ip }));
  const ports = (service.spec.ports ?? []).map(({ name, port }) => ({ ...(name ? { name } : {}), port }));
  const subsets = addresses.length === 0 ? [] : [{ addresses, ports }];
  const { labels = {} } = service.metadata;
  if (now && same(now.subsets as never, subsets) && same(now.metadata.labels, labels)) return [];
  const metadata = { ...(now?.metadata ?? { name: ref.name, namespace: NAMESPACE }), labels };
  const api = cluster.as(MANAGER);
  const next = { metadata, subsets };
  return [() => (now === undefined ? api.create(ref, next) : api.replace(ref, next))];
}

function slices(cluster: FakeCluster, service: Service): Write[] {
  if (!hasSelector(service)) return [];
  const endpoints = selected(cluster, service).map((ip) => ({
    addresses: [ip],
    conditions: { ready: true },
  }));
  const { labels = {}, name } = service.metadata;
  const wanted = (service.spec.ipFamilies ?? ['IPv4']).map((addressType) => ({
    metadata: {
      namespace: NAMESPACE,
      labels: { ...labels, [SERVICE_NAME]: name, [MANAGED_BY]: SLICES },
    },
    addressType,
    endpoints,
    ports: service.spec.ports ?? [],
  }));
  return reconcile(cluster, service, SLICES, wanted);
}

/** Endpoints that somebody else writes for a Service without a selector. */
function mirrored(cluster: FakeCluster, service: Service): Write[] {
  const found = cluster.read<Endpoints>('Endpoints', service.metadata.name, NAMESPACE);
  const isMirrored = !hasSelector(service) && found && found.metadata.labels?.[SKIP_MIRROR] === undefined;
  const labels = { [SERVICE_NAME]: service.metadata.name, [MANAGED_BY]: MIRRORED };
  const subsets = isMirrored ? (found.subsets ?? []) : [];
  const wanted = subsets.map(({ addresses = [], ports = [] }) => ({
    metadata: { namespace: NAMESPACE, labels: { ...found?.metadata.labels, ...labels } },
    addressType: 'IPv4',
    endpoints: addresses.map(({ ip }) => ({ addresses: [ip], conditions: { ready: true } })),
    ports,
  }));
  return reconcile(cluster, service, MIRRORED, wanted);
}

interface WantedSlice {
  metadata: { namespace: string; labels: Record<string, string> };
  addressType: string;
  endpoints: object[];
  ports: object[];
}

function reconcile(
  cluster: FakeCluster,
  { metadata: { name } }: Service,
  controller: string,
  wanted: WantedSlice[],
): Write[] {
  const api = cluster.as(MANAGER);
  const own = all<EndpointSlice>(cluster, 'EndpointSlice').filter(
    ({ metadata: { labels = {} } }) => labels[SERVICE_NAME] === name && labels[MANAGED_BY] === controller,
  );
  const left = new Set(own);
  const writes = wanted.flatMap((next): Write[] => {
    const now = own.find((one) => left.has(one) && one.addressType === next.addressType);
    if (now === undefined) {
      const metadata = {
        ...next.metadata,
        name: `${name}-${controller.length}-${cluster.version()}-${next.addressType}`,
      };
      return [() => api.create(refOf('EndpointSlice', metadata), { ...next, metadata })];
    }
    left.delete(now);
    const { metadata, ...rest } = next;
    const isSame =
      same(now.endpoints as never, rest.endpoints as never) &&
      same(now.ports as never, rest.ports as never) &&
      same(now.metadata.labels, metadata.labels);
    const merged = { ...now, ...rest, metadata: { ...now.metadata, labels: metadata.labels } };
    return isSame ? [] : [() => api.replace(refOf('EndpointSlice', now.metadata), merged)];
  });
  const removals = [...left].map(
    ({ metadata }) =>
      () =>
        api.remove(refOf('EndpointSlice', metadata), metadata.uid),
  );
  return [...writes, ...removals];
}
