import { setTimeout as pause } from 'node:timers/promises';
import type { ClusterApi } from '../cluster/api.ts';
import { noHints } from '../cluster/checkout.ts';
import { isReadySlice } from '../cluster/endpoints.ts';
import type { Service } from '../cluster/objects.ts';
import { createProber, type ProbeAnswer, type ProbeTarget } from '../cluster/probe.ts';
import type { ObjectRef } from '../cluster/resources.ts';
import { slicesOf } from '../cluster/service.ts';
import { listCandidates } from '../cluster/webhook-calls.ts';
import { LANGUAGE } from './route/proof.ts';

const LIMIT_MS = 10_000;
const PAUSE_MS = 25;
/** A call that nobody took. Whatever else is said comes from somebody who was there. */
const UNANSWERED =
  /dial tcp|connection refused|no endpoints available|deadline exceeded|timeout|\bEOF\b|connection reset/i;

/**
 * Proxies follow a Service at their own time: waits until kube-apiserver is answered by the Pods that each of these leads to again.
 * Only a courtesy to whoever goes on at once, so it is bounded, and whoever may not probe goes without it.
 */
export async function waitUntilAnswering(
  api: ClusterApi,
  session: string,
  services: ObjectRef[],
  signal: AbortSignal,
): Promise<void> {
  const candidates = await listCandidates(api, noHints()).catch(() => []);
  await Promise.allSettled(
    services.map(async (ref) => {
      const call = candidates.find((one) => one.namespace === ref.namespace && one.service === ref.name)
        ?.calls[0];
      const service = await api.get<Service>(ref);
      if (call === undefined || service === undefined) return;
      if (!(await slicesOf(api, service)).some(isReadySlice)) return;
      const { port, caBundle } = call;
      await waitForAnswer(
        api,
        session,
        { namespace: ref.namespace!, service: ref.name, port, caBundle },
        signal,
      );
    }),
  );
}

async function waitForAnswer(
  api: ClusterApi,
  session: string,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + LIMIT_MS;
  await using prober = await createProber(api, session, target, LANGUAGE);
  while (Date.now() < deadline && !signal.aborted && !isAnswered(await prober.once())) await pause(PAUSE_MS);
}

/** Pure. */
export function isAnswered(answer: ProbeAnswer): boolean {
  return answer.reached || (!answer.pending && !UNANSWERED.test(answer.cause));
}
