/** Whether what Kubernetes creates for a manager comes from the template that a session took over. */
import { relationsOf, WORKLOAD_KINDS } from '../api/kinds.ts';
import type { Json, KubeObject } from '../api/objects.ts';
import type { Pod, PodTemplate, Workload } from '../api/workloads.ts';
import { same } from '../marks/marks.ts';
import { valueAt } from '../marks/paths.ts';
import { PAUSED } from '../names.ts';
import type { AdmissionRequest } from './reviewed.ts';
import type { TakenObject } from './taken.ts';

const HASHES = WORKLOAD_KINDS.flatMap((kind) => relationsOf(kind).between?.hash ?? []);
const REVISION = 'controller-revision-hash';
const GENERATION = 'pod-template-generation';
const GENERATION_OF_DAEMON_SET = 'deprecated.daemonset.template.generation';
/** In a ControllerRevision, which is a patch. */
const PATCH = '$patch';

export function hasTakenTemplate(holder: Workload, manager: TakenObject): boolean {
  return isTakenTemplate(valueAt(holder, ['spec', 'template']), manager);
}

/** Compares as the Deployment's controller does when it looks for the ReplicaSet of a template. */
export function isTakenTemplate(template: unknown, manager: TakenObject): boolean {
  if (valueAt(template, ['spec']) === undefined) return false;
  const wanted = plain(template as PodTemplate);
  return versionsOf(manager).some(({ spec }) => same(wanted, plain(spec.template)));
}

function versionsOf({ object, now = object }: TakenObject): Workload[] {
  return [object, now] as Workload[];
}

/** The template without what the Deployment's controller, the history and devloop's pause of a DaemonSet add to it. */
function plain({ metadata, spec, ...more }: PodTemplate): Json {
  const template = {
    ...more,
    metadata: { ...metadata, labels: without(metadata?.labels, ...HASHES) },
    spec: { ...spec, nodeSelector: without(spec.nodeSelector, PAUSED) },
    [PATCH]: undefined,
  };
  // Earlier versions of Kubernetes write `creationTimestamp: null`, and revisions keep it.
  return JSON.parse(JSON.stringify(template), (_, value) => value ?? undefined);
}

function without(map: Record<string, string> = {}, ...keys: string[]): Record<string, string> | undefined {
  const rest = Object.entries(map).filter(([key]) => !keys.includes(key));
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/**
 * Whether a new Pod of a StatefulSet or DaemonSet is of the template that was taken over. Its controller creates it from what it has read a
 * moment ago, so the owner that is read now proves nothing by itself: somebody may have changed the template and changed it back. A label
 * that the controller writes shows the version that it used.
 */
export function isOfOwner(pod: Pod, manager: TakenObject, owner: KubeObject | undefined): boolean {
  if (owner === undefined || owner.metadata.uid !== manager.object.metadata.uid) return false;
  if (!hasTakenTemplate(owner as Workload, manager)) return false;
  const { labels = {} } = pod.metadata;
  if (manager.ref.kind === 'StatefulSet') return isOfRevision(labels[REVISION], manager);
  // The API server counts the changes of the template, and lets nobody set the count.
  const generation = owner.metadata.annotations?.[GENERATION_OF_DAEMON_SET];
  return manager.ref.kind === 'DaemonSet' && generation !== undefined && labels[GENERATION] === generation;
}

/** A Pod of a rollout that a partition stops is of the earlier revision. */
function isOfRevision(revision: string | undefined, manager: TakenObject): boolean {
  const known = versionsOf(manager).flatMap(({ status }) => [
    status?.currentRevision,
    status?.updateRevision,
  ]);
  return revision !== undefined && known.includes(revision);
}

/** Whether an update leaves what runs in Pods as it is: none of these controllers changes that in a Pod or a ReplicaSet that exists. */
export function keepsWhatRuns({ operation, object, oldObject }: AdmissionRequest): boolean {
  const [before, after] = [oldObject, object].map((one) => {
    return valueAt(one, ['spec', 'template']) ?? valueAt(one, ['spec']);
  });
  return operation !== 'UPDATE' || same(before, after);
}
