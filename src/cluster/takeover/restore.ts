import { setTimeout as pause } from 'node:timers/promises';
import { allDone } from '../../async.ts';
import { ApiError } from '../api/errors.ts';
import { describe, type Kind, type ObjectRef } from '../api/kinds.ts';
import type { EndpointSlice, Endpoints, Service } from '../api/objects.ts';
import { restoreChange } from '../marks/change.ts';
import type { Marked } from '../marks/find-marked.ts';
import { type Kept, sessionOf } from '../marks/marks.ts';
import { isOwnService, relaySecretRef } from '../names.ts';
import type { Work } from '../work.ts';
import { isControllerSlice, isReadySlice } from './endpoints.ts';
import { waitUntilReady } from './pause/deployment.ts';
import { slicesOf } from './service.ts';

export interface Left {
  ref: ObjectRef;
  kept: Kept[];
}

const of = (marked: Marked[], kind: Kind): Marked[] => marked.filter((one) => one.ref.kind === kind);

/** First the in-cluster manager wakes, while whoever answers now still does. */
export async function resumeManager(work: Work, marked: Marked[], readySeconds: number): Promise<Left[]> {
  const { emit } = work;
  return await allDone(
    of(marked, 'Deployment').map(async ({ ref }) => {
      const kept = await restoreChange(work, ref);
      if (readySeconds === 0) return { ref, kept };
      const { ready, blocked } = await waitUntilReady(work, ref, readySeconds);
      if (blocked)
        emit({
          type: 'note',
          message: `${describe(ref)} cannot start its Pods while the webhook leads nowhere; the Service goes back first. (${blocked})`,
        });
      else if (!ready)
        emit({
          type: 'warning',
          message: `${describe(ref)} was not ready within ${readySeconds} s; everything is put back all the same.`,
          hint: `kubectl -n ${ref.namespace} describe deployment ${ref.name}`,
        });
      return { ref, kept };
    }),
  );
}

/** Then the Services get their selectors back, and Kubernetes makes its endpoints again. */
export async function restoreServices(work: Work, marked: Marked[]): Promise<Left[]> {
  const { api, sessionId, emit } = work;
  return await allDone(
    of(marked, 'Service').map(async ({ ref, object }) => {
      if (isOwnService(ref, sessionId)) {
        if (await api.remove(ref, object.metadata.uid))
          emit({ type: 'change', action: 'delete', object: ref, detail: '' });
        return { ref, kept: [] };
      }
      return { ref, kept: await restoreChange(work, ref) };
    }),
  );
}

/**
 * A Service that leads to its Pods again has a slice of the controller's that holds no relay Pod of ours; ours may go then.
 * Bounded: with no ready Pod there is none.
 */
export async function waitForControllerSlices(
  { api }: Work,
  services: ObjectRef[],
  marked: Marked[],
  limitMs: number,
): Promise<void> {
  const relays = new Set(of(marked, 'Pod').map(({ ref }) => `${ref.namespace}/${ref.name}`));
  const leadsToRelay = ({ endpoints, metadata }: EndpointSlice): boolean =>
    (endpoints ?? []).some(({ targetRef }) => relays.has(`${metadata.namespace}/${targetRef?.name}`));
  const deadline = Date.now() + limitMs;
  const lookAll = allDone(
    services.map(async (ref) => {
      while (Date.now() < deadline) {
        const service = await api.get<Service>(ref);
        if (service === undefined) return;
        const slices = (await slicesOf(api, service)).filter(isControllerSlice);
        if (slices.some(isReadySlice) && !slices.some(leadsToRelay)) return;
        await pause(20);
      }
    }),
  );
  // A relay needs no right on slices. Whoever may not look at them does not wait for them either.
  await lookAll.catch((error) => {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
  });
}

/** What was ours from birth goes, newest kind first; Endpoints are made again by their controller, which drops our label. */
export async function removeCreated(work: Work, marked: Marked[]): Promise<void> {
  const { api, emit } = work;
  const remove = async ({ ref, object }: Marked): Promise<void> => {
    if (await api.remove(ref, object.metadata.uid))
      emit({ type: 'change', action: 'delete', object: ref, detail: '' });
  };
  await allDone(
    [...of(marked, 'EndpointSlice'), ...of(marked, 'ValidatingWebhookConfiguration')].map(remove),
  );
  await allDone(of(marked, 'Endpoints').map((one) => releaseEndpoints(work, one)));
}

async function releaseEndpoints({ api, sessionId, emit }: Work, { ref, object }: Marked): Promise<void> {
  const deadline = Date.now() + 3_000;
  while (Date.now() < deadline) {
    const now = await api.get<Endpoints>(ref);
    if (now === undefined || sessionOf(now) !== sessionId) {
      emit({ type: 'change', action: 'restore', object: ref, detail: 'made again by Kubernetes' });
      return;
    }
    await pause(20);
  }
  // Nobody overwrote them: the Service has no selector, or is gone. Ours must not stay.
  if (await api.remove(ref, object.metadata.uid))
    emit({ type: 'change', action: 'delete', object: ref, detail: 'not made again by Kubernetes' });
}

/** After everything else: a relay carries reviews until its Service is seen to lead elsewhere. */
export async function removeRelays({ api, sessionId, emit }: Work, marked: Marked[]): Promise<void> {
  const pods = of(marked, 'Pod');
  // Where Secrets may not be listed, they are known by the session all the same.
  const secrets = new Map(of(marked, 'Secret').map((one) => [describe(one.ref), one.ref]));
  for (const { ref } of pods) {
    const secret = relaySecretRef(ref.namespace!, sessionId);
    secrets.set(describe(secret), secret);
  }
  const remove = async (ref: ObjectRef): Promise<void> => {
    if (await api.remove(ref)) emit({ type: 'change', action: 'delete', object: ref, detail: '' });
  };
  // While it has its Secret, a session that still runs would replace a Pod that is gone.
  await allDone([...secrets.values()].map(remove));
  await allDone(pods.map(({ ref }) => remove(ref)));
}

export async function removeLeases({ api }: Work, marked: Marked[]): Promise<void> {
  await allDone(of(marked, 'Lease').map(({ ref, object }) => api.remove(ref, object.metadata.uid)));
}
