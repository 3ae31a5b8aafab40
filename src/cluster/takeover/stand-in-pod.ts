/**
 * The manifest of the stand-in Pod: a program that reads it finds a Pod of the manager, but nothing else in the cluster counts it as one.
 */
import { isWorkload, kindInfo, relationsOf } from '../api/kinds.ts';
import { type Labels, selects } from '../api/labels.ts';
import type { LabelSelector, OwnerReference } from '../api/objects.ts';
import type { Container, Pod, Resources } from '../api/workloads.ts';
import { NO_SIDECAR, SESSION_LABEL, STAND_IN } from '../names.ts';
import type { Manager } from './pause/pause.ts';

/** What the manifest needs besides the manager's workload. */
export interface Surroundings {
  name: string;
  sessionId: string;
  /** Owners of one of the manager's own Pods, if there is one. */
  owners: OwnerReference[];
  /** The selectors of objects that select Pods in the namespace. */
  selectors: LabelSelector[];
  /** The resources of the stand-in's container. */
  resources: Resources;
}

/** A quota can require any of these. */
const LEAST = { cpu: '1m', memory: '1Mi', 'ephemeral-storage': '1Mi' };
export const LEAST_RESOURCES: Resources = { requests: LEAST, limits: LEAST };

/**
 * A Pod that never runs, and that passes Pod Security `restricted` even if the manager's own Pods do not. It keeps what programs read of
 * their Pod: labels, owners, and the names of the image, the pull secrets and the ServiceAccount, whose token it does not mount. Kubernetes
 * before 1.27 ignores the scheduling gate; there, only the node selector keeps the Pod from running.
 */
export function standInPod(manager: Manager, container: Container, around: Surroundings): Pod & object {
  const { name, sessionId, selectors, resources } = around;
  const { metadata, spec } = manager.object.spec.template;
  const { serviceAccountName, imagePullSecrets } = spec;
  const labels = unselectedLabels(metadata?.labels ?? {}, selectors);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: manager.ref.namespace!,
      labels: { ...labels, ...NO_SIDECAR.labels, [SESSION_LABEL]: sessionId },
      annotations: NO_SIDECAR.annotations,
      ownerReferences: ownersFor(manager, around.owners),
    },
    spec: {
      schedulingGates: [{ name: STAND_IN }],
      nodeSelector: { [STAND_IN]: 'never' },
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
      ...(imagePullSecrets === undefined ? {} : { imagePullSecrets }),
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [containerOf(container, resources)],
    } as Pod['spec'] & object,
  };
}

/** The command does not exist, so even if somebody removed the gate, the Pod would not start a second manager. */
function containerOf({ name, image }: Container, resources: Resources): Container & object {
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  const command = ['/devloop-stand-in'];
  return { name, ...(image ? { image } : {}), command, resources, ...{ securityContext } };
}

/**
 * The Deployment itself is the Pod's controller, because a ReplicaSet releases or deletes a Pod that it controls, and no controller adopts
 * a Pod that already has a controller. The other owners are those of the real Pods, but none of them is the controller.
 */
function ownersFor({ ref, object }: Manager, real: OwnerReference[]): OwnerReference[] {
  const { uid = '' } = object.metadata;
  const itself = { apiVersion: kindInfo(ref.kind).apiVersion, kind: ref.kind, name: ref.name, uid };
  const owners = real.map(({ apiVersion = '', kind, name, uid }) => ({ apiVersion, kind, name, uid }));
  if (isWorkload(ref.kind) && relationsOf(ref.kind).between)
    return [...owners, { ...itself, controller: true }];
  return owners.length > 0 ? owners : [itself];
}

/** Labels that many operators read: they are dropped last. */
const RECOMMENDED = 'app.kubernetes.io/';

/**
 * Keeps as many labels as possible without any selector selecting the Pod. If one did, a Service would count the Pod as not ready, a
 * disruption budget would count it as well, and a controller would adopt or delete it. The label that most selectors need is dropped first.
 */
export function unselectedLabels(labels: Labels, selectors: LabelSelector[]): Labels {
  const left = { ...labels };
  for (;;) {
    const needed = selectors.filter((one) => selects(one, left)).flatMap((one) => neededKeys(one, left));
    const [key] = [...Map.groupBy(needed, (one) => one)]
      .toSorted(([a, { length: m }], [b, { length: n }]) => n - m || rank(a) - rank(b))
      .map(([one]) => one);
    if (key === undefined) return left;
    delete left[key];
  }
}

function rank(key: string): number {
  return key.startsWith(RECOMMENDED) ? 1 : 0;
}

/** The labels that the selector needs: if one of them is missing, it does not select the Pod. An empty selector needs none. */
function neededKeys({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): string[] {
  const positive = matchExpressions.filter(({ operator }) => ['In', 'Exists'].includes(operator));
  const keys = [...Object.keys(matchLabels), ...positive.map(({ key }) => key)];
  return [...new Set(keys)].filter((key) => Object.hasOwn(labels, key));
}
