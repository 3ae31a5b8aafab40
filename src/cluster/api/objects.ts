/** The parts of Kubernetes objects that devloop reads and writes, as the API server sends them (times are ISO strings). */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export interface Metadata {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  generation?: number;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
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
  time?: string;
  subresource?: string;
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
    ipFamilies?: ('IPv4' | 'IPv6')[];
    ipFamilyPolicy?: string;
    internalTrafficPolicy?: string;
  };
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  envFrom?: { prefix?: string; configMapRef?: Reference; secretRef?: Reference }[];
  ports?: { name?: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
  resources?: Resources;
}

/** Quantities by resource: `{cpu: '500m', memory: '64Mi'}`. */
export interface Resources {
  requests?: Record<string, string>;
  limits?: Record<string, string>;
}

interface Reference {
  name: string;
  optional?: boolean;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: FieldRef;
    secretKeyRef?: Reference & { key: string };
    configMapKeyRef?: Reference & { key: string };
    resourceFieldRef?: ResourceFieldRef;
  };
}

export interface FieldRef {
  fieldPath: string;
}

export interface ResourceFieldRef {
  /** Absent in a variable: its own container. */
  containerName?: string;
  resource: string;
  divisor?: string;
}

export interface KeyToPath {
  key: string;
  path: string;
}

/** One source of a projected volume, and what the simple volumes consist of. */
export interface ProjectedSource {
  secret?: { name: string; items?: KeyToPath[]; optional?: boolean };
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardFile[] };
  serviceAccountToken?: { path: string; audience?: string };
}

export interface DownwardFile {
  path: string;
  fieldRef?: FieldRef;
  resourceFieldRef?: ResourceFieldRef;
}

/** `emptyDir`, `csi` and every other kind of volume is a key here, too. */
export interface Volume {
  name: string;
  secret?: { secretName: string; items?: KeyToPath[]; optional?: boolean };
  configMap?: { name: string; items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardFile[] };
  projected?: { sources?: ProjectedSource[] };
  emptyDir?: object;
  csi?: { driver: string };
}

export interface PodTemplate {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: {
    containers: Container[];
    initContainers?: Container[];
    volumes?: Volume[];
    serviceAccountName?: string;
  } & Placement;
}

/** What decides on which nodes a Pod may run, and with which credentials its image is pulled. */
export interface Placement {
  nodeSelector?: Record<string, string>;
  tolerations?: { key?: string; operator?: string; value?: string; effect?: string }[];
  imagePullSecrets?: { name?: string }[];
}

/** A Deployment, a StatefulSet, or a DaemonSet, which has no replicas. */
export interface Workload extends KubeObject {
  spec: { replicas?: number; selector: { matchLabels?: Record<string, string> }; template: PodTemplate };
  status?: {
    replicas?: number;
    readyReplicas?: number;
    updatedReplicas?: number;
    /** Of a DaemonSet. */
    numberReady?: number;
    desiredNumberScheduled?: number;
    observedGeneration?: number;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
  };
}

/** An earlier template of a DaemonSet or StatefulSet. */
export interface ControllerRevision extends KubeObject {
  data?: unknown;
}

export interface Pod extends KubeObject {
  spec?: Partial<PodTemplate['spec']> & { nodeName?: string };
  status?: {
    phase?: string;
    podIP?: string;
    startTime?: string;
    reason?: string;
    message?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    containerStatuses?: ContainerStatus[];
  };
}

export interface ContainerStatus {
  name: string;
  image?: string;
  imageID?: string;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: object;
    terminated?: { exitCode: number; reason?: string; message?: string };
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

/** Without a Service it is served by kube-apiserver itself. */
export interface ApiService extends KubeObject {
  spec: { service?: { namespace: string; name: string } };
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
  spec: { group: string; conversion?: { strategy: string; webhook?: { clientConfig?: WebhookClient } } };
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

export interface Node extends KubeObject {
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
