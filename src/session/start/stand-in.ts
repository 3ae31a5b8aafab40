import type { ClusterApi } from '../../cluster/api/client.ts';
import { missing, resourceOf } from '../../cluster/api/permissions.ts';
import {
  createStandIn,
  type StandIn,
  type StandInStep,
  standInRef,
} from '../../cluster/takeover/stand-in.ts';
import type { Late } from '../../controller/runner.ts';
import { readsOwnPod } from '../../operator/downward.ts';
import type { Target } from '../../operator/target.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';

/** Stands for the uid of the stand-in Pod, which the API server chooses. */
const UID_OF_STAND_IN = '<uid of the stand-in Pod>';

/**
 * The name that the controller gets for its Pod. If the manager's workload is a bare Pod, that Pod keeps running, so the controller gets
 * its name.
 */
export function podNameFor({ manager }: Pick<Target, 'manager'>, sessionId: string): string {
  if (manager === undefined) return '';
  return manager.ref.kind === 'Pod' ? manager.ref.name : standInRef(manager, sessionId).name;
}

/** `standIn`: absent until it exists. */
export function lateUid(session: { standIn?: StandIn }): Late {
  return { standsFor: UID_OF_STAND_IN, value: () => session.standIn?.uid() };
}

/** The uid that the controller gets for its Pod; absent if there is no such Pod. */
export function podUidFor({ manager }: Pick<Target, 'manager'>, standIn: StandInStep[]): string | undefined {
  if (manager?.ref.kind === 'Pod') return manager.object.metadata.uid;
  return standIn.length > 0 ? UID_OF_STAND_IN : undefined;
}

export function planStandIn({ manager }: Pick<Target, 'manager'>): StandInStep[] {
  return manager !== undefined && manager.ref.kind !== 'Pod' && readsOwnPod(manager)
    ? [createStandIn(manager)]
    : [];
}

/** The steps. If the account is not allowed to take them, warns and returns none: a Pod that the account could not delete must not be created. */
export async function permittedStandIn(
  api: ClusterApi,
  steps: StandInStep[],
  emit: Emit,
): Promise<StandInStep[]> {
  const needed = steps
    .flatMap(({ permissions }) => permissions)
    .filter(({ kind, verb }) => kind === 'Pod' && verb !== 'watch');
  const lacking = await missing(api, needed);
  if (lacking.length === 0) return steps;
  const refused = { verbs: lacking.map(({ verb }) => verb), resource: resourceOf(lacking[0]!) };
  for (const { changes } of steps)
    for (const { object } of changes) emit(notice('stand-in.missing', { pod: object, lacking: refused }));
  return [];
}
