import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { allDone } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import type { ClusterApi } from '../api/client.ts';
import { describe, type ObjectRef, refOf } from '../api/kinds.ts';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../api/objects.ts';
import { applyChange, retryOnConflict } from '../marks/change.ts';
import { same, sessionOf } from '../marks/marks.ts';
import { sliceRef } from '../names.ts';
import type { Work } from '../work.ts';
import {
  type Destination,
  familyOf,
  isControllerSlice,
  ourEndpoints,
  ourSlice,
  SERVICE_NAME,
} from './endpoints.ts';

/** Refuses Services that cannot be led elsewhere, before anything is written. */
export function assertTakeable(service: Service, address?: string): void {
  const ref = describe(refOf('Service', service.metadata));
  const unsupported = (why: string, hint: string): DevloopError =>
    new DevloopError('service.unsupported', `${ref} ${why}`, { hint });
  if (service.spec.type === 'ExternalName') {
    throw unsupported(
      'is of type ExternalName: it names a host outside and has no endpoints to take over.',
      'Point the webhook at an ordinary Service.',
    );
  }
  if (service.spec.clusterIP === 'None') {
    throw unsupported(
      'is headless: without endpoint routing, kube-apiserver cannot call a webhook through it.',
      'Give the Service a cluster IP.',
    );
  }
  if (sessionOf(service) === undefined && same(service.spec.selector, undefined)) {
    throw unsupported(
      'has no selector already, so somebody else manages where it leads.',
      `kubectl -n ${service.metadata.namespace} get endpointslices -l ${SERVICE_NAME}=${service.metadata.name} shows where; put the selector back first.`,
    );
  }
  if (service.spec.internalTrafficPolicy === 'Local') {
    throw unsupported(
      'has internalTrafficPolicy Local: proxies drop endpoints that are on no node, and this machine is on none.',
      `kubectl -n ${service.metadata.namespace} patch service ${service.metadata.name} -p '{"spec":{"internalTrafficPolicy":"Cluster"}}'`,
    );
  }
  const families = service.spec.ipFamilies ?? [];
  if (address !== undefined && families.length > 0 && !families.includes(familyOf(address))) {
    throw new DevloopError(
      'route.address',
      `${ref} is ${families.join(' and ')} only, and ${address} is ${familyOf(address)}.`,
      {
        hint: 'Pass --address with an address of that family.',
      },
    );
  }
}

/**
 * Leads a Service to this machine. The selector goes first, in a patch that carries its own undo; then our endpoints come;
 * what the controllers left behind goes last, so that there is no moment without an endpoint.
 */
export async function takeService(work: Work, service: Service, to: () => Destination): Promise<void> {
  await swapSelector(work, service, undefined);
  await writeEndpoints(work, service, to);
  await removeControllerSlices(work, service);
}

/**
 * Leads a Service to Pods with these labels, or to none, in one patch that carries its own undo. To Pods, Kubernetes' own
 * controllers make the endpoints on the way here and back, so no permission on those is needed.
 */
export async function swapSelector(
  work: Work,
  service: Service,
  labels: Record<string, string> | undefined,
): Promise<void> {
  const ref = refOf('Service', service.metadata);
  const path = ['spec', 'selector'];
  const terms = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  await applyChange(work, {
    ref,
    fields: [labels === undefined ? { path } : { path, value: labels }],
    detail: labels === undefined ? 'selector removed' : `selector -> ${terms.join(',')}`,
    check: (now) => {
      if (same((now as Service).spec.selector, service.spec.selector)) return;
      throw new DevloopError(
        'change.conflict',
        `The selector of ${describe(ref)} was changed by somebody else just now.`,
        { hint: 'Run devloop up again.' },
      );
    },
  });
}

/** Writes our slice and our Endpoints for a Service without selector. */
export async function writeEndpoints(work: Work, service: Service, to: () => Destination): Promise<void> {
  await writeBoth(work, service, to, () => true);
}

/** Other ports than before, on the same address; nothing where the endpoints are not this session's yet, or any more. */
export async function moveEndpoints(work: Work, service: Service, to: () => Destination): Promise<void> {
  await writeBoth(work, service, to, (now) => now !== undefined && sessionOf(now) === work.sessionId);
}

type Which = (now: KubeObject | undefined) => boolean;

async function writeBoth(work: Work, service: Service, to: () => Destination, which: Which): Promise<void> {
  const { sessionId } = work;
  const ref = refOf('Service', service.metadata);
  await allDone([
    writeOne<EndpointSlice>(work, sliceRef(ref, sessionId), to, (at, now) => {
      if (!which(now)) return undefined;
      const slice = ourSlice(service, sessionId, at);
      return now === undefined ? slice : { ...now, ports: slice.ports ?? [] };
    }),
    writeOne<Endpoints>(work, { ...ref, kind: 'Endpoints' }, to, (at, now) =>
      which(now) ? ourEndpoints(service, sessionId, at, now) : undefined,
    ),
  ]);
}

/** A tunnel may come back with other ports at any moment, so what was written is compared with what is so now. */
async function writeOne<T extends KubeObject>(
  { api, emit }: Work,
  ref: ObjectRef,
  to: () => Destination,
  wanted: (at: Destination, now: T | undefined) => T | undefined,
): Promise<void> {
  await retryOnConflict(ref, async () => {
    for (let at: Destination | undefined; !isDeepStrictEqual(at, to()); ) {
      const now = await api.get<T>(ref);
      at = to();
      const next = wanted(at, now);
      if (next === undefined) return;
      if (isDeepStrictEqual(next, now)) continue;
      await (now === undefined ? api.create(ref, next) : api.replace(ref, next));
      const detail = `to ${at.address}:${at.ports.map(({ port }) => port).join(', ')}`;
      emit({ type: 'change', action: now ? 'update' : 'create', object: ref, detail });
    }
  });
}

/** The controllers' slices stay when a selector goes, and the mirroring controller adds one; all of them have to go, and stay gone. */
async function removeControllerSlices({ api, emit }: Work, service: Service): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (let quietRounds = 0; ; ) {
    const leftovers = (await slicesOf(api, service)).filter(isControllerSlice);
    quietRounds = leftovers.length === 0 ? quietRounds + 1 : 0;
    if (quietRounds === 2) return;
    await allDone(
      leftovers.map(async (slice) => {
        const ref = refOf('EndpointSlice', slice.metadata);
        if (await api.remove(ref, slice.metadata.uid))
          emit({
            type: 'change',
            action: 'delete',
            object: ref,
            detail: 'made again by Kubernetes later',
          });
      }),
    );
    if (Date.now() > deadline) {
      throw new DevloopError(
        'change.conflict',
        `Something keeps making EndpointSlices for ${describe(refOf('Service', service.metadata))}: ${leftovers.map((one) => one.metadata.name).join(', ')}`,
      );
    }
    await pause(25);
  }
}

export async function slicesOf(api: ClusterApi, service: KubeObject): Promise<EndpointSlice[]> {
  return await api.list<EndpointSlice>('EndpointSlice', service.metadata.namespace, {
    query: { labelSelector: `${SERVICE_NAME}=${service.metadata.name}` },
  });
}
