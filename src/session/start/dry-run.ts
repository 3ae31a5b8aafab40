import { missing } from '../../cluster/api/permissions.ts';
import type { PlannedChange } from '../../cluster/step.ts';
import { leasePermissions } from '../../cluster/takeover/lease.ts';
import { readKeyPairs } from '../../local/key-pairs.ts';
import { planController } from '../../local/plan.ts';
import { markedSessions, namespacesOf } from '../context/holders.ts';
import { controllerInputs, keyPairSearch } from './local-inputs.ts';
import { plannedLeases, plannedPause, plannedProbes, plannedWay } from './plan.ts';
import type { Session } from './session.ts';

/**
 * What `up` would do, in its order, out of all that it finds out before its first write. Writes nothing, on this machine neither,
 * and fails where `up` would.
 */
export async function tellPlan(session: Session): Promise<void> {
  const { opened, target, ways, options, io } = session;
  const pairs = await readKeyPairs(keyPairSearch(session), io.emit);
  const planned = options.controller ? await planController(controllerInputs(session, pairs), io) : undefined;
  const mayHold = (await missing(opened.api, namespacesOf(target).flatMap(leasePermissions))).length === 0;
  for (const dead of markedSessions(target)) io.emit({ type: 'note', message: putBackFirst(dead) });
  if (!mayHold) io.emit({ type: 'warning', message: NO_LEASES });
  tellChanges(mayHold ? plannedLeases(target) : []);
  tellChanges(plannedProbes(target));
  for (const [index, way] of ways.entries()) {
    const { route, detail, changes } = plannedWay(target, way);
    io.emit({ type: 'route.planned', route, position: index + 1, detail });
    tellChanges(changes, { route });
  }
  tellChanges(plannedPause(target));
  if (planned) {
    const { build, run, cwd } = planned.plan;
    io.emit({ type: 'controller.planned', ...(build === undefined ? {} : { build }), command: run, cwd });
  }

  function tellChanges(changes: PlannedChange[], of: { route?: string } = {}): void {
    for (const change of changes) io.emit({ type: 'change', dryRun: true, ...change, ...of });
  }
}

const NO_LEASES =
  'Your account may not write Leases, so nothing warns a second person who takes over the same operator.';

function putBackFirst(session: string): string {
  return `What session ${session} left is put back first: devloop down --dry-run shows it.`;
}
