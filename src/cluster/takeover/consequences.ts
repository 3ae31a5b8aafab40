/** What Kubernetes itself writes when a manager is paused or resumed, and when its Services are changed. */
import { apiGroupOf, type Kind, kindInfo, relationsOf, WORKLOAD_KINDS } from '../api/kinds.ts';
import type { KubeObject, OwnerReference } from '../api/objects.ts';
import { controllerOf } from '../api/ownership.ts';
import type { ControllerRevision, Pod, Workload } from '../api/workloads.ts';
import { sessionOf } from '../marks/marks.ts';
import { valueAt } from '../marks/paths.ts';
import { isOurs } from '../names.ts';
import { SERVICE_NAME } from './endpoints.ts';
import type { AdmissionRequest } from './reviewed.ts';
import type { TakenObject, TakenObjects } from './taken.ts';
import { hasTakenTemplate, isOfOwner, isTakenTemplate, keepsWhatRuns } from './templates.ts';

/** Whether a review is about a consequence: `unknown` if it would be one if its account were one of the control plane's. */
export type Verdict = 'consequence' | 'unknown' | 'other';

export async function judgeConsequence(
  review: AdmissionRequest,
  taken: TakenObjects,
  isTrusted: (username: string) => boolean,
): Promise<Verdict> {
  const username = review.userInfo?.username ?? '';
  const rules = RULES.filter(({ writes, operations }) => {
    return writes === whatOf(review) && operations.includes(review.operation ?? '');
  });
  const known = rules.filter(({ by }) => isTrusted(username) || isBy(by, username));
  for (const { links } of known) if (await links(review, taken)) return 'consequence';
  for (const { links } of rules) if (await links(review, taken)) return 'unknown';
  return 'other';
}

/** Whether what is written belongs to what the session took over. */
type Links = (review: AdmissionRequest, taken: TakenObjects) => Promise<boolean> | boolean;

interface Rule {
  /** A controller of kube-controller-manager, the scheduler, or the kubelet of a node. */
  by: string;
  /** `group/resource`, and the subresource if there is one. */
  writes: string;
  operations: string[];
  links: Links;
}

const SCHEDULER = 'system:kube-scheduler';
const KUBELET = 'system:node:';
const ALL = 'CREATE UPDATE DELETE';
const SLICES = 'discovery.k8s.io/endpointslices';
const REVISIONS = 'apps/controllerrevisions';

function rule(by: string, operations: string, writes: string, links: Links): Rule {
  return { by, operations: operations.split(' '), writes, links };
}

const RULES: Rule[] = [
  ...WORKLOAD_KINDS.map((kind) => {
    const status = `${apiGroupOf(kind)}/${kindInfo(kind).plural}/status`;
    return rule(relationsOf(kind).controller, 'UPDATE', status, isTaken);
  }),
  rule('deployment-controller', 'CREATE', 'apps/replicasets', isNewReplicaSet),
  rule('deployment-controller', 'UPDATE DELETE', 'apps/replicasets', isOwned),
  rule('replicaset-controller', 'UPDATE', 'apps/replicasets/status', isOwned),
  rule('replicaset-controller', 'CREATE DELETE', '/pods', isPod),
  rule('statefulset-controller', 'CREATE', REVISIONS, isNewRevision),
  rule('statefulset-controller', 'UPDATE DELETE', REVISIONS, isOwned),
  rule('statefulset-controller', ALL, '/pods', isPod),
  rule('daemon-set-controller', 'CREATE', REVISIONS, isNewRevision),
  rule('daemon-set-controller', 'UPDATE DELETE', REVISIONS, isOwned),
  rule('daemon-set-controller', 'CREATE DELETE', '/pods', isPod),
  rule('endpoint-controller', ALL, '/endpoints', isEndpoints),
  rule('endpointslice-controller', ALL, SLICES, isSlice),
  rule('endpointslicemirroring-controller', ALL, SLICES, isSlice),
  rule('generic-garbage-collector', 'DELETE', '/endpoints', isEndpoints),
  rule('generic-garbage-collector', 'DELETE', SLICES, isSlice),
  ...['apps/replicasets', REVISIONS].map((one) => rule('generic-garbage-collector', 'DELETE', one, isOwned)),
  ...['generic-garbage-collector', 'pod-garbage-collector'].map((by) => rule(by, 'DELETE', '/pods', isPod)),
  rule(SCHEDULER, 'CREATE', '/pods/binding', isBinding),
  rule(SCHEDULER, 'UPDATE', '/pods/status', isPod),
  rule(KUBELET, 'UPDATE', '/pods/status', isPodOnNode),
  rule(KUBELET, 'DELETE', '/pods', isPodOnNode),
  rule(KUBELET, 'CREATE', '/serviceaccounts/token', isToken),
];

function whatOf({ resource = {}, subResource }: AdmissionRequest): string {
  const what = `${resource.group ?? ''}/${resource.resource}`;
  return subResource ? `${what}/${subResource}` : what;
}

/** Depending on a flag of kube-controller-manager, each of its controllers has an account, or all have the same one. */
function isBy(by: string, username: string): boolean {
  if (by === KUBELET) return username.startsWith(KUBELET);
  if (by === SCHEDULER) return username === SCHEDULER;
  return [`system:serviceaccount:kube-system:${by}`, 'system:kube-controller-manager'].includes(username);
}

/** Who deletes an object is asked about the object as it was. */
function metadataOf({ object, oldObject }: AdmissionRequest): Partial<KubeObject['metadata']> {
  return (object ?? oldObject)?.metadata ?? {};
}

