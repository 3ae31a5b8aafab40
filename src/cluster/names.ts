/**
 * Every label, annotation and name that devloop gives to objects of the cluster, and how to distinguish devloop's objects from the user's.
 */
import { createHash } from 'node:crypto';
import { type Kind, type ObjectRef, refOf } from './api/kinds.ts';
import type { KubeObject } from './api/objects.ts';

/** The label on every object that a session changes or creates; its value is the session's id. */
export const SESSION_LABEL = 'devloop.dev/session';
/** The annotation on every object that a session changes: the changed fields before and after. */
export const UNDO_ANNOTATION = 'devloop.dev/undo';
/**
 * The label that replaces UNDO_ANNOTATION on a paused Deployment or StatefulSet; its value begins with the number of replicas. It is not an
 * annotation, because Kubernetes' controllers copy annotations to ReplicaSets and ControllerRevisions, and never remove them there.
 */
export const REPLICAS_LABEL = 'devloop.dev/replicas';
/** The label that replaces UNDO_ANNOTATION on a paused DaemonSet, and the key that a pause adds to its node selector. */
export const PAUSED = 'devloop.dev/paused';
/** The annotation on a Lease that records its holder. */
export const HOLDER_ANNOTATION = 'devloop.dev/holder';
/** The label on the relay's Pods, which a Service that uses the relay selects. Its value is the session's id. */
export const RELAY_LABEL = 'devloop.dev/relay';
/** The label on the objects whose dry-run creation makes kube-apiserver call the probe's webhook. */
export const PROBE_LABEL = 'devloop.dev/probe';
export const PROBE_WEBHOOK = 'probe.devloop.dev';

/** Kubernetes' label for the manager of an EndpointSlice, and devloop's value for it. */
export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
export const SLICE_MANAGER = 'devloop.dev';
/** Copies hand-made Endpoints to slices. */
export const MIRRORING = 'endpointslicemirroring-controller.k8s.io';
/** Kubernetes' label for Endpoints that must not be mirrored to an EndpointSlice. devloop sets it on its own Endpoints. */
export const SKIP_MIRROR = 'endpointslice.kubernetes.io/skip-mirror';

export const RELAY_NAME = 'devloop-relay';

/**
 * Keeps the proxy of a service mesh out of devloop's Pods. The proxy would ask kube-apiserver for a client certificate, and could violate
 * the namespace's rules.
 */
export const NO_SIDECAR = {
  labels: { 'sidecar.istio.io/inject': 'false' },
  annotations: { 'sidecar.istio.io/inject': 'false', 'linkerd.io/inject': 'disabled' },
};
/** Keeps a stand-in Pod from running: a scheduling gate that nobody removes, and a node label that no node has. */
export const STAND_IN = 'devloop.dev/stand-in';

/** Stands for the session's id in the object names of a plan. */
export const ANY_SESSION = '<session>';

const LEASE_STEM = 'devloop.';
const LEADER_STEM = 'devloop-';
const LONGEST_NAME = 253;

/** The Lease that a session holds for an object that it takes over. */
export function leaseRef({ kind, namespace, name }: ObjectRef): ObjectRef {
  const whole = `${leaseStem(kind)}${name}`;
  const metadata = { name: whole.length < LONGEST_NAME ? whole : withHash(whole) };
  return refOf('Lease', namespace === undefined ? metadata : { ...metadata, namespace });
}

/** Just as long as a name can be, so that nothing else has such a name. */
function withHash(whole: string): string {
  const hash = `-${createHash('sha256').update(whole).digest('hex').slice(0, 16)}`;
  // In a name, no dot is followed by a dash.
  return whole.slice(0, LONGEST_NAME - hash.length).replace(/\.$/, '-') + hash;
}

/** Whether a session holds this Lease for the object. Earlier versions of devloop cut long names. */
export function isLeaseFor(lease: ObjectRef, object: ObjectRef): boolean {
  const cut = `${leaseStem(object.kind)}${object.name}`.slice(0, LONGEST_NAME);
  return lease.namespace === object.namespace && [leaseRef(object).name, cut].includes(lease.name);
}

/** The holder that a session writes into the manager's leader election Lease to pause the manager. */
export function leaderIdentity(sessionId: string): string {
  return `${LEADER_STEM}${sessionId}`;
}

/** Whether the holder is a devloop session, this one or another. */
export function isLeaderIdentity(holder: string): boolean {
  return holder.startsWith(LEADER_STEM);
}

/** The object that a Lease is for; undefined if it is of none of these kinds, or if its name is too long to be part of the Lease's name. */
export function leasedObject({ namespace, name }: ObjectRef, kinds: Kind[]): ObjectRef | undefined {
  const kind = kinds.find((one) => name.startsWith(leaseStem(one)));
  if (kind === undefined || namespace === undefined || name.length >= LONGEST_NAME) return undefined;
  return { kind, namespace, name: name.slice(leaseStem(kind).length) };
}

