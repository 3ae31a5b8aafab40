import { sessionOf } from '../../cluster/marks/marks.ts';
import { planUndo } from '../../cluster/marks/undo.ts';
import { ownChangeOf } from '../../cluster/takeover/restore.ts';
import { DevloopError } from '../../errors.ts';
import type { Target } from '../../operator/target.ts';
import { takenObjects } from '../context/holders.ts';
import { faultText } from '../end/unfinished.ts';

/**
 * What a dead session has left is restored before anything else. Where an undo cannot be carried out, nothing is begun: the mark stays, so
 * nobody could take the object over.
 */
export function assertRestorable(context: string, target: Target): void {
  for (const { ref, object } of takenObjects(target)) {
    const own = ownChangeOf(ref.kind);
    if (own === undefined || object === undefined || sessionOf(object) === undefined) continue;
    const plan = planUndo(object, own);
    if (!('fault' in plan)) continue;
    const { message, hint } = faultText(context, ref, plan);
    throw new DevloopError('undo.incomplete', message, { hint });
  }
}