function takenBy(uid: string | undefined, { objects }: TakenObjects): TakenObject | undefined {
  return objects.find(({ object }) => uid !== undefined && object.metadata.uid === uid);
}

function isTaken(review: AdmissionRequest, taken: TakenObjects): boolean {
  return takenBy(metadataOf(review).uid, taken) !== undefined;
}

function ownerOf(review: AdmissionRequest, taken: TakenObjects): TakenObject | undefined {
  return takenBy(controllerOf(metadataOf(review))?.uid, taken);
}

function isOwned(review: AdmissionRequest, taken: TakenObjects): boolean {
  return ownerOf(review, taken) !== undefined && keepsWhatRuns(review);
}

function isService(
  namespace: string | undefined,
  name: string | undefined,
  { objects }: TakenObjects,
): boolean {
  return objects.some(
    ({ ref }) => ref.kind === 'Service' && ref.namespace === namespace && ref.name === name,
  );
}

function isEndpoints({ namespace, name }: AdmissionRequest, taken: TakenObjects): boolean {
  return isService(namespace, name, taken);
}

function isSlice(review: AdmissionRequest, taken: TakenObjects): boolean {
  return isService(review.namespace, metadataOf(review).labels?.[SERVICE_NAME], taken);
}

async function isPod(review: AdmissionRequest, taken: TakenObjects): Promise<boolean> {
  const { namespace = '', name = '', operation, object, oldObject } = review;
  const pod = (oldObject ?? object) as Pod | null | undefined;
  if (!pod?.metadata || !keepsWhatRuns(review)) return false;
  if (operation === 'CREATE') return await isOfManager(pod, namespace, taken, true);
  return (await isOfManager(pod, namespace, taken)) || isOwnPod(pod, name, taken);
}

/** The relay's Pod, and the stand-in. Only devloop itself creates them: a StatefulSet of anybody can have Pods of such a name and label. */
function isOwnPod(pod: Pod, name: string, { sessionId }: TakenObjects): boolean {
  return sessionOf(pod) === sessionId && isOurs({ kind: 'Pod', name }, pod, sessionId);
}

const BETWEEN = new Set<string>(WORKLOAD_KINDS.flatMap((kind) => relationsOf(kind).between?.kind ?? []));

/**
 * Whether the Pod belongs to a workload that the session took over, directly or through a ReplicaSet. Anybody can create a ReplicaSet that
 * names the Deployment as its owner, and change a StatefulSet or DaemonSet, so new Pods have to be of the template that was taken over.
 */
async function isOfManager(
  pod: Pod,
  namespace: string,
  taken: TakenObjects,
  isNew = false,
): Promise<boolean> {
  const owner = controllerOf(pod.metadata);
  if (owner === undefined || !BETWEEN.has(owner.kind)) {
    const manager = takenBy(owner?.uid, taken);
    return manager !== undefined && (!isNew || isOfOwner(pod, manager, await taken.read(manager.ref)));
  }
  const between = await taken.read({ kind: owner.kind as Kind, namespace, name: owner.name });
  if (between === undefined || between.metadata.uid !== owner.uid) return false;
  const manager = takenBy(controllerOf(between.metadata)?.uid, taken);
  if (manager === undefined) return false;
  return !isNew || hasTakenTemplate(between as Workload, manager);
}

function isNewReplicaSet(review: AdmissionRequest, taken: TakenObjects): boolean {
  const manager = ownerOf(review, taken);
  return manager !== undefined && hasTakenTemplate(review.object as Workload, manager);
}

function isNewRevision(review: AdmissionRequest, taken: TakenObjects): boolean {
  const manager = ownerOf(review, taken);
  const { data } = review.object as ControllerRevision;
  return manager !== undefined && isTakenTemplate(valueAt(data, ['spec', 'template']), manager);
}

async function readPod(name: string | undefined, { namespace }: AdmissionRequest, taken: TakenObjects) {
  if (!name || !namespace) return undefined;
  return (await taken.read({ kind: 'Pod', namespace, name })) as Pod | undefined;
}

async function isBinding(review: AdmissionRequest, taken: TakenObjects): Promise<boolean> {
  const pod = await readPod(review.name, review, taken);
  return pod !== undefined && (await isOfManager(pod, review.namespace!, taken));
}

/** A kubelet changes only the Pods of its node. */
function isOnNode(pod: Pod, { userInfo: { username = '' } = {} }: AdmissionRequest): boolean {
  return !username.startsWith(KUBELET) || username === `${KUBELET}${pod.spec?.nodeName}`;
}

async function isPodOnNode(review: AdmissionRequest, taken: TakenObjects): Promise<boolean> {
  return isOnNode((review.oldObject ?? {}) as Pod, review) && (await isPod(review, taken));
}

/** The kubelet gets a token before it starts a Pod. */
async function isToken(review: AdmissionRequest, taken: TakenObjects): Promise<boolean> {
  const { boundObjectRef: bound } = (review.object?.spec ?? {}) as {
    boundObjectRef?: Partial<OwnerReference>;
  };
  if (bound?.kind !== 'Pod') return false;
  const pod = await readPod(bound.name, review, taken);
  if (pod === undefined || pod.metadata.uid !== bound.uid || !isOnNode(pod, review)) return false;
  return (await isOfManager(pod, review.namespace!, taken)) || isOwnPod(pod, pod.metadata.name, taken);
}
