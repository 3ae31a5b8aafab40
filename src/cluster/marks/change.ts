import { setTimeout as pause } from 'node:timers/promises';
import { DevloopError } from '../../errors.ts';
import { ApiError, rejected } from '../api/errors.ts';
import { describe, type ObjectRef } from '../api/kinds.ts';
import type { Json, KubeObject } from '../api/objects.ts';
import { SESSION_LABEL, UNDO_ANNOTATION } from '../names.ts';
import type { Work } from '../work.ts';
import {
  changePatch,
  type Kept,
  type PatchOperation,
  sessionOf,
  undoOf,
  undoPatch,
  valueAt,
} from './marks.ts';

const ATTEMPTS = 12;
const INVALID = 422;

export interface WantedChange {
  ref: ObjectRef;
  fields: { path: string[]; value?: Json }[];
  /** For people: `selector removed`. */
  detail: string;
  /** Looks at the object once more before each try; throws when the change must not be made any more. */
  check?: (object: KubeObject) => void;
}

/** Makes a marked change in one guarded patch; looks again and tries anew when somebody wrote in between. */
export async function applyChange({ api, sessionId, emit }: Work, wanted: WantedChange): Promise<void> {
  await retryOnConflict(wanted.ref, async () => {
    const object = await api.get<KubeObject>(wanted.ref);
    if (object === undefined) throw gone(wanted.ref);
    const holder = sessionOf(object);
    if (holder === sessionId) return;
    if (holder !== undefined) {
      throw new DevloopError(
        'session.held',
        `${describe(wanted.ref)} already carries the mark of session ${holder}.`,
        {
          hint: 'devloop status shows who that is; devloop down puts it back',
        },
      );
    }
    wanted.check?.(object);
    await patchSeen(api, wanted.ref, object, changePatch(object, sessionId, wanted.fields));
    emit({ type: 'change', action: 'update', object: wanted.ref, detail: wanted.detail });
  });
}

/**
 * Puts an object back that carries the mark of this session. Idempotent; what somebody else changed since is kept and returned.
 * Another session's mark is left alone: it may have come between the look that found ours and now.
 */
export async function restoreChange({ api, sessionId, emit }: Work, ref: ObjectRef): Promise<Kept[]> {
  // Remembered over the tries: where the answer of a patch was lost, the next look finds nothing left to tell.
  let kept: Kept[] = [];
  await retryOnConflict(ref, async () => {
    const object = await api.get<KubeObject>(ref);
    if (object === undefined || sessionOf(object) !== sessionId) return;
    if (undoOf(object) === undefined) {
      kept = [unreadable(ref, object, emit)];
      return;
    }
    const undo = undoPatch(object);
    kept = undo.kept;
    await patchSeen(api, ref, object, undo.patch);
    const detail = kept.length === 0 ? 'as it was' : 'all but what others changed';
    emit({ type: 'change', action: 'restore', object: ref, detail });
  });
  return kept;
}

/** A patch that removes what somebody else has just removed is refused as invalid, before its version is compared: a conflict too. */
async function patchSeen(
  api: Work['api'],
  ref: ObjectRef,
  seen: KubeObject,
  patch: PatchOperation[],
): Promise<void> {
  try {
    await api.patch(ref, 'json', patch);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== INVALID) throw error;
    const now = await api.get<KubeObject>(ref);
    if (now?.metadata.resourceVersion === seen.metadata.resourceVersion) throw error;
    throw new ApiError(error.message, 409, 'Conflict');
  }
}

/** Without the undo nobody knows how the object was. The mark stays, so that the next look still finds it. */
function unreadable(ref: ObjectRef, object: KubeObject, emit: Work['emit']): Kept {
  const where = `${ref.kind.toLowerCase()} ${ref.name}${ref.namespace ? ` -n ${ref.namespace}` : ''}`;
  emit({
    type: 'warning',
    message: `${describe(ref)} was changed by devloop, but its mark, which says how it was (${UNDO_ANNOTATION}), is gone or broken. It is left as it is.`,
    hint: `Put it back by hand (deploy the operator again), then: kubectl label ${where} ${SESSION_LABEL}-`,
  });
  const path = ['metadata', 'annotations', UNDO_ANNOTATION];
  return { path, now: valueAt(object, path), before: undefined };
}

/** Creates an object that carries its mark from birth. One that this session left there in an earlier try is taken as it is. */
export async function createMarked<T extends KubeObject>(
  { api, sessionId, emit }: Work,
  ref: ObjectRef,
  object: T,
): Promise<T> {
  return await retryOnConflict(ref, async () => {
    try {
      const created = await api.create<T>(ref, object);
      emit({ type: 'change', action: 'create', object: ref, detail: '' });
      return created;
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'AlreadyExists') throw error;
      const existing = await api.get<T>(ref);
      if (existing === undefined) throw error;
      if (sessionOf(existing) !== sessionId) throw foreign(ref);
      return existing;
    }
  });
}

function foreign(ref: ObjectRef): DevloopError {
  const where = ref.namespace ? `-n ${ref.namespace} ` : '';
  return new DevloopError('change.conflict', `${describe(ref)} exists already and is not this session's.`, {
    hint: `kubectl get ${ref.kind.toLowerCase()} ${where}${ref.name} -o yaml`,
  });
}

/** Repeats a look-decide-write round while the API server answers that somebody wrote in between, a bounded number of times. */
export async function retryOnConflict<T>(ref: ObjectRef, round: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await round();
    } catch (error) {
      const lostAnswer = error instanceof DevloopError && error.code === 'cluster.unreachable';
      const conflict = error instanceof ApiError && error.isConflict;
      if (!(conflict || lostAnswer) || attempt >= ATTEMPTS || (lostAnswer && attempt >= 3)) {
        throw error instanceof ApiError ? rejected(error, `Changing ${describe(ref)}`) : error;
      }
      await pause(Math.min(20 * attempt, 200));
    }
  }
}

function gone(ref: ObjectRef): DevloopError {
  return new DevloopError('target.not-found', `${describe(ref)} does not exist any more.`, {
    hint: 'Run the command again.',
  });
}
