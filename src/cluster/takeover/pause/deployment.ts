import { pollUntil, reportWhileWaiting } from '../../../async.ts';
import { DevloopError } from '../../../errors.ts';
import { describe, type ObjectRef, refOf } from '../../api/kinds.ts';
import type { Deployment, Pod } from '../../api/objects.ts';
import { type Permission, permissionsOn } from '../../api/permissions.ts';
import { answered } from '../../api/repeat.ts';
import { applyChange, restoreChange } from '../../marks/change.ts';
import type { OwnChange, UndoStore } from '../../marks/marks.ts';
import { REPLICAS_LABEL } from '../../names.ts';
import type { Step } from '../../step.ts';
import type { Observer, Work } from '../../work.ts';
import type { Pause, Pausing, Resumed } from './pause.ts';

const POLL_MS = 50;
const TERMINATING_SECONDS = 10;
const ENDED_SECONDS = 60;
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

/** Scales the manager's Deployment to 0, so that two managers never work on the same objects. */
export const byReplicas: Pause<Deployment> = {
  name: 'replicas of the Deployment',
  kind: 'Deployment',
  fits: ({ kind }) => kind === 'Deployment',
  permissions,
  pause,
  own: OWN,
  restore: (work, ref) => restoreChange(work, ref, OWN),
  waitUntilResumed,
  runningPods: async (api, deployment) =>
    (await podsOf(api, deployment)).filter(({ metadata }) => metadata.deletionTimestamp === undefined),
};

function permissions(namespace: string): Permission[] {
  return [
    ...permissionsOn('Deployment', 'get list patch', { namespace, why: 'pause the in-cluster manager' }),
    ...permissionsOn('Pod', 'list', { namespace, why: 'wait until the in-cluster manager has ended' }),
  ];
}

function pause(deployment: Deployment): Step<(work: Work) => Promise<Pausing>> {
  const ref = refOf('Deployment', deployment.metadata);
  // Where a dead session left it paused, it is restored first.
  const before = deployment.metadata.labels?.[REPLICAS_LABEL] ?? deployment.spec.replicas ?? 1;
  const detail = `replicas ${before} -> 0`;
  return {
    changes: [{ action: 'update', object: ref, detail }],
    permissions: permissions(ref.namespace!),
    async apply(work) {
      await applyChange(work, { ref, fields: [{ path: REPLICAS, value: 0 }], detail, store: IN_LABEL });
      const pausing = {
        terminating: waitUntilTerminating(work, deployment),
        ended: waitUntilEnded(work, deployment),
      };
      for (const promise of Object.values(pausing)) promise.catch(() => {});
      return pausing;
    },
  };
}

/** Resolves after the limit, too: a Pod that is late is waited for by `waitUntilEnded`. */
async function waitUntilTerminating(observer: Observer, deployment: Deployment): Promise<void> {
  const what = `the Pods of ${describe(refOf('Deployment', deployment.metadata))} to start terminating`;
  await waitFor(observer, { for: what, limitSeconds: TERMINATING_SECONDS }, async () => {
    const pods = await byReplicas.runningPods(observer.api, deployment);
    return pods.length === 0;
  });
}

/** kube-apiserver's open connections to an old Pod end only with the Pod. */
async function waitUntilEnded(observer: Observer, deployment: Deployment): Promise<boolean> {
  const what = `the Pods of ${describe(refOf('Deployment', deployment.metadata))} to end`;
  return await waitFor(observer, { for: what, limitSeconds: ENDED_SECONDS }, async () => {
    const pods = await podsOf(observer.api, deployment);
    return pods.length === 0;
  });
}

async function waitUntilResumed(observer: Observer, ref: ObjectRef, limitSeconds: number): Promise<Resumed> {
  let blocked: string | undefined;
  const what = { for: `${describe(ref)} to become ready`, limitSeconds };
  const ready = await waitFor(observer, what, async () => {
    const deployment = await observer.api.get<Deployment>(ref);
    if (deployment === undefined || (deployment.spec.replicas ?? 1) === 0) return true;
    const failure = deployment.status?.conditions?.find(
      (one) => one.type === 'ReplicaFailure' && one.status === 'True',
    );
    if (failure?.message?.includes('failed calling webhook')) {
      blocked = failure.message;
      return true;
    }
    return isReady(deployment);
  });
  return blocked === undefined ? { ready } : { ready: false, blocked };
}

/** Pods that have not ended. */
async function podsOf(api: Observer['api'], { metadata, spec }: Deployment): Promise<Pod[]> {
  const labels = Object.entries(spec.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const pods = await api.list<Pod>('Pod', metadata.namespace, { query: { labelSelector: labels.join(',') } });
  const isOwn = (pod: Pod): boolean =>
    pod.metadata.ownerReferences?.some(({ name }) => name.startsWith(`${metadata.name}-`)) ?? false;
  return pods.filter((pod) => isOwn(pod) && !['Succeeded', 'Failed'].includes(pod.status?.phase ?? ''));
}

function isReady({ spec, status, metadata }: Deployment): boolean {
  const generation = (metadata as { generation?: number }).generation ?? 0;
  const wanted = spec.replicas ?? 1;
  return (
    (status?.observedGeneration ?? 0) >= generation && (status?.readyReplicas ?? 0) >= Math.min(wanted, 1)
  );
}

async function waitFor(
  { emit, signal }: Observer,
  what: { for: string; limitSeconds: number },
  holds: () => Promise<boolean>,
): Promise<boolean> {
  const polling = pollUntil(answered(holds), {
    everyMs: POLL_MS,
    limitMs: what.limitSeconds * 1000,
    signal,
  });
  const held = await reportWhileWaiting(polling, what, emit);
  if (!held && signal.aborted)
    throw new DevloopError('interrupted', `Interrupted while waiting for ${what.for}.`);
  return held;
}
