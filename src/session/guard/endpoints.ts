import { sleep } from '../../async.ts';
import { conflictIfGone } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject, Service } from '../../cluster/api/objects.ts';
import { same } from '../../cluster/marks/marks.ts';
import { observe, writerOf } from '../../cluster/marks/observe.ts';
import { OWN_MANAGER } from '../../cluster/marks/owners.ts';
import { valueAt } from '../../cluster/marks/paths.ts';
import type { Pointer } from '../../cluster/takeover/endpoints.ts';
import { isWithoutSelector } from '../../cluster/takeover/slices.ts';
import type { Work } from '../../cluster/work.ts';
import type { DevloopError } from '../../errors.ts';
import { deletedAgain, fought } from './causes.ts';
import type { GuardedScope } from './guard.ts';
import { lastOther, type OverwrittenField } from './judge.ts';
import { reportOverwritten } from './react.ts';
import { isFight, noRounds, type Rounds, wroteFirst } from './rounds.ts';

/**
 * The wait before a reaction: when a Service gets a selector, Kubernetes' controllers write its endpoints until the Service's own guard has
 * removed the selector.
 */
export const SETTLE_MS = 250;

export interface GuardedPointer extends Pointer {
  service: ObjectRef;
}

/**
 * An object that points a Service to this machine, for the guard to watch. Its contents are devloop's own, so there is no undo to keep, and
 * it is created again if somebody deletes it.
 */
export function watchedPointer(pointer: GuardedPointer): GuardedScope {
  const rounds = noRounds();
  return {
    ref: pointer.ref,
    rounds,
    react: (work, [object]) => reactToPointer(work, pointer, rounds, object),
  };
}

/** Deals with one version of the object. If the session has to end, returns the reason. */
export async function reactToPointer(
  work: Work,
  pointer: GuardedPointer,
  rounds: Rounds,
  seen: KubeObject | undefined,
): Promise<DevloopError | undefined> {
  const { api, emit, signal } = work;
  const { ref, wanted } = pointer;
  if (isIntact(pointer, seen) || !(await sleep(SETTLE_MS, signal))) return undefined;
  const [service, now] = await Promise.all([api.get<Service>(pointer.service), api.get<KubeObject>(ref)]);
  // If the Service has a selector, its own guard acts first, and writes the endpoints again.
  if (!isWithoutSelector(service, work) || isIntact(pointer, now)) return undefined;
  const fields = now === undefined ? [] : overwritten(pointer, now);
  if (isFight(rounds)) return now === undefined ? deletedAgain(ref) : await fought(api, ref, now, fields[0]!);
  const next = wanted(now);
  const write = () =>
    now === undefined ? api.create(ref, next) : api.replace(ref, next).catch(conflictIfGone);
  if (!(await wroteFirst(rounds, write))) return undefined;
  if (now === undefined) emit({ type: 'guard.deleted', object: ref });
  reportOverwritten(work, ref, fields);
  const action = now === undefined ? 'create' : 'update';
  emit({ type: 'change', action, object: ref, detail: 'as devloop had left it' });
  return undefined;
}

function isIntact(pointer: Pointer, now: KubeObject | undefined): boolean {
  return now !== undefined && overwritten(pointer, now).length === 0;
}

/** The contents of Endpoints, and of an EndpointSlice. */
const CONTENTS = [['subsets'], ['endpoints'], ['ports']];

/** What others wrote. A difference that devloop wrote is no problem: an SSH route that has reconnected is just getting its new ports. */
function overwritten({ wanted }: Pointer, object: KubeObject): OverwrittenField[] {
  const next = wanted(object);
  const last = lastOther(observe(object, []));
  const labels = Object.keys(next.metadata.labels ?? {}).map((label) => ['metadata', 'labels', label]);
  return [...CONTENTS, ...labels].flatMap((path) => {
    const [ours, now] = [valueAt(next, path), valueAt(object, path)];
    const by = writerOf(object, path);
    if (same(ours, now) || by?.manager === OWN_MANAGER) return [];
    return [{ path, ours, now, by: by ?? last }];
  });
}
