import { allDone, sleep } from '../../async.ts';
import { describe, type ObjectRef } from '../../cluster/api/kinds.ts';
import { METADATA_ONLY, watchObjects } from '../../cluster/api/watch.ts';
import type { Work } from '../../cluster/work.ts';
import { DevloopError } from '../../errors.ts';
import { DEPLOY_AGAIN } from './causes.ts';

/** Some managers delete their webhook configurations when they stop, and create them again when they start. */
const GRACE_MS = 15_000;

/**
 * Watches the webhook configurations and CRDs that call the Services. One that is deleted is reported. When all of them are gone
 * and none comes back, the operator is uninstalled. An account that is not allowed to watch them goes without.
 */
export async function watchCallers(
  { api, emit, signal }: Work,
  callers: ObjectRef[],
  end: (error: DevloopError) => void,
): Promise<void> {
  const missing = new Set<ObjectRef>();
  const areAllMissing = (): boolean => missing.size === callers.length;
  const onMissing = async (ref: ObjectRef): Promise<void> => {
    if (missing.has(ref)) return;
    missing.add(ref);
    const message = `${describe(ref)} was deleted, so kube-apiserver no longer calls the controller through it.`;
    emit({ type: 'warning', message });
    if (areAllMissing() && (await sleep(GRACE_MS, signal)) && areAllMissing()) end(uninstalled(callers));
  };
  await allDone(
    callers.map((ref) =>
      watchObjects(api, ref, {
        signal,
        accept: METADATA_ONLY,
        onObjects: ([object]) => void (object === undefined ? onMissing(ref) : missing.delete(ref)),
      }).catch(() => {}),
    ),
  );
}

function uninstalled(callers: ObjectRef[]): DevloopError {
  const message = `The operator is uninstalled: ${callers.map(describe).join(', ')} no longer exist.`;
  return new DevloopError('target.gone', message, { hint: DEPLOY_AGAIN });
}
