import type { Metadata } from './objects.ts';

/** Where the API serves each kind that devloop reads or writes. */
const KINDS = {
  Service: { root: '/api/v1', apiVersion: 'v1', plural: 'services', namespaced: true },
  Endpoints: { root: '/api/v1', apiVersion: 'v1', plural: 'endpoints', namespaced: true },
  Secret: { root: '/api/v1', apiVersion: 'v1', plural: 'secrets', namespaced: true },
  ConfigMap: { root: '/api/v1', apiVersion: 'v1', plural: 'configmaps', namespaced: true },
  Pod: { root: '/api/v1', apiVersion: 'v1', plural: 'pods', namespaced: true },
  ServiceAccount: { root: '/api/v1', apiVersion: 'v1', plural: 'serviceaccounts', namespaced: true },
  Event: { root: '/api/v1', apiVersion: 'v1', plural: 'events', namespaced: true },
  Namespace: { root: '/api/v1', apiVersion: 'v1', plural: 'namespaces', namespaced: false },
  Node: { root: '/api/v1', apiVersion: 'v1', plural: 'nodes', namespaced: false },
  Deployment: { root: '/apis/apps/v1', apiVersion: 'apps/v1', plural: 'deployments', namespaced: true },
  ReplicaSet: { root: '/apis/apps/v1', apiVersion: 'apps/v1', plural: 'replicasets', namespaced: true },
  StatefulSet: { root: '/apis/apps/v1', apiVersion: 'apps/v1', plural: 'statefulsets', namespaced: true },
  DaemonSet: { root: '/apis/apps/v1', apiVersion: 'apps/v1', plural: 'daemonsets', namespaced: true },
  ControllerRevision: {
    root: '/apis/apps/v1',
    apiVersion: 'apps/v1',
    plural: 'controllerrevisions',
    namespaced: true,
  },
  HorizontalPodAutoscaler: {
    root: '/apis/autoscaling/v2',
    apiVersion: 'autoscaling/v2',
    plural: 'horizontalpodautoscalers',
    namespaced: true,
  },
  PodDisruptionBudget: {
    root: '/apis/policy/v1',
    apiVersion: 'policy/v1',
    plural: 'poddisruptionbudgets',
    namespaced: true,
  },
  EndpointSlice: {
    root: '/apis/discovery.k8s.io/v1',
    apiVersion: 'discovery.k8s.io/v1',
    plural: 'endpointslices',
    namespaced: true,
  },
  NetworkPolicy: {
    root: '/apis/networking.k8s.io/v1',
    apiVersion: 'networking.k8s.io/v1',
    plural: 'networkpolicies',
    namespaced: true,
  },
  Lease: {
    root: '/apis/coordination.k8s.io/v1',
    apiVersion: 'coordination.k8s.io/v1',
    plural: 'leases',
    namespaced: true,
  },
  ValidatingWebhookConfiguration: {
    root: '/apis/admissionregistration.k8s.io/v1',
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  },
  MutatingWebhookConfiguration: {
    root: '/apis/admissionregistration.k8s.io/v1',
    apiVersion: 'admissionregistration.k8s.io/v1',
    plural: 'mutatingwebhookconfigurations',
    namespaced: false,
  },
  Role: {
    root: '/apis/rbac.authorization.k8s.io/v1',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    plural: 'roles',
    namespaced: true,
  },
  ClusterRole: {
    root: '/apis/rbac.authorization.k8s.io/v1',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    plural: 'clusterroles',
    namespaced: false,
  },
  RoleBinding: {
    root: '/apis/rbac.authorization.k8s.io/v1',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    plural: 'rolebindings',
    namespaced: true,
  },
  ClusterRoleBinding: {
    root: '/apis/rbac.authorization.k8s.io/v1',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    plural: 'clusterrolebindings',
    namespaced: false,
  },
  APIService: {
    root: '/apis/apiregistration.k8s.io/v1',
    apiVersion: 'apiregistration.k8s.io/v1',
    plural: 'apiservices',
    namespaced: false,
  },
  CustomResourceDefinition: {
    root: '/apis/apiextensions.k8s.io/v1',
    apiVersion: 'apiextensions.k8s.io/v1',
    plural: 'customresourcedefinitions',
    namespaced: false,
  },
} as const;

