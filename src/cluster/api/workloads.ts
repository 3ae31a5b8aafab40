/** Pods and the workloads that create them, with the fields that devloop reads or writes. */
import type { KubeObject } from './objects.ts';

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
  /** May be absent in an environment variable, which then uses its own container. */
  containerName?: string;
  resource: string;
  divisor?: string;
}

export interface KeyToPath {
  key: string;
  path: string;
  /** Overrides the volume's `defaultMode`. */
  mode?: number;
}

/** A Secret or ConfigMap whose keys are the files of a volume. */
interface KeyFiles {
  items?: KeyToPath[];
  optional?: boolean;
  defaultMode?: number;
}

/** One source of a projected volume. Most kinds of sources also exist as volumes of their own. */
export interface ProjectedSource {
  secret?: { name: string } & KeyFiles;
  configMap?: { name: string } & KeyFiles;
  downwardAPI?: { items?: DownwardFile[] };
  serviceAccountToken?: { path: string; audience?: string };
}

export interface DownwardFile {
  path: string;
  fieldRef?: FieldRef;
  resourceFieldRef?: ResourceFieldRef;
}

/** The key besides `name` is the kind of volume, possibly one that is not listed here. */
export interface Volume {
  name: string;
  secret?: { secretName: string } & KeyFiles;
  configMap?: { name: string } & KeyFiles;
  downwardAPI?: { items?: DownwardFile[] };
  projected?: { sources?: ProjectedSource[]; defaultMode?: number };
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

/** What decides on which nodes a Pod can run, and with which credentials its image is pulled. */
export interface Placement {
  nodeSelector?: Record<string, string>;
  tolerations?: { key?: string; operator?: string; value?: string; effect?: string }[];
  imagePullSecrets?: { name?: string }[];
}

/** A Deployment, StatefulSet or DaemonSet. A DaemonSet has no `replicas`. */
export interface Workload extends KubeObject {
  spec: { replicas?: number; selector: { matchLabels?: Record<string, string> }; template: PodTemplate };
  status?: {
    replicas?: number;
    readyReplicas?: number;
    updatedReplicas?: number;
    /** Only a StatefulSet has these: names of its ControllerRevisions. */
    currentRevision?: string;
    updateRevision?: string;
    /** Only a DaemonSet has `numberReady` and `desiredNumberScheduled`. */
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
    podIPs?: { ip: string }[];
    startTime?: string;
    reason?: string;
    message?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

/** Whether Kubernetes sends calls to the Pod. */
export function isReadyPod({ metadata, status }: Pod): boolean {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  return condition?.status === 'True' && metadata.deletionTimestamp === undefined;
}

export interface ContainerStatus {
  name: string;
  image?: string;
  ready?: boolean;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: object;
    terminated?: { exitCode: number; reason?: string; message?: string };
  };
  lastState?: { terminated?: { exitCode: number; reason?: string } };
}
