import { notice, type Told } from '../../../report/notices/catalogue.ts';
import { describe, type ObjectName } from '../../../report/object-name.ts';
import type { ClusterApi } from '../../api/client.ts';
import { noneIfRefused } from '../../api/errors.ts';
import { type Kind, refOf } from '../../api/kinds.ts';
import { hasLabels } from '../../api/labels.ts';
import type { Autoscaler, DisruptionBudget, KubeObject } from '../../api/objects.ts';
import { type Permission, permissionsOn } from '../../api/permissions.ts';
import type { Manager } from './pause.ts';

/** A notice about another object that affects the number of the manager's Pods. */
export type Notice =
  /** That object may bring the manager's Pods back while the controller runs here. */
  { mayResume: true; note: Told<'note'> } | { mayResume: false; text: string };

/** A kind of object that affects the number of the manager's Pods: the list of them is read, and those that concern the manager are told. */
interface Influence {
  kind: Kind;
  /** What devloop does not mention without the permission to list these objects. */
  mentions: Pick<Permission, 'why' | 'without'>;
  /** The notice about one of them; undefined if it does not concern the manager. */
  notice(object: KubeObject, manager: Manager): Notice | undefined;
}

function influence<T extends KubeObject>(
  kind: Kind,
  [what, all]: [string, string],
  notice: (object: T, manager: Manager) => Notice | undefined,
): Influence {
  const mentions = { why: `mention ${what}`, without: `devloop does not mention ${all}` };
  return { kind, mentions, notice: notice as Influence['notice'] };
}

const INFLUENCES: Influence[] = [
  influence(
    'HorizontalPodAutoscaler',
    ['what else scales the manager', 'autoscalers of the manager'],
    ({ metadata, spec: { scaleTargetRef: target, minReplicas } }: Autoscaler, { ref }) => {
      if (target.kind !== ref.kind || target.name !== ref.name) return undefined;
      const autoscaler = refOf('HorizontalPodAutoscaler', metadata);
      // At 0 replicas the autoscaler is off (ScalingDisabled), unless its own minimum is 0.
      if (minReplicas === 0) return mayBeUndone(ref, autoscaler);
      const text = `${describe(autoscaler)} does nothing while ${describe(ref)} has 0 replicas.`;
      return { text, mayResume: false };
    },
  ),
  influence(
    'PodDisruptionBudget',
    ['the PodDisruptionBudgets of the manager', 'PodDisruptionBudgets of the manager'],
    ({ metadata, spec }: DisruptionBudget, { object }) => {
      const labels = object.spec.template.metadata?.labels ?? {};
      if (!hasLabels(labels, spec.selector?.matchLabels ?? {})) return undefined;
      const text = `${describe(refOf('PodDisruptionBudget', metadata))} limits evictions only, so it does not prevent the pause.`;
      return { text, mayResume: false };
    },
  ),
];

/** What `pauseNotices` reads. */
export function noticePermissions(namespace: string): Permission[] {
  return INFLUENCES.flatMap(({ kind, mentions }) => permissionsOn(kind, 'list', { namespace, ...mentions }));
}

/** The notices about objects that the account is allowed to list. `isOwnerPaused`: what controls the manager is paused, too. */
export async function pauseNotices(
  api: ClusterApi,
  manager: Manager,
  isOwnerPaused = false,
): Promise<Notice[]> {
  const { namespace } = manager.ref;
  const told = await Promise.all(
    INFLUENCES.map(async ({ kind, notice }) => {
      const all = await api.list<KubeObject>(kind, namespace).catch(noneIfRefused);
      return all.flatMap((one) => notice(one, manager) ?? []);
    }),
  );
  return [...ownerNotices(manager, isOwnerPaused), ...told.flat()];
}

/**
 * OLM compares a hash that it wrote itself, so it does not notice a changed number of replicas. It sets the number only when it installs
 * the operator again, for an upgrade or a new certificate (docs/adr/0013).
 */
function ownerNotices({ ref, object }: Manager, isOwnerPaused: boolean): Notice[] {
  const owners = object.metadata.ownerReferences ?? [];
  return owners.flatMap(({ kind, name, controller }): Notice[] => {
    if (kind !== 'ClusterServiceVersion' && (controller !== true || isOwnerPaused)) return [];
    return [mayBeUndone(ref, { kind, name })];
  });
}

function mayBeUndone(manager: ObjectName, by: ObjectName): Notice {
  return { note: notice('pause.may-be-undone', { manager, by }), mayResume: true };
}
