import type { TestCluster } from '../cluster/cluster.ts';

type Json = Record<string, unknown>;

/** Fields that Kubernetes itself moves on whenever anybody writes. */
const VOLATILE = new Set(['resourceVersion', 'generation', 'managedFields', 'creationTimestamp', 'uid']);

/**
 * Everything that a take-over may touch in a namespace, in a form that can be compared: Service, Deployment and webhook
 * configurations field for field but for the volatile ones; of slices and Endpoints, which controllers make again, the addresses,
 * ports and managers.
 */
export async function snapshot(cluster: TestCluster, namespace: string): Promise<Json> {
  const get = async (kinds: string[], ...args: string[]): Promise<Json[]> =>
    JSON.parse(await cluster.kubectl(['get', kinds.join(), ...args, '-o', 'json'])).items;
  // Few calls: each is a process that takes as long to start as the tool under test.
  const [own, configurations, all] = await Promise.all([
    get(['services', 'deployments', 'replicasets', 'endpointslices', 'endpoints', 'leases'], '-n', namespace),
    get(['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']),
    get(
      ['services', 'deployments', 'endpoints', 'endpointslices', 'leases', 'pods', 'configmaps', 'secrets'],
      '-A',
      '-l',
      'devloop.dev/session',
    ),
  ]);
  const of = (kind: string): Json[] => own.filter((one) => one.kind === kind);
  return {
    services: of('Service').map(steady),
    deployments: of('Deployment').map((one) => steady({ ...one, status: undefined })),
    // The Deployment's controller copies annotations here.
    replicaSets: of('ReplicaSet').map((one) => steady({ ...one, status: undefined })),
    configurations: configurations.map(steady),
    slices: of('EndpointSlice').map(sliceFacts).sort(byText),
    endpoints: of('Endpoints').map(endpointFacts).sort(byText),
    leases: of('Lease')
      .map((one) => (one.metadata as Json).name)
      .filter((name) => String(name).startsWith('devloop')),
    marked: all.map((one) => `${one.kind} ${(one.metadata as Json).name}`),
  };
}

function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, entry]) => !VOLATILE.has(key) && entry !== undefined)
      .map(([key, entry]) => [key, steady(entry)]),
  );
}

/** Pods come and go when the manager is scaled: their addresses are not part of the state that is put back, their number is. */
function sliceFacts(slice: Json): Json {
  const { labels = {}, ownerReferences = [] } = slice.metadata as {
    labels?: Record<string, string>;
    ownerReferences?: { kind: string; name: string }[];
  };
  const endpoints = (slice.endpoints ?? []) as {
    addresses: string[];
    conditions?: Json;
    targetRef?: { kind: string };
  }[];
  return {
    service: labels['kubernetes.io/service-name'],
    manager: labels['endpointslice.kubernetes.io/managed-by'],
    family: slice.addressType,
    owners: ownerReferences.map((owner) => `${owner.kind} ${owner.name}`),
    ports: steady(slice.ports),
    endpoints: endpoints.map((endpoint) => ({
      targets: endpoint.targetRef?.kind,
      ready: endpoint.conditions?.ready,
    })),
  };
}

function endpointFacts(endpoints: Json): Json {
  const { name, labels } = endpoints.metadata as Json;
  const subsets = (endpoints.subsets ?? []) as {
    addresses?: { targetRef?: { kind: string } }[];
    ports?: unknown;
  }[];
  return {
    name,
    labels,
    subsets: subsets.map((subset) => ({
      addresses: (subset.addresses ?? []).map((one) => one.targetRef?.kind),
      ports: subset.ports,
    })),
  };
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a).localeCompare(JSON.stringify(b));
}
