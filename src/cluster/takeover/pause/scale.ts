import { type Permission, permissionsOn } from '../../api/permissions.ts';
import { applyChange, restoreChange } from '../../marks/change.ts';
import type { OwnChange, UndoStore } from '../../marks/marks.ts';
import { REPLICAS_LABEL } from '../../names.ts';
import type { Work } from '../../work.ts';
import type { Manager, Pause, PauseStep } from './pause.ts';

const REPLICAS = ['spec', 'replicas'];

/** The number of replicas, in a label: see REPLICAS_LABEL. */
const IN_LABEL: UndoStore = {
  map: 'labels',
  key: REPLICAS_LABEL,
  write: ({ fields }) => String(fields[0]?.before ?? 1),
  read: (text) =>
    /^\d+$/.test(text) ? { v: 1, fields: [{ path: REPLICAS, before: Number(text), after: 0 }] } : undefined,
};

const MOST_REPLICAS = 2 ** 31 - 1;
const OWN: OwnChange = {
  store: IN_LABEL,
  fields: [{ path: REPLICAS, isOwn: ({ before }) => Number(before) <= MOST_REPLICAS }],
};

/** Scales the manager to 0, so that two managers never work on the same objects. */
export function byScaling(
  kind: 'Deployment' | 'StatefulSet',
  own: Pick<Pause, 'waitUntilResumed'> & { follow: Follow },
): Pause {
  return {
    name: `replicas of the ${kind}`,
    kind,
    fits: ({ ref }) => ref.kind === kind,
    permissions: (namespace) => pausePermissions(kind, namespace),
    pause: (manager) => scaleDown(manager, own.follow),
    own: OWN,
    restore: (work, ref) => restoreChange(work, ref, OWN),
    waitUntilResumed: own.waitUntilResumed,
  };
}

type Follow = (work: Work, manager: Manager) => ReturnType<PauseStep['apply']>;

export function pausePermissions(kind: Pause['kind'], namespace: string): Permission[] {
  return [
    ...permissionsOn(kind, 'get list patch', { namespace, why: 'pause the in-cluster manager' }),
    ...permissionsOn('Pod', 'list', { namespace, why: 'wait until the in-cluster manager has ended' }),
  ];
}

function scaleDown(manager: Manager, follow: Follow): PauseStep {
  const { ref, object } = manager;
  // Where a dead session left it paused, it is restored first.
  const before = object.metadata.labels?.[REPLICAS_LABEL] ?? object.spec.replicas ?? 1;
  const detail = `replicas ${before} -> 0`;
  return {
    changes: [{ action: 'update', object: ref, detail }],
    permissions: pausePermissions(ref.kind, ref.namespace!),
    async apply(work) {
      await applyChange(work, { ref, fields: [{ path: REPLICAS, value: 0 }], detail, store: IN_LABEL });
      return await follow(work, manager);
    },
  };
}
