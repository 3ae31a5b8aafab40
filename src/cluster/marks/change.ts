import { sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import { ApiError, conflictIfGone, isAlreadyExists, isConflict, rejected } from '../api/errors.ts';
import type { ObjectRef } from '../api/kinds.ts';
import type { Json, KubeObject } from '../api/objects.ts';
import { whileAway } from '../api/while-away.ts';
import type { Work } from '../work.ts';
import {
  changePatch,
  guard,
  type OwnChange,
  type PatchOperation,
  sessionOf,
  type UndoStore,
} from './marks.ts';
import { withoutDevloop } from './owners.ts';
import { hasPlace } from './paths.ts';
import { type FieldUndo, keptBy, planUndo, type Remainder } from './undo.ts';

const CONFLICTS = 12;
/** How long a change is retried while the API server is away. */
const AWAY_LIMIT_MS = 30_000;
const INVALID = 422;

export interface WantedChange {
  ref: ObjectRef;
  fields: { path: string[]; value?: Json }[];
  /** For display: `selector removed`. */
  detail: string;
  /** Receives the object before each attempt, and throws if the change must no longer be made. */
  check?: (object: KubeObject) => void;
  /** Where the object keeps its undo; in the annotation by default. */
  store?: UndoStore;
  /** The object as it was read a moment ago. If it has changed since, it is read again. */
  seen?: KubeObject;
}

/** Makes a marked change in one guarded patch. If somebody else writes in between, it reads the object and tries again. */
export async function applyChange(work: Work, wanted: WantedChange): Promise<void> {
  const { api, sessionId, emit } = work;
  const { ref, fields, detail, seen } = wanted;
  // Without a version in `seen`, the patch would also apply to a changed object. A session's mark in `seen` may be gone by now.
  const isUsable = seen?.metadata.resourceVersion !== undefined && sessionOf(seen) === undefined;
  const read = firstKnown(isUsable && { object: seen }, () => api.get<KubeObject>(ref));
  await inRounds(work, ref, async () => {
    const object = await read();
    if (object === undefined) throw gone(ref);
    const holder = sessionOf(object);
    if (holder === sessionId) return;
    if (holder !== undefined) {
      throw new DevloopError('session.held', `${describe(ref)} is already held by session ${holder}.`, {
        hint: 'devloop status shows who that is; devloop down restores it',
      });
    }
    wanted.check?.(object);
    // A mark without fields would have nothing to undo.
    if (!fields.some(({ path }) => hasPlace(object, path))) return;
    await patchSeen(api, ref, object, changePatch(object, sessionId, fields, wanted.store));
    emit({ type: 'change', action: 'update', object: ref, detail });
  });
}

/**
 * Restores an object that this session changed. A repeated call does no harm. Fields that somebody else has changed since then are left as
 * they are and returned. An object that another session has marked since it was listed is left alone. So is an object whose undo devloop
 * did not write; its label stays, so that the object is found again. `seen`: the object as it was read a moment ago. If it has changed
 * since, it is read again.
 */
export async function restoreChange(
  work: Work,
  ref: ObjectRef,
  own: OwnChange,
  seen?: KubeObject,
): Promise<Remainder[]> {
  const { api, sessionId, emit, beside } = work;
  // Without a version in `seen`, the patch would also apply to a changed object.
  const isUsable = seen?.metadata.resourceVersion !== undefined;
  const read = firstKnown(isUsable && { object: seen }, () => api.get<KubeObject>(ref));
  // This is kept across the attempts: if the answer to a patch was lost, the next attempt finds nothing to report.
  let kept: Remainder[] = [];
  let fields: FieldUndo[] = [];
  let restored: KubeObject | undefined;
  await inRounds(work, ref, async () => {
    const object = await read();
    if (object === undefined || sessionOf(object) !== sessionId) return;
    const plan = planUndo(object, own);
    kept = keptBy(plan);
    if ('fault' in plan) return;
    ({ fields } = plan);
    restored = await patchSeen(api, ref, object, plan.patch).catch((error) => {
      // Nothing was done, and the next attempt may find that somebody else has restored the object.
      if (isConflict(error)) [kept, fields] = [[], []];
      throw error;
    });
    const detail = kept.length === 0 ? 'as it was' : 'except what others changed';
    emit({ type: 'change', action: 'restore', object: ref, detail });
  });
  if (fields.length > 0) {
    const returning = returnOwnership(api, ref, fields, restored);
    if (beside) beside(returning);
    else await returning;
  }
  return kept;
}

/**
 * Reads an object, except that the first call returns what is already known: the object as it was read a moment ago, or that there is none.
 */
export function firstKnown(
  known: { object: KubeObject | undefined } | false,
  read: () => Promise<KubeObject | undefined>,
): () => Promise<KubeObject | undefined> {
  let first = known;
  return async () => {
    const now = first;
    first = false;
    return now ? now.object : await read();
  };
}

/**
 * Gives the fields back to their earlier owners. Otherwise, a server-side apply of another value would conflict with devloop, which has
 * just written these fields. This takes a second write, since the API server makes the writer of a value its owner. A failure is ignored,
 * because the object is already restored.
 */
async function returnOwnership(
  api: Work['api'],
  ref: ObjectRef,
  fields: FieldUndo[],
  restored: KubeObject | undefined,
): Promise<void> {
  const read = firstKnown(restored !== undefined && { object: restored }, () => api.get<KubeObject>(ref));
  const round = async (): Promise<void> => {
    const object = await read();
    if (object === undefined || sessionOf(object) !== undefined) return;
    const owners = withoutDevloop(object, fields);
    if (owners === undefined) return;
    const value = owners as unknown as Json;
    const patch: PatchOperation[] = [
      ...guard(object),
      { op: 'replace', path: '/metadata/managedFields', value },
    ];
    await patchSeen(api, ref, object, patch);
  };
  await whileInConflict(round).catch((error) => {
    if (!(error instanceof DevloopError)) throw error;
  });
}

/**
 * Patches an object, and throws a conflict if the object has changed since it was read as `seen`, or is gone. The API server reports a
 * patch that removes a missing field as invalid instead of a conflict, even if somebody else has just removed the field.
 */
export async function patchSeen(
  api: Work['api'],
  ref: ObjectRef,
  seen: KubeObject,
  patch: PatchOperation[],
): Promise<KubeObject> {
  try {
    return await api.patch(ref, 'json', patch);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== INVALID) return conflictIfGone(error);
    const now = await api.get<KubeObject>(ref);
    if (now?.metadata.resourceVersion === seen.metadata.resourceVersion) throw error;
    throw new ApiError(error.message, 409, 'Conflict');
  }
}

