import { describe } from '../../../report/object-name.ts';
import type { ClusterApi } from '../../api/client.ts';
import { noneIfRefused } from '../../api/errors.ts';
import { refOf } from '../../api/kinds.ts';
import { hasLabels } from '../../api/labels.ts';
import type { Autoscaler, DisruptionBudget } from '../../api/objects.ts';
import type { Manager } from './pause.ts';

/** A notice about another object that affects the number of the manager's Pods. */
export interface Notice {
  text: string;
  /** Whether that object may bring the manager's Pods back while the controller runs here. */
  mayResume: boolean;
}

/** The notices about objects that the account is allowed to list. `isOwnerPaused`: what controls the manager is paused, too. */
export async function pauseNotices(
  api: ClusterApi,
  manager: Manager,
  isOwnerPaused = false,
): Promise<Notice[]> {
  const { namespace } = manager.ref;
  const [autoscalers, budgets] = await Promise.all([
    api.list<Autoscaler>('HorizontalPodAutoscaler', namespace).catch(noneIfRefused),
    api.list<DisruptionBudget>('PodDisruptionBudget', namespace).catch(noneIfRefused),
  ]);
  return noticesOf(manager, autoscalers, budgets, isOwnerPaused);
}

export function noticesOf(
  manager: Manager,
  autoscalers: Autoscaler[],
  budgets: DisruptionBudget[],
  isOwnerPaused = false,
): Notice[] {
  const { ref, object } = manager;
  const labels = object.spec.template.metadata?.labels ?? {};
  const selects = ({ spec }: DisruptionBudget): boolean =>
    hasLabels(labels, spec.selector?.matchLabels ?? {});
  const scales = ({ spec }: Autoscaler): boolean =>
    spec.scaleTargetRef.kind === ref.kind && spec.scaleTargetRef.name === ref.name;
  return [
    ...ownerNotices(manager, isOwnerPaused),
    ...autoscalers.filter(scales).map((one) => autoscalerNotice(one, manager)),
    ...budgets.filter(selects).map(({ metadata }) => ({
      text: `${describe(refOf('PodDisruptionBudget', metadata))} limits evictions only, so it does not prevent the pause.`,
      mayResume: false,
    })),
  ];
}

/** This applies only to a manager that elects a leader, which many webhook servers do not. */
const OR_LEASE = ', or, if the manager elects a leader, hold its Lease: `devloop up --pause lease`';

/**
 * OLM compares a hash that it wrote itself, so it does not notice a changed number of replicas. It sets the number only when it installs
 * the operator again, for an upgrade or a new certificate (docs/adr/0013).
 */
function ownerNotices({ ref, object }: Manager, isOwnerPaused: boolean): Notice[] {
  const owners = object.metadata.ownerReferences ?? [];
  return owners.flatMap(({ kind, name, controller }): Notice[] => {
    if (kind === 'ClusterServiceVersion')
      return [
        {
          text: `${describe(ref)} is installed by OLM (ClusterServiceVersion ${name}). It stays paused until OLM installs it again, for example for an upgrade.`,
          mayResume: true,
        },
      ];
    if (controller !== true || isOwnerPaused) return [];
    const text = `${kind} ${name} controls ${describe(ref)} and may resume it. If it does, pause the operator of ${kind} ${name}${OR_LEASE}`;
    return [{ text, mayResume: true }];
  });
}

/** At 0 replicas the autoscaler is off (ScalingDisabled), unless its own minimum is 0. */
function autoscalerNotice({ metadata, spec }: Autoscaler, { ref }: Manager): Notice {
  const name = describe(refOf('HorizontalPodAutoscaler', metadata));
  return spec.minReplicas === 0
    ? {
        text: `${name} can scale ${describe(ref)} from 0. If it does, set its minReplicas to 1${OR_LEASE}`,
        mayResume: true,
      }
    : { text: `${name} does nothing while ${describe(ref)} has 0 replicas.`, mayResume: false };
}
