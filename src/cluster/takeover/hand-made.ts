/**
 * Endpoints and EndpointSlices that somebody wrote by hand for a Service without a selector. Kubernetes never writes them again, so while a
 * session points them elsewhere, they carry an undo like any object of the user.
 */
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import type { ClusterApi } from '../api/client.ts';
import type { Kind, ObjectRef } from '../api/kinds.ts';
import type { EndpointSlice, Json, KubeObject, Service } from '../api/objects.ts';
import { type FieldChange, IN_ANNOTATION, type OwnChange, ownedBy, same, sessionOf } from '../marks/marks.ts';
import { isOnlyOurs, isPartlyOfUsers, ownersOf } from '../marks/owners.ts';
import { valueAt } from '../marks/paths.ts';
import { undoOf } from '../marks/undo.ts';
import { MANAGED_BY, SESSION_LABEL, SKIP_MIRROR, SLICE_MANAGER, UNDO_ANNOTATION } from '../names.ts';

const isListOrAbsent = (value: Json | undefined): boolean => value === undefined || Array.isArray(value);

export const HAND_MADE_ENDPOINTS: OwnChange = {
  store: IN_ANNOTATION,
  fields: [
    { path: ['subsets'], isOwn: ({ before, after }) => isListOrAbsent(before) && Array.isArray(after) },
    { path: ['metadata', 'labels', SKIP_MIRROR], isOwn: ({ after }) => after === 'true' },
  ],
};

/** A slice stays, but without endpoints, which the API server returns as null. */
export const HAND_MADE_SLICE: OwnChange = {
  store: IN_ANNOTATION,
  fields: [
    { path: ['endpoints'], isOwn: ({ before, after }) => Array.isArray(before) && after === undefined },
  ],
};

const HAND_MADE: Partial<Record<Kind, OwnChange>> = {
  Endpoints: HAND_MADE_ENDPOINTS,
  EndpointSlice: HAND_MADE_SLICE,
};

/** What devloop changes in hand-made objects of a kind; undefined for other kinds. */
export function handMadeChange(kind: Kind): OwnChange | undefined {
  return HAND_MADE[kind];
}

/** Whether these are endpoints that somebody wrote by hand; devloop's own, and those that Kubernetes writes again, have no undo. */
export function isHandMade({ ref, object }: { ref: { kind: Kind }; object: KubeObject }): boolean {
  return HAND_MADE[ref.kind] !== undefined && object.metadata.annotations?.[UNDO_ANNOTATION] !== undefined;
}

/** Throws if these are hand-made endpoints that have lost their undo, and still contain something of their author. */
export async function assertNotHandMade(
  api: ClusterApi,
  { ref, object }: { ref: ObjectRef; object: KubeObject },
): Promise<void> {
  if (HAND_MADE[ref.kind] === undefined || object.metadata.labels?.[MANAGED_BY] === SLICE_MANAGER) return;
  if (ref.kind === 'Endpoints' && !(await areOfUser(api, { ref, object }))) return;
  const message = `${describe(ref)} was written by hand, and has lost ${UNDO_ANNOTATION}: devloop can neither restore it nor delete it.`;
  const kubectl = `kubectl --context ${shellWord(api.context)} -n ${shellWord(ref.namespace)}`;
  const hint = `Write its addresses again, and remove the label ${SESSION_LABEL}: ${kubectl} edit ${ref.kind.toLowerCase()} ${shellWord(ref.name)}`;
  throw new DevloopError('change.conflict', message, { hint });
}

/** Those of a Service with a selector are of Kubernetes. */
async function areOfUser(
  api: ClusterApi,
  { ref, object }: { ref: ObjectRef; object: KubeObject },
): Promise<boolean> {
  const service = await api.get<Service>({ ...ref, kind: 'Service' });
  return service !== undefined && same(service.spec.selector, undefined) && isPartlyOfUsers(object);
}

/** The slice without endpoints, with the session's mark and its undo. */
export function emptied(slice: EndpointSlice, sessionId: string): EndpointSlice {
  const labels = { ...slice.metadata.labels, [SESSION_LABEL]: sessionId };
  const next = { ...slice, metadata: { ...slice.metadata, labels }, endpoints: null };
  return withUndo(slice, next, HAND_MADE_SLICE);
}

/**
 * `next` with an undo that leads back to what others last wrote into `now`. Returns `next` without one if a session created the object, or
 * if its undo is not valid.
 */
export function withUndo<T extends KubeObject>(now: T, next: T, own: OwnChange): T {
  const earlier = sessionOf(now) === undefined ? [] : undoOf(now, own);
  if ('fault' in earlier) return next;
  const fields = own.fields.map(({ path }) => {
    const known = earlier.find((one) => same(one.path, path));
    const isAsLeft = known !== undefined && (same(valueAt(now, path), known.after) || isOnlyOurs(now, path));
    const { before, owners } = isAsLeft ? known : found(now, path);
    return ownedBy(changeOf(path, before, valueAt(next, path)), owners);
  });
  const annotations = { ...next.metadata.annotations, [UNDO_ANNOTATION]: own.store.write({ v: 1, fields }) };
  return { ...next, metadata: { ...next.metadata, annotations } };
}

function found(now: KubeObject, path: string[]): Pick<FieldChange, 'before' | 'owners'> {
  const before = valueAt(now, path);
  return { ...(before === undefined ? {} : { before }), owners: ownersOf(now, path) };
}

function changeOf(path: string[], before: Json | undefined, after: Json | undefined): FieldChange {
  return {
    path,
    ...(before === undefined ? {} : { before }),
    ...(same(after, undefined) ? {} : { after: after! }),
  };
}
