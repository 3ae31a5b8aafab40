import { conflictIfGone } from '../../api/errors.ts';
import { type ObjectRef, refOf } from '../../api/kinds.ts';
import { permissionsOn } from '../../api/permissions.ts';
import type { ControllerRevision, Workload } from '../../api/workloads.ts';
import { applyChange, inRounds, restoreChange } from '../../marks/change.ts';
import { type OwnChange, sessionOf } from '../../marks/marks.ts';
import { valueAt } from '../../marks/paths.ts';
import { undoOf } from '../../marks/undo.ts';
import { PAUSED } from '../../names.ts';
import type { Work } from '../../work.ts';
import { inLabel } from './label-store.ts';
import type { Pause } from './pause.ts';
import { refusedByEvents } from './refusals.ts';
import { pausePermissions } from './scale.ts';
import { followPods, waitFor } from './waits.ts';

const SELECTED = ['spec', 'template', 'spec', 'nodeSelector', PAUSED];
const OBSERVED_SECONDS = 10;
const DETAIL = `node selector ${PAUSED} added, which no node has`;

/** The label's value while the DaemonSet is being restored, so that a session that is still running notices the restore. */
const RESUMING = 'resuming';

/** A pause adds only this one key to the template, so there is no value to keep. */
const BY_LABEL = inLabel(PAUSED, {
  write: () => 'true',
  read: (value) => (value === 'true' || value === RESUMING ? { path: SELECTED, after: 'true' } : undefined),
});

const OWN: OwnChange = {
  store: BY_LABEL,
  fields: [{ path: SELECTED, isOwn: ({ before, after }) => before === undefined && after === 'true' }],
  isResuming: ({ metadata }) => metadata.labels?.[PAUSED]?.startsWith(RESUMING) === true,
};

/** A DaemonSet has no replicas, but its controller deletes its Pods on nodes that the node selector does not match. */
export const daemonSetPause: Pause = {
  name: 'node selector of the DaemonSet',
  kind: 'DaemonSet',
  fits: ({ ref }) => ref.kind === 'DaemonSet',
  permissions,
  own: OWN,
  pause: (manager) => ({
    changes: [{ action: 'update', object: manager.ref, detail: DETAIL }],
    permissions: permissions(manager.ref.namespace!),
    answersReviews: false,
    async apply(work) {
      const fields = [{ path: SELECTED, value: 'true' }];
      await applyChange(work, { ref: manager.ref, fields, detail: DETAIL, store: BY_LABEL });
      return { idle: Promise.resolve(), ...followPods(work, manager) };
    },
  }),
  async restore(work, ref) {
    if (await resume(work, ref)) await removePausedRevision(work, ref);
    // The mark is removed last: if this process is killed before that, the next restore still finds the DaemonSet.
    return await restoreChange(work, ref, OWN);
  },
  refusedBy: refusedByEvents,
};

function permissions(namespace: string): ReturnType<Pause['permissions']> {
  const why = "remove the paused template from the DaemonSet's history";
  return [
    ...pausePermissions('DaemonSet', namespace),
    ...permissionsOn('ControllerRevision', 'list delete', { namespace, why }),
  ];
}

/** Resolves to false if devloop did not write the mark: its undo is not carried out. */
async function resume(work: Work, ref: ObjectRef): Promise<boolean> {
  const { api, sessionId } = work;
  return await inRounds(work, ref, async () => {
    const object = await api.get<Workload>(ref);
    if (object === undefined || sessionOf(object) !== sessionId) return true;
    if ('fault' in undoOf(object, OWN)) return false;
    if (valueAt(object, SELECTED) !== 'true') return true;
    const { resourceVersion, labels } = object.metadata;
    const resuming = labels![PAUSED]!.replace('true', RESUMING);
    const metadata = { resourceVersion, labels: { [PAUSED]: resuming } };
    const template = { spec: { nodeSelector: { [PAUSED]: null } } };
    await api.patch(ref, 'merge', { metadata, spec: { template } }).catch(conflictIfGone);
    return true;
  });
}

/**
 * Each change of the template leaves a revision in the DaemonSet's history. Unless the paused revision is deleted, `kubectl rollout undo`
 * would go back to it.
 */
async function removePausedRevision(work: Work, ref: ObjectRef): Promise<void> {
  const { api, sessionId } = work;
  let isOfOther = false;
  // Until the controller has seen the restored template, it would create the revision again.
  await waitFor(work, { for: 'the DaemonSet controller', limitSeconds: OBSERVED_SECONDS }, async () => {
    const now = await api.get<Workload>(ref);
    isOfOther = now !== undefined && ![undefined, sessionId].includes(sessionOf(now));
    return (
      isOfOther ||
      now === undefined ||
      (now.status?.observedGeneration ?? 0) >= (now.metadata.generation ?? 0)
    );
  });
  // Another session has paused the DaemonSet since then, so the paused revision is the current one.
  if (isOfOther) return;
  const revisions = await api.list<ControllerRevision>('ControllerRevision', ref.namespace);
  const paused = revisions.filter((one) => isPausedRevision(one, ref));
  for (const { metadata } of paused) await api.remove(refOf('ControllerRevision', metadata), metadata.uid);
}

/** Whether this is a revision of the DaemonSet's template that exists only because devloop paused it. */
export function isPausedRevision({ metadata, data }: ControllerRevision, { kind, name }: ObjectRef): boolean {
  const owners = metadata.ownerReferences ?? [];
  return (
    owners.some((one) => one.kind === kind && one.name === name) && valueAt(data, SELECTED) !== undefined
  );
}
