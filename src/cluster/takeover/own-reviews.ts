import { describe, isWorkload, kindInfo, type ObjectRef, WORKLOAD_KINDS } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import type { ControllerRevision } from '../api/workloads.ts';
import { isOwnService, leaseRef, probeObjectName, SESSION_LABEL } from '../names.ts';
import { SERVICE_NAME } from './endpoints.ts';
import { isPausedRevision } from './pause/daemon-set.ts';

/** The objects that a session took over. It changes them to pause the manager and to restore everything. */
export interface Taken {
  sessionId: string;
  /** The Services and the manager's workload. */
  objects: ObjectRef[];
}

/** The parts of an AdmissionReview's `request` that decide whether devloop answers it. */
export interface Review {
  operation?: string;
  resource?: { group?: string; resource?: string };
  subResource?: string;
  namespace?: string;
  name?: string;
  userInfo?: { username?: string; groups?: string[] };
  object?: (Partial<KubeObject> & { spec?: unknown }) | null;
  oldObject?: Partial<KubeObject> | null;
}

/** The accounts that create and start Pods for a workload. In some clusters, the controllers have the rights of administrators instead. */
const CONTROL_PLANE = /^system:(kube-controller-manager|kube-scheduler|serviceaccount:kube-system:|node:)/;
const ADMINISTRATORS = 'system:masters';

/**
 * Whether a review is about a change that is part of pausing or restoring a manager: a change to the taken objects or to what Kubernetes
 * derives from them, or the removal of what devloop created. The deletion of a taken object never counts.
 */
export function isOwnReview(review: Review, taken: Taken): boolean {
  const { resource = {}, operation, namespace = '', name = '', object, oldObject } = review;
  const isTaken = (kind: ObjectRef['kind'], taking: string): boolean =>
    taken.objects.some((one) => describe(one) === describe({ kind, namespace, name: taking }));
  const labels = (object ?? oldObject)?.metadata?.labels ?? {};
  const isRemoval = operation === 'DELETE' && labels[SESSION_LABEL] === taken.sessionId;
  const reviewed = `${resource.group ?? ''}/${resource.resource}`;
  const workload = WORKLOAD_KINDS.find((kind) => reviewed === `apps/${kindInfo(kind).plural}`);
  if (workload !== undefined) return operation !== 'DELETE' && isTaken(workload, name);
  switch (reviewed) {
    case '/services':
      return operation === 'DELETE'
        ? isOwnService({ kind: 'Service', namespace, name }, taken.sessionId)
        : isTaken('Service', name);
    case '/endpoints':
      return isRemoval || isTaken('Service', name);
    case 'discovery.k8s.io/endpointslices':
      return isTaken('Service', labels[SERVICE_NAME] ?? '');
    case 'apps/controllerrevisions':
      return isRemovalOfPause(review, taken) || isOfManager(review, taken);
    case 'apps/replicasets':
    case '/pods':
      return isRemoval || isOfManager(review, taken);
    case '/serviceaccounts':
      return isTokenOfManager(review, taken);
    case '/configmaps':
      return name.startsWith(probeObjectName(''));
    case 'coordination.k8s.io/leases':
      return taken.objects.some(
        (one) => describe(leaseRef(one)) === describe({ kind: 'Lease', namespace, name }),
      );
    case '/secrets':
      return isRemoval;
    default:
      return false;
  }
}

/** Whether a review is about the revision that a paused DaemonSet leaves in its history, and that devloop deletes. */
function isRemovalOfPause({ operation, namespace, oldObject }: Review, { objects }: Taken): boolean {
  const revision = oldObject as ControllerRevision | null | undefined;
  if (operation !== 'DELETE' || !revision?.metadata) return false;
  const managers = objects.filter((one) => isWorkload(one.kind) && one.namespace === namespace);
  return managers.some((manager) => isPausedRevision(revision, manager));
}

/** Whether a review is about a token for a Pod of the manager. The Pod does not start before the kubelet has that token. */
function isTokenOfManager(review: Review, taken: Taken): boolean {
  const { boundObjectRef } = (review.object?.spec ?? {}) as {
    boundObjectRef?: { kind?: string; name?: string };
  };
  if (review.subResource !== 'token' || boundObjectRef?.kind !== 'Pod') return false;
  return isOfManager({ ...review, name: boundObjectRef.name ?? '', object: null, oldObject: null }, taken);
}

/**
 * Whether a review is about an object that the manager owns: a ReplicaSet, a Pod (directly or through a ReplicaSet), or the binding of a
 * Pod, which has no owner.
 */
function isOfManager(
  { userInfo, namespace, name = '', object, oldObject }: Review,
  { objects }: Taken,
): boolean {
  const { username = '', groups = [] } = userInfo ?? {};
  if (!CONTROL_PLANE.test(username) && !groups.includes(ADMINISTRATORS)) return false;
  const managers = objects.filter((one) => isWorkload(one.kind) && one.namespace === namespace);
  const owners = (object ?? oldObject)?.metadata?.ownerReferences?.map((one) => one.name) ?? [name];
  return managers.some((manager) =>
    owners.some((owner) => owner === manager.name || isReplicaSetOf(owner, manager.name)),
  );
}

/** Matches `<Deployment>-<hash>`, and the name of a Pod, which has one more part. */
function isReplicaSetOf(owner: string, manager: string): boolean {
  return (
    owner.startsWith(`${manager}-`) && /^[a-z0-9]+(?:-[a-z0-9]{5})?$/.test(owner.slice(manager.length + 1))
  );
}
