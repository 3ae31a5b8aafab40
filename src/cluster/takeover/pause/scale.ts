import { conflictIfGone } from '../../api/errors.ts';
import {
  isWorkload,
  kindInfo,
  type ObjectRef,
  objectPath,
  relationsOf,
  type WorkloadKind,
} from '../../api/kinds.ts';
import { type Permission, permissionsOn } from '../../api/permissions.ts';
import type { Workload } from '../../api/workloads.ts';
import { applyChange, inRounds, patchSeen, restoreChange } from '../../marks/change.ts';
import { type FieldChange, markedPatch, type OwnChange, ownedBy, sessionOf } from '../../marks/marks.ts';
import { ownersOf } from '../../marks/owners.ts';
import { undoOf } from '../../marks/undo.ts';
import { REPLICAS_LABEL } from '../../names.ts';
import type { Work } from '../../work.ts';
import { inLabel } from './label-store.ts';
import type { Manager, Pause, PauseStep } from './pause.ts';

const REPLICAS = ['spec', 'replicas'];

/** Keeps the number of replicas. */
const IN_LABEL = inLabel(REPLICAS_LABEL, {
  write: ({ before }) => String(before ?? 1),
  read: (value) => (/^\d+$/.test(value) ? { path: REPLICAS, before: Number(value), after: 0 } : undefined),
});

const MOST_REPLICAS = 2 ** 31 - 1;
const OWN: OwnChange = {
  store: IN_LABEL,
  fields: [{ path: REPLICAS, isOwn: ({ before }) => Number(before) <= MOST_REPLICAS }],
};

/** Scales the manager to 0, so that two managers never work on the same objects. */
export function byScaling(
  kind: WorkloadKind,
  { follow, ...own }: Pick<Pause, 'refusedBy'> & { follow: Follow },
): Pause {
  return {
    name: `replicas of the ${kind}`,
    kind,
    fits: ({ ref }) => ref.kind === kind,
    permissions: (namespace) => scalePermissions(kind, namespace),
    pause: (manager) => scaleDown(manager, follow),
    own: OWN,
    restore: (work, ref, seen) => restoreChange(work, ref, OWN, seen),
    resumeMarked: scaleBack,
    async pauseAgain(work, manager) {
      if (sessionOf(manager.object) === undefined) await scaleDown(manager, follow).apply(work);
      // Kubernetes waits longer after each refusal before it creates the Pods again, but not after a change of the replicas.
      else await scaleDownAgain(work, manager.ref);
    },
    ...own,
  };
}

const WHY_NOT_STARTED = {
  why: 'say why the in-cluster manager does not start again',
  without: 'devloop cannot say why the manager does not start again',
};

const OF_ITS_PODS = {
  why: 'answer reviews of Pods of a manager whose own webhook blocks them',
  without: 'an operator whose own webhook fails closed on Pods might not be restored after a crash',
};

type Follow = (work: Work, manager: Manager) => ReturnType<PauseStep['apply']>;

export function pausePermissions(kind: Pause['kind'], namespace: string): Permission[] {
  return [
    ...permissionsOn(kind, 'get list patch', { namespace, why: 'pause the in-cluster manager' }),
    ...permissionsOn('Pod', 'list', { namespace, why: 'wait until the in-cluster manager has ended' }),
    ...permissionsOn('Event', 'list', { namespace, ...WHY_NOT_STARTED }),
  ];
}

function scalePermissions(kind: Pause['kind'], namespace: string): Permission[] {
  const between = isWorkload(kind) ? relationsOf(kind).between : undefined;
  const why = 'resume a manager whose own webhook blocks changes to it';
  const without = `an operator whose own webhook fails closed on ${kindInfo(kind).plural} might not be restored after a crash`;
  return [
    ...pausePermissions(kind, namespace),
    ...permissionsOn(kind, 'patch', { namespace, subresource: 'scale', why, without }),
    ...permissionsOn('Pod', 'get', { namespace, ...OF_ITS_PODS }),
    ...(between ? permissionsOn(between.kind, 'get', { namespace, ...OF_ITS_PODS }) : []),
  ];
}

async function scaleBack(work: Work, ref: ObjectRef): Promise<void> {
  await changeMarked(work, ref, async (object, { before, after }) => {
    if (object.spec.replicas === after) await scale(work, ref, object, Number(before));
  });
}

/** Scales to 0 again. A number that somebody else has set in the meantime becomes the number to restore. */
async function scaleDownAgain(work: Work, ref: ObjectRef): Promise<void> {
  await changeMarked(work, ref, async (object, { before, after }) => {
    const { replicas: now = 1 } = object.spec;
    if (now === after) return;
    if (now === before) return await scale(work, ref, object, 0);
    const fields = [ownedBy({ path: REPLICAS, before: now, after: 0 }, ownersOf(object, REPLICAS))];
    await patchSeen(work.api, ref, object, markedPatch(object, work.sessionId, fields, IN_LABEL));
    work.emit({ type: 'change', action: 'update', object: ref, detail: `replicas ${now} -> 0` });
  });
}

/** Writes to the subresource `scale`, since webhook rules for `deployments` do not match `deployments/scale`. The mark is not changed. */
async function scale({ api, emit }: Work, ref: ObjectRef, seen: Workload, replicas: number): Promise<void> {
  const { resourceVersion } = seen.metadata;
  const patch = { metadata: { resourceVersion }, spec: { replicas } };
  const options = { contentType: 'application/merge-patch+json' };
  await api.call('PATCH', `${objectPath(ref)}/scale`, patch, options).catch(conflictIfGone);
  const action = replicas === 0 ? 'update' : 'restore';
  const detail = `replicas ${seen.spec.replicas ?? 1} -> ${replicas}`;
  emit({ type: 'change', action, object: ref, detail });
}

/** Calls `change` with the object and the change that its mark records, if the mark is this session's. */
async function changeMarked(
  work: Work,
  ref: ObjectRef,
  change: (object: Workload, marked: FieldChange) => Promise<void>,
): Promise<void> {
  await inRounds(work, ref, async () => {
    const object = await work.api.get<Workload>(ref);
    if (object === undefined || sessionOf(object) !== work.sessionId) return;
    const undo = undoOf(object, OWN);
    if (!('fault' in undo)) await change(object, undo[0]!);
  });
}

function scaleDown(manager: Manager, follow: Follow): PauseStep {
  const { ref, object } = manager;
  // If a dead session left the manager paused, it is restored first, to the number in this label.
  const marked = IN_LABEL.read(object.metadata.labels?.[REPLICAS_LABEL] ?? '')?.fields[0]?.before;
  const before = marked ?? object.spec.replicas ?? 1;
  const detail = before === 0 ? 'replicas stay 0' : `replicas ${before} -> 0`;
  return {
    changes: [{ action: 'update', object: ref, detail }],
    permissions: scalePermissions(ref.kind, ref.namespace!),
    answersReviews: false,
    async apply(work) {
      const fields = [{ path: REPLICAS, value: 0 }];
      await applyChange(work, { ref, fields, detail, store: IN_LABEL, seen: object });
      return await follow(work, manager);
    },
  };
}