function leaseStem(kind: Kind): string {
  return `${LEASE_STEM}${kind.toLowerCase()}.`;
}

/** The EndpointSlice that points a Service to this machine. */
export function sliceRef(service: ObjectRef, sessionId: string): ObjectRef {
  return { ...service, kind: 'EndpointSlice', name: `${service.name}-devloop-${sessionId}` };
}

/**
 * The name contains the IP families, so that leftovers of one probe Service, which Kubernetes removes later, do not belong to the next one.
 */
export function probeServiceName(ipFamilies: string[], sessionId: string): string {
  return ['devloop-probe', ...ipFamilies, sessionId].join('-').toLowerCase();
}

/** The headless Service with which `doctor` finds out how kube-apiserver reaches Services. */
export function routingServiceName(sessionId: string): string {
  return `devloop-routing-${sessionId}`;
}

export function probeConfigurationName(sessionId: string, suffix: string): string {
  return `devloop-probe-${sessionId}-${suffix}`;
}

/** The name of the object that a probe creates in a dry run. */
export function probeObjectName(nonce: string): string {
  return `devloop-probe-${nonce}`;
}

export function relaySecretRef(namespace: string, sessionId: string): ObjectRef {
  return { kind: 'Secret', namespace, name: `${RELAY_NAME}-${sessionId}` };
}

export function relayPodName(sessionId: string, suffix: string): string {
  return `${RELAY_NAME}-${sessionId}-${suffix}`;
}

const LONGEST_POD_NAME = 63;

/**
 * The Pod name that the controller receives: the name of its stand-in Pod. For a StatefulSet, the name ends in an ordinal, which programs
 * read. If the stand-in had the real Pod's name, the StatefulSet could not create that Pod again.
 */
export function standInName({ kind, name }: ObjectRef, sessionId: string, ordinal = 0): string {
  const suffix = `-devloop-${sessionId}${kind === 'StatefulSet' ? `-${ordinal}` : ''}`;
  return name.slice(0, LONGEST_POD_NAME - suffix.length).replace(/[-.]+$/, '') + suffix;
}

function isStandIn({ name }: ObjectRef, sessionId: string): boolean {
  return name.includes(`-devloop-${sessionId}`);
}

export function isRelayPod({ kind, name }: ObjectRef, sessionId: string): boolean {
  return kind === 'Pod' && name.startsWith(relayPodName(sessionId, ''));
}

/**
 * The labels that a Service selects while it uses the relay. They are never the operator's own, so that no ReplicaSet adopts the relay's
 * Pod.
 */
export function relayLabels(sessionId: string): Record<string, string> {
  return { [RELAY_LABEL]: sessionId };
}

/**
 * Whether an object with the session's label was created or changed by that session. The label alone does not prove it: controllers copy a
 * Service's labels to its endpoints, and a person may copy a manifest. So an object of a kind that devloop creates must also have one of
 * devloop's names or a second label.
 */
export function isOurs(ref: ObjectRef, object: KubeObject, sessionId: string): boolean {
  switch (ref.kind) {
    case 'EndpointSlice':
      return isOurSlice(object);
    case 'Endpoints':
      return isOurEndpoints(object);
    case 'Lease':
      return ref.name.startsWith(LEASE_STEM);
    case 'Pod':
      return isRelayPod(ref, sessionId) || isStandIn(ref, sessionId);
    case 'Secret':
      return ref.name === `${RELAY_NAME}-${sessionId}`;
    default:
      return true;
  }
}

/** Whether devloop created this webhook configuration to probe a route; any other one with the session's label is the user's. */
export function isProbeConfiguration({ name }: Pick<ObjectRef, 'name'>, sessionId: string): boolean {
  return name.startsWith(probeConfigurationName(sessionId, ''));
}

/**
 * Whether devloop created this Service. Only the name proves it: a missing undo annotation does not, and a Service of the user must never
 * be deleted.
 */
export function isOwnService(ref: ObjectRef, sessionId: string): boolean {
  return ref.name.startsWith('devloop-') && ref.name.endsWith(`-${sessionId}`);
}

/**
 * Either devloop's own, or one that somebody made by hand, also if it has lost its undo. The slices of a controller can have their labels
 * from the Service, and mirrored ones have their labels and annotations from the Endpoints.
 */
function isOurSlice({ metadata: { labels = {}, annotations = {} } }: KubeObject): boolean {
  const manager = labels[MANAGED_BY];
  if (manager === undefined || manager === SLICE_MANAGER) return true;
  return annotations[UNDO_ANNOTATION] !== undefined && manager !== MIRRORING;
}

function isOurEndpoints({ metadata }: KubeObject): boolean {
  return metadata.labels?.[SKIP_MIRROR] !== undefined;
}
