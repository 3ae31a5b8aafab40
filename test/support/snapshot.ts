import type { TestCluster } from '../cluster/cluster.ts';

type Json = Record<string, unknown>;
type Readable = Pick<TestCluster, 'read'>;

/** Fields that Kubernetes itself changes whenever anybody writes. */
const VOLATILE = new Set([
  ...['resourceVersion', 'generation', 'managedFields', 'creationTimestamp', 'uid'],
  // A DaemonSet has two more generations: its template was changed, and changed back.
  ...['deprecated.daemonset.template.generation', 'revision'],
]);

/** The path under which the API server lists each kind. */
const GROUPS: Record<string, string> = {
  Service: 'api/v1',
  Endpoints: 'api/v1',
  Pod: 'api/v1',
  ConfigMap: 'api/v1',
  Secret: 'api/v1',
  Deployment: 'apis/apps/v1',
  ReplicaSet: 'apis/apps/v1',
  StatefulSet: 'apis/apps/v1',
  DaemonSet: 'apis/apps/v1',
  ControllerRevision: 'apis/apps/v1',
  EndpointSlice: 'apis/discovery.k8s.io/v1',
  Lease: 'apis/coordination.k8s.io/v1',
  ValidatingWebhookConfiguration: 'apis/admissionregistration.k8s.io/v1',
  MutatingWebhookConfiguration: 'apis/admissionregistration.k8s.io/v1',
};
const CONFIGURATIONS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'];

/**
 * Everything in a namespace that a take-over may change, in a form that can be compared: Services, Deployments and webhook configurations
 * field by field, except the volatile fields; and the addresses, ports and managers of slices and Endpoints, which controllers create
 * again.
 */
export async function snapshot(cluster: Readable, namespace: string): Promise<Json> {
  return (await snapshots(cluster, [namespace]))[0]!;
}

/** The same for several namespaces, with no more calls than for one. */
export async function snapshots(cluster: Readable, namespaces: string[]): Promise<Json[]> {
  const kinds = Object.keys(GROUPS);
  const lists = await Promise.all(kinds.map((kind) => list(cluster, kind)));
  const all = new Map(kinds.map((kind, index) => [kind, lists[index]!]));
  const marked = lists.flat().filter(isMarked);
  return namespaces.map((namespace) => {
    const own = (...some: string[]): Json[] =>
      some.flatMap((kind) =>
        all.get(kind)!.filter(({ metadata }) => (metadata as Json).namespace === namespace),
      );
    const withoutStatus = (...some: string[]): unknown[] =>
      own(...some).map((one) => steady({ ...one, status: undefined }));
    return {
      services: own('Service').map(steady),
      deployments: withoutStatus('Deployment'),
      // The Deployment's controller copies annotations to here.
      replicaSets: withoutStatus('ReplicaSet'),
      others: withoutStatus('StatefulSet', 'DaemonSet', 'ControllerRevision'),
      configurations: CONFIGURATIONS.flatMap((kind) => all.get(kind)!.map(steady)),
      slices: own('EndpointSlice').map(sliceFacts).sort(byText),
      endpoints: own('Endpoints').map(endpointFacts).sort(byText),
      leases: own('Lease')
        .map(nameOf)
        .filter((name) => name.startsWith('devloop')),
      marked: marked.map((one) => `${one.kind} ${nameOf(one)}`),
    };
  });
}

const OWNED = ['Service', 'Deployment', 'StatefulSet', 'DaemonSet'];

/** Who owns which fields of the objects that a take-over changes. They are as before if nobody else has written meanwhile. */
export async function fieldOwners(cluster: Readable, namespace: string): Promise<Json[]> {
  const lists = await Promise.all(OWNED.map((kind) => list(cluster, kind)));
  return lists
    .flat()
    .filter(({ metadata }) => (metadata as Json).namespace === namespace)
    .map(ownerFacts);
}

async function list(cluster: Readable, kind: string): Promise<Json[]> {
  const plural = kind === 'Endpoints' ? 'endpoints' : `${kind.toLowerCase()}s`;
  const { items } = (await cluster.read(`/${GROUPS[kind]}/${plural}`)) as { items: Json[] };
  return items.sort(byName).map((one) => ({ ...one, kind }));
}

function isMarked({ metadata }: Json): boolean {
  const { labels = {} } = metadata as { labels?: Record<string, string> };
  return Object.hasOwn(labels, 'devloop.dev/session');
}

const nameOf = (object: Json): string => (object.metadata as { name: string }).name;
const byName = (a: Json, b: Json): number => nameOf(a).localeCompare(nameOf(b));

function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, entry]) => !VOLATILE.has(key) && entry !== undefined)
      .map(([key, entry]) => [key, steady(entry)]),
  );
}

/**
 * When the manager is scaled, other Pods take the place of the old ones, so only the number of Pods is part of the state that is restored,
 * not their addresses. A terminating Pod is not counted: Kubernetes removes it, whether anybody waits for that or not.
 */
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
    endpoints: endpoints
      .filter(({ conditions }) => conditions?.terminating !== true)
      .map((endpoint) => ({ targets: endpoint.targetRef?.kind, ready: endpoint.conditions?.ready })),
  };
}

/** Who owns which fields, apart from the status, which Kubernetes' controllers write. */
function ownerFacts(object: Json): Json {
  const { managedFields = [] } = object.metadata as { managedFields?: Json[] };
  return {
    object: `${object.kind} ${nameOf(object)}`,
    owners: managedFields
      .filter(({ subresource }) => subresource !== 'status')
      .map(({ manager, operation, fieldsV1 }) => ({ manager, operation, fieldsV1 })),
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
