import { pollUntil } from '../../async.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { isForbidden, undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { KubeObject, Service } from '../../cluster/api/objects.ts';
import { answered } from '../../cluster/api/while-away.ts';
import { isSelectorless } from '../../cluster/marks/selector.ts';
import { createProber, type Prober } from '../../cluster/takeover/probe.ts';
import { isReadySlice, slicesOf } from '../../cluster/takeover/slices.ts';
import type { Work } from '../../cluster/work.ts';
import { messageOf } from '../../errors.ts';
import type { TakenObject } from '../../operator/closed-webhooks.ts';
import { selectedPods } from '../../operator/manager.ts';
import type { Target, TargetService } from '../../operator/target.ts';
import type { WebhookService } from '../../operator/webhooks.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { PROBE_LANGUAGE, PROBES, probeUntil, serviceProber } from '../route/probe-until.ts';

const LIMIT_MS = 10_000;
const ELSEWHERE = { wanted: 'other', limitMs: LIMIT_MS } as const;
const POLL_MS = 100;

/** Waits, at the end of `up`, until kube-apiserver gets its answers from the in-cluster Pods. The gateway stays open until then. */
export async function waitUntilLetGo(work: Work, { services }: Target): Promise<void> {
  const waitForOne = async (service: TargetService): Promise<void> => {
    // Nobody in the cluster has to answer what somebody points elsewhere by hand.
    if (isSelectorless(service.service) || !(await hasReadyPods(work.api, service.service))) return;
    await using prober = await serviceProber(work, service);
    await verifyElsewhere(work, prober);
  };
  const unverified = (error: unknown): void => warn(work, messageOf(error));
  await Promise.all(services.map((service) => waitForOne(service).catch(unverified)));
}

const STILL_HERE = 'calls from kube-apiserver still reach this machine.';

async function verifyElsewhere(work: Work, prober: Prober): Promise<void> {
  const { reached, cause } = await probeUntil(prober, ELSEWHERE, work.signal);
  if (!reached) warn(work, cause || STILL_HERE);
}

function warn({ emit }: Work, why: string): void {
  emit(notice('restore.unverified', { cause: why }));
}

/**
 * Waits, in `down`, until kube-apiserver gets its answers from the Pods that these Services select. The wait is limited, and an account
 * that is not allowed to probe does not wait, because only the next users of the webhooks benefit from it. One answer is not enough: while
 * kube-proxy catches up, some calls still go to the old endpoint.
 */
export async function waitUntilAnswering(
  work: Work,
  services: TakenObject[],
  webhooks: WebhookService[],
): Promise<void> {
  const { api } = work;
  await Promise.allSettled(
    services.map(async ({ ref, object }) => {
      const called = webhooks.find(({ namespace, name }) => namespace === ref.namespace && name === ref.name);
      const call = called?.calls[0];
      if (call === undefined || (object && isSelectorless(object as Service))) return;
      const { port, caBundle } = call;
      const target = { namespace: ref.namespace!, service: ref.name, port, caBundle, count: PROBES };
      // These run in parallel; a failure is rethrown below.
      const looking = Promise.all([hasReadyPods(api, { metadata: ref }), oldPodsEnded(work, ref, object)]);
      looking.catch(() => {});
      await using prober = await createProber(target).apply(work, PROBE_LANGUAGE);
      const [isReady] = await looking;
      if (isReady) await verifyElsewhere(work, prober);
    }),
  );
}

/**
 * Waits for old Pods of the manager to end, in case `up` was killed right after it had paused the manager. kube-apiserver has connections
 * to them, and kube-proxy sends calls to them as long as there is no other Pod.
 */
async function oldPodsEnded({ api, signal }: Work, ref: ObjectRef, seen?: KubeObject): Promise<void> {
  const service = (seen as Service | undefined) ?? (await api.get<Service>(ref));
  if (service === undefined) return;
  const isOver = async (): Promise<boolean> => {
    const pods = await selectedPods(api, service);
    return pods.every(({ metadata }) => metadata.deletionTimestamp === undefined);
  };
  await pollUntil(answered(isOver), { everyMs: POLL_MS, limitMs: LIMIT_MS, signal }).catch(
    undefinedIfForbidden,
  );
}

/**
 * Whether any Pod could answer. Returns true if the account is not allowed to read slices, because the relay does not need that permission.
 */
async function hasReadyPods(api: ClusterApi, service: Parameters<typeof slicesOf>[1]): Promise<boolean> {
  try {
    return (await slicesOf(api, service)).some(isReadySlice);
  } catch (error) {
    if (isForbidden(error)) return true;
    throw error;
  }
}