export type Kind = keyof typeof KINDS;

/** How a workload relates to its Pods, and to what Kubernetes writes for it. */
export interface WorkloadRelations {
  /** Its controller, as kube-controller-manager calls it. */
  controller: string;
  /** Whether it has replicas, and the subresource `scale`. */
  isScaled: boolean;
  /** What stands between it and its Pods: its name is the workload's and the value of this label of the Pods. */
  between?: { kind: Kind; hash: string };
  /** Labels of each of its Pods that its template does not have. */
  podLabels: string[];
  /** What its controller writes when the workload is resumed, besides Pods. */
  resumed: { kind: Kind; operations: string[] }[];
}

const TEMPLATE_HASH = 'pod-template-hash';

/** The kinds that a manager can run in: those with a Pod template. */
const WORKLOADS = {
  Deployment: {
    controller: 'deployment-controller',
    isScaled: true,
    between: { kind: 'ReplicaSet', hash: TEMPLATE_HASH },
    podLabels: [TEMPLATE_HASH],
    resumed: [{ kind: 'ReplicaSet', operations: ['UPDATE'] }],
  },
  StatefulSet: {
    controller: 'statefulset-controller',
    isScaled: true,
    podLabels: [
      ...['controller-revision-hash', 'statefulset.kubernetes.io/pod-name'],
      'apps.kubernetes.io/pod-index',
    ],
    resumed: [],
  },
  DaemonSet: {
    controller: 'daemon-set-controller',
    isScaled: false,
    podLabels: ['controller-revision-hash', 'pod-template-generation'],
    // Restoring the old template moves its revision to the end of the history; devloop deletes the revision of the pause.
    resumed: [{ kind: 'ControllerRevision', operations: ['CREATE', 'UPDATE', 'DELETE'] }],
  },
} satisfies Partial<Record<Kind, WorkloadRelations>>;

export type WorkloadKind = keyof typeof WORKLOADS;

export const WORKLOAD_KINDS = Object.keys(WORKLOADS) as WorkloadKind[];

export function isWorkload(kind: Kind): kind is WorkloadKind {
  return kind in WORKLOADS;
}

export function relationsOf(kind: WorkloadKind): WorkloadRelations {
  return WORKLOADS[kind];
}

/** Names one object. `namespace` is absent for kinds that have none. */
export interface ObjectRef {
  kind: Kind;
  namespace?: string;
  name: string;
}

export interface KindInfo {
  root: string;
  apiVersion: string;
  plural: string;
  namespaced: boolean;
}

export function kindInfo(kind: Kind): KindInfo {
  return KINDS[kind];
}

export function apiGroupOf(kind: Kind): string {
  const { apiVersion } = KINDS[kind];
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

export function collectionPath(kind: Kind, namespace?: string): string {
  const { root, plural, namespaced } = KINDS[kind];
  return namespaced && namespace !== undefined
    ? `${root}/namespaces/${segment(namespace)}/${plural}`
    : `${root}/${plural}`;
}

export function objectPath(ref: ObjectRef): string {
  return `${collectionPath(ref.kind, ref.namespace)}/${segment(ref.name)}`;
}

/** Replaces half a surrogate pair, at which encodeURIComponent throws. No object has such a name, so the API server still finds nothing. */
function segment(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}

export function refOf(kind: Kind, metadata: Metadata): ObjectRef {
  return metadata.namespace === undefined
    ? { kind, name: metadata.name }
    : { kind, namespace: metadata.namespace, name: metadata.name };
}

/** The kinds of webhook configurations. */
export const WEBHOOK_KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const;
export type WebhookKind = (typeof WEBHOOK_KINDS)[number];

export function isWebhookKind(kind: Kind): kind is WebhookKind {
  return (WEBHOOK_KINDS as readonly string[]).includes(kind);
}