/**
 * Creates an object that has the session's label from the start. If an earlier attempt of this session has already created it, returns that
 * object.
 */
export async function createMarked<T extends KubeObject>(work: Work, ref: ObjectRef, object: T): Promise<T> {
  const { api, sessionId, emit } = work;
  return await inRounds(work, ref, async () => {
    try {
      const created = await api.create<T>(ref, object);
      emit({ type: 'change', action: 'create', object: ref, detail: '' });
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const existing = await api.get<T>(ref);
      if (existing === undefined) throw error;
      if (sessionOf(existing) !== sessionId) throw foreign(ref);
      return existing;
    }
  });
}

function foreign(ref: ObjectRef): DevloopError {
  const where = ref.namespace ? `-n ${shellWord(ref.namespace)} ` : '';
  return new DevloopError(
    'change.conflict',
    `${describe(ref)} already exists and does not belong to this session.`,
    { hint: `kubectl get ${ref.kind.toLowerCase()} ${where}${shellWord(ref.name)} -o yaml` },
  );
}

/**
 * Repeats a round of reading, deciding and writing while somebody else writes in between, or while the API server is away; each has a
 * limit. A round that finds its own earlier write done has nothing left to do.
 */
export async function inRounds<T>(
  { emit, signal }: Pick<Work, 'emit' | 'signal'>,
  ref: ObjectRef,
  round: () => Promise<T>,
): Promise<T> {
  try {
    return await whileAway(() => whileInConflict(round), { limitMs: AWAY_LIMIT_MS, signal, emit });
  } catch (error) {
    throw error instanceof ApiError ? rejected(error, `Changing ${describe(ref)}`) : error;
  }
}

/** Repeats a round while somebody else writes in between, but not while the API server is away. */
export async function whileInConflict<T>(round: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await round();
    } catch (error) {
      if (attempt >= CONFLICTS || !isConflict(error)) throw error;
      await sleep(Math.min(20 * attempt, 200));
    }
  }
}

function gone(ref: ObjectRef): DevloopError {
  return new DevloopError('target.not-found', `${describe(ref)} no longer exists.`, {
    hint: 'Run the command again.',
  });
}
