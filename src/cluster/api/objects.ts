/** The parts of Kubernetes objects that devloop reads and writes, as the API server sends them (times are ISO strings). */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface Metadata {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  generation?: number;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
}

/** An Event, as the kubelet and the controllers of workloads write it. */
export interface KubeEvent extends KubeObject {
  reason?: string;
  message?: string;
  lastTimestamp?: string;
}

export interface OwnerReference {
  apiVersion?: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

/** Which fields one writer set last. `fieldsV1` is a tree of `f:<name>`, with {} at its leaves. */
export interface ManagedFields {
  manager: string;
  operation: string;
  apiVersion?: string;
  time?: string;
  subresource?: string;
  fieldsType?: 'FieldsV1';
  fieldsV1?: unknown;
}

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
}

export interface List<T> {
  items: T[] | null;
  metadata?: { resourceVersion?: string; continue?: string };
}

export interface ServicePort {
  name?: string;
  port: number;
  targetPort?: number | string;
  protocol?: string;
}

export interface Service extends KubeObject {
  spec: {
    type?: string;
    selector?: Record<string, string>;
    ports?: ServicePort[];
    clusterIP?: string;
    externalName?: string;
    ipFamilies?: ('IPv4' | 'IPv6')[];
    ipFamilyPolicy?: string;
    internalTrafficPolicy?: string;
  };
}

export interface Secret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

export interface Endpoints extends KubeObject {
  subsets?: {
    addresses?: { ip: string }[];
    notReadyAddresses?: { ip: string }[];
    ports?: { name?: string; port: number; protocol?: string }[];
  }[];
}

export interface EndpointSlice extends KubeObject {
  addressType: 'IPv4' | 'IPv6' | 'FQDN';
  endpoints:
    | { addresses: string[]; conditions?: { ready?: boolean }; targetRef?: { kind?: string; name: string } }[]
    | null;
  ports?: { name?: string; port?: number; protocol?: string }[];
}

export interface WebhookClient {
  url?: string;
  caBundle?: string;
  service?: { namespace: string; name: string; path?: string; port?: number };
}

/** An APIService that names no Service is served by kube-apiserver itself. */
export interface ApiService extends KubeObject {
  spec: { group?: string; service?: { namespace: string; name: string } };
}

export interface WebhookConfiguration extends KubeObject {
  webhooks?: {
    name: string;
    clientConfig: WebhookClient;
    failurePolicy?: string;
    sideEffects?: string;
    timeoutSeconds?: number;
    rules?: { apiGroups?: string[]; resources?: string[]; operations?: string[] }[];
    namespaceSelector?: LabelSelector;
    objectSelector?: LabelSelector;
    matchConditions?: object[];
  }[];
}

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string;
    names?: { kind: string };
    versions?: {
      name: string;
      storage?: boolean;
      schema?: { openAPIV3Schema?: Schema };
      subresources?: { status?: object };
    }[];
    conversion?: { strategy: string; webhook?: { clientConfig?: WebhookClient } };
    preserveUnknownFields?: boolean;
  };
}

/** The parts of a schema that say which fields an object can have. */
export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
}

export interface Lease extends KubeObject {
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

/** The current time in the format of Leases: `2026-01-01T00:00:00.000000Z`. */
export function microTime(): string {
  return new Date().toISOString().replace(/(\.\d{3})Z$/, '$1000Z');
}

export interface Node extends KubeObject {
  spec?: { providerID?: string };
  status?: { addresses?: { type: string; address: string }[] };
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

export interface Autoscaler extends KubeObject {
  spec: { scaleTargetRef: { kind: string; name: string }; minReplicas?: number };
}

export interface DisruptionBudget extends KubeObject {
  spec: { selector?: LabelSelector };
}

export interface NetworkPolicy extends KubeObject {
  spec: {
    podSelector?: LabelSelector;
    policyTypes?: string[];
    ingress?: {
      from?: {
        ipBlock?: { cidr: string; except?: string[] };
        podSelector?: object;
        namespaceSelector?: object;
      }[];
      ports?: { port?: number | string; endPort?: number; protocol?: string }[];
    }[];
  };
}
