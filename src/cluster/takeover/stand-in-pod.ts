/** What the stand-in Pod looks like: like the manager's Pods for a program that reads it, and like nobody's for everything else. */
import { type Labels, selects } from '../api/labels.ts';
import type { LabelSelector, OwnerReference } from '../api/objects.ts';
import type { Container, Pod, Resources } from '../api/workloads.ts';
import { NO_SIDECAR, SESSION_LABEL, STAND_IN } from '../names.ts';
import type { Manager } from './pause/pause.ts';

/** What is not known from the manager's workload alone. */
export interface Surroundings {
  name: string;
  sessionId: string;
  /** Owners of one of the manager's own Pods, if there is one. */
  owners: OwnerReference[];
  /** What selects Pods in the namespace. */
  selectors: LabelSelector[];
  /** For its container. */
  resources: Resources;
}

/** A quota can require any of these. */
const LEAST = { cpu: '1m', memory: '1Mi', 'ephemeral-storage': '1Mi' };
export const LEAST_RESOURCES: Resources = { requests: LEAST, limits: LEAST };

/**
 * Never runs, and passes Pod Security `restricted` whatever the manager's own Pods do. It keeps what programs read of their Pod: labels,
 * owners, the names of the image, its pull secrets and the ServiceAccount, whose token it does not mount. On Kubernetes before 1.27, which
 * ignores the scheduling gate, only the node selector holds it.
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

/** Even if somebody removed the gate, it would not start a second manager. */
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
 * The Deployment itself is the Pod's controller, because a ReplicaSet releases, or deletes, a Pod that it controls, and no controller
 * adopts a Pod that has one. The other owners are those of the real Pods, but none of them is the controller.
 */
function ownersFor({ ref, object }: Manager, real: OwnerReference[]): OwnerReference[] {
  const { uid = '' } = object.metadata;
  const itself = { apiVersion: 'apps/v1', kind: ref.kind, name: ref.name, uid };
  const owners = real.map(({ apiVersion = '', kind, name, uid }) => ({ apiVersion, kind, name, uid }));
  if (ref.kind === 'Deployment') return [...owners, { ...itself, controller: true }];
  return owners.length > 0 ? owners : [itself];
}

/** Labels that many operators read: they are dropped last. */
const RECOMMENDED = 'app.kubernetes.io/';

/**
 * Keeps as many labels as possible without any selector selecting the Pod: a Service would count it as not ready, a disruption budget as
 * one of its own, and a controller would adopt or delete it. The label that most selectors need is dropped first.
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

/** Without one of these labels, the selector does not select the Pod. An empty selector needs none. */
function neededKeys({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): string[] {
  const positive = matchExpressions.filter(({ operator }) => ['In', 'Exists'].includes(operator));
  const keys = [...Object.keys(matchLabels), ...positive.map(({ key }) => key)];
  return [...new Set(keys)].filter((key) => Object.hasOwn(labels, key));
}
