import type { KubeObject } from '../../cluster/api/objects.ts';
import { manifestObjects } from './manifest-objects.ts';

/** A kind as the API server's discovery lists it. */
export interface ServedKind {
  /** Empty for the core group. */
  group: string;
  version: string;
  kind: string;
  plural: string;
  isNamespaced: boolean;
}

/** The kinds of Kubernetes 1.36, by API version: those in a namespace, and those that belong to the whole cluster. */
const BUILT_IN: [apiVersion: string, namespaced: string, cluster: string][] = [
  [
    'v1',
    'Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount',
    'ComponentStatus Namespace Node PersistentVolume',
  ],
  [
    'admissionregistration.k8s.io/v1',
    '',
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  ],
  ['apiextensions.k8s.io/v1', '', 'CustomResourceDefinition'],
  ['apiregistration.k8s.io/v1', '', 'APIService'],
  ['apps/v1', 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet', ''],
  ['authentication.k8s.io/v1', '', 'SelfSubjectReview TokenReview'],
  [
    'authorization.k8s.io/v1',
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  ],
  ['autoscaling/v1', 'HorizontalPodAutoscaler', ''],
  ['autoscaling/v2', 'HorizontalPodAutoscaler', ''],
  ['batch/v1', 'CronJob Job', ''],
  ['certificates.k8s.io/v1', '', 'CertificateSigningRequest'],
  ['coordination.k8s.io/v1', 'Lease', ''],
  ['discovery.k8s.io/v1', 'EndpointSlice', ''],
  ['events.k8s.io/v1', 'Event', ''],
  ['flowcontrol.apiserver.k8s.io/v1', '', 'FlowSchema PriorityLevelConfiguration'],
  ['networking.k8s.io/v1', 'Ingress NetworkPolicy', 'IPAddress IngressClass ServiceCIDR'],
  ['node.k8s.io/v1', '', 'RuntimeClass'],
  ['policy/v1', 'PodDisruptionBudget', ''],
  ['rbac.authorization.k8s.io/v1', 'Role RoleBinding', 'ClusterRole ClusterRoleBinding'],
  ['resource.k8s.io/v1', 'ResourceClaim ResourceClaimTemplate', 'DeviceClass ResourceSlice'],
  ['scheduling.k8s.io/v1', '', 'PriorityClass'],
  [
    'storage.k8s.io/v1',
    'CSIStorageCapacity',
    'CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass',
  ],
];

export function builtInKinds(): ServedKind[] {
  return BUILT_IN.flatMap(([apiVersion, namespaced, cluster]) => {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const served = (kinds: string, isNamespaced: boolean): ServedKind[] =>
      kinds
        .split(' ')
        .filter((kind) => kind !== '')
        .map((kind) => ({ group, version, kind, plural: pluralOf(kind), isNamespaced }));
    return [...served(namespaced, true), ...served(cluster, false)];
  });
}

/** The resource of a kind of Kubernetes; the API server chooses these names itself. */
function pluralOf(kind: string): string {
  const name = kind.toLowerCase();
  if (name === 'endpoints') return name;
  if (name.endsWith('y')) return `${name.slice(0, -1)}ies`;
  return name.endsWith('s') ? `${name}es` : `${name}s`;
}

/** A CRD in the manifests of a checkout. */
export interface Definition extends KubeObject {
  spec: {
    group?: string;
    names?: { kind?: string; plural?: string };
    scope?: string;
    versions?: { name?: string; served?: boolean }[];
    conversion?: unknown;
  };
  status?: { conditions?: { type: string; status: string }[] };
}

export async function definitionsIn(checkout: string): Promise<Definition[]> {
  return (await manifestObjects(checkout, OF_A_CRD)).filter(isDefinition);
}

const OF_A_CRD = /^kind:\s*CustomResourceDefinition\s*$/m;

function isDefinition(value: unknown): value is Definition {
  const { kind, metadata, spec } = (value ?? {}) as Partial<Definition & { kind: string }>;
  // A patch of a CRD, as kustomize merges it, has the same kind and name.
  const isWhole = typeof metadata?.name === 'string' && typeof spec?.group === 'string';
  return kind === 'CustomResourceDefinition' && isWhole;
}

/** The kinds that the CRD defines; none if it is incomplete. */
export function kindsOf({ spec }: Definition): ServedKind[] {
  const { group, names: { kind, plural } = {}, scope, versions } = spec;
  if (!group || !kind || !plural || !Array.isArray(versions)) return [];
  return versions.flatMap(({ name, served }) =>
    name && served !== false
      ? [{ group, version: name, kind, plural, isNamespaced: scope !== 'Cluster' }]
      : [],
  );
}

/** The documents of the API server's discovery, by path. */
export function discoveryOf(kinds: ServedKind[]): Record<string, object> {
  const names = new Set(kinds.map(({ group }) => group).filter((group) => group !== ''));
  const groups = [...names].map((name) => groupOf(name, kinds));
  const documents: Record<string, object> = {
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/api/v1': listOf('v1', kinds),
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
  };
  for (const group of groups) {
    documents[`/apis/${group.name}`] = { kind: 'APIGroup', apiVersion: 'v1', ...group };
    for (const { groupVersion } of group.versions)
      documents[`/apis/${groupVersion}`] = listOf(groupVersion, kinds);
  }
  return documents;
}

function groupOf(name: string, kinds: ServedKind[]) {
  const served = kinds.filter(({ group }) => group === name);
  const versions = [...new Set(served.map(({ version }) => version))].map((version) => ({
    groupVersion: `${name}/${version}`,
    version,
  }));
  return { name, versions, preferredVersion: versions[0]! };
}

function listOf(groupVersion: string, kinds: ServedKind[]): object {
  const resources = kinds
    .filter(({ group, version }) => (group === '' ? version : `${group}/${version}`) === groupVersion)
    .map(resourceOf);
  return { kind: 'APIResourceList', groupVersion, resources };
}

const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

function resourceOf({ kind, plural, isNamespaced }: ServedKind): object {
  return { name: plural, singularName: kind.toLowerCase(), namespaced: isNamespaced, kind, verbs: VERBS };
}
