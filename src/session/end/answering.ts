import type { ClusterApi } from '../../cluster/api/client.ts';
import { ApiError } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { isReadySlice, slicesOf } from '../../cluster/takeover/endpoints.ts';
import { createProber } from '../../cluster/takeover/probe.ts';
import type { Work } from '../../cluster/work.ts';
import { noCheckoutFacts } from '../../operator/sources.ts';
import { listWebhookServices } from '../../operator/webhooks.ts';
import { LANGUAGE, probeUntil } from '../route/proof.ts';

const LIMIT_MS = 10_000;

/**
 * Proxies follow a Service at their own time: waits until kube-apiserver is answered by the Pods that each of these leads to again.
 * Only a courtesy to whoever goes on at once, so it is bounded, and whoever may not probe goes without it.
 */
export async function waitUntilAnswering(work: Work, services: ObjectRef[]): Promise<void> {
  const { api, signal } = work;
  const webhooks = await listWebhookServices(api, noCheckoutFacts()).catch(() => []);
  await Promise.allSettled(
    services.map(async (ref) => {
      const call = webhooks.find((one) => one.namespace === ref.namespace && one.name === ref.name)?.calls[0];
      const service = await api.get<Service>(ref);
      if (call === undefined || service === undefined) return;
      if (!(await hasReadyPods(api, service))) return;
      const { port, caBundle } = call;
      const target = { namespace: ref.namespace!, service: ref.name, port, caBundle };
      await using prober = await createProber(target).apply(work, LANGUAGE);
      await probeUntil(prober, 'other', 1, LIMIT_MS, signal);
    }),
  );
}

/** Whether there is anybody to wait for; whoever may not look (a relay needs no right on slices) waits. */
export async function hasReadyPods(api: ClusterApi, service: Service): Promise<boolean> {
  try {
    return (await slicesOf(api, service)).some(isReadySlice);
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return true;
    throw error;
  }
}
