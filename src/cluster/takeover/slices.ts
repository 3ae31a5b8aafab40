/** The EndpointSlices of a Service, and those among them that Kubernetes' own controllers write. */
import { allDone, sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import type { ClusterApi } from '../api/client.ts';
import { isConflict, isNotFound, isTransient } from '../api/errors.ts';
import { describe, refOf } from '../api/kinds.ts';
import type { EndpointSlice, Service } from '../api/objects.ts';
import { same, sessionOf } from '../marks/marks.ts';
import { MANAGED_BY } from '../names.ts';
import type { Work } from '../work.ts';
import { type Destination, ourSlice, SERVICE_NAME } from './endpoints.ts';

const CONTROLLERS = new Set(['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']);
const REMOVE_LIMIT_MS = 10_000;
const POLL_MS = 25;

/**
 * Points the controllers' slices of a Service without a selector to the address to which devloop's slice will point. They are deleted next.
 * Resolves to false if one of them may still point elsewhere: it is of the other IP family, somebody has just written it, or the API server
 * was away.
 */
export async function turnControllerSlices(
  { api, sessionId }: Work,
  service: Service,
  to: () => Destination,
): Promise<boolean> {
  const { addressType, endpoints, ports = [] } = ourSlice(service, sessionId, to());
  const slices = (await slicesOf(api, service)).filter(isControllerSlice);
  const alike = slices.filter((slice) => slice.addressType === addressType);
  const turned = await allDone(
    alike.map((slice) =>
      api
        .replace(refOf('EndpointSlice', slice.metadata), { ...slice, endpoints, ports })
        .then(() => true, falseIfNotTurned),
    ),
  );
  return alike.length === slices.length && turned.every(Boolean);
}

/** Returns false even if only the answer was lost: nothing depends on this write, since the slice is deleted next. */
function falseIfNotTurned(error: unknown): false {
  const isStale = isNotFound(error) || isConflict(error);
  if (isStale || isTransient(error)) return false;
  throw error;
}

/**
 * Deletes the controllers' slices, which remain when a selector is removed, and the one that the mirroring controller adds. It ends when
 * two rounds in a row find none. If the Service has its selector again, the slices come back; they are then left to the session's guard, or
 * to the devloop process that has restored the Service.
 */
export async function removeControllerSlices(work: Work, service: Service): Promise<void> {
  const { api, emit } = work;
  const started = performance.now();
  for (let rounds = 0, emptyRounds = 0; ; rounds++) {
    const leftovers = (await slicesOf(api, service)).filter(isControllerSlice);
    emptyRounds = leftovers.length === 0 ? emptyRounds + 1 : 0;
    if (emptyRounds === 2) return;
    // The first round skips this check: however slow the API server was, nothing has been deleted yet.
    if (rounds > 0 && leftovers.length > 0) {
      const now = await api.get<Service>(refOf('Service', service.metadata));
      if (!isWithoutSelector(now, work)) return;
      if (performance.now() - started > REMOVE_LIMIT_MS) throw recreated(service, leftovers);
    }
    await allDone(
      leftovers.map(async ({ metadata }) => {
        const object = refOf('EndpointSlice', metadata);
        if (await api.remove(object, metadata.uid))
          emit({ type: 'change', action: 'delete', object, detail: RECREATED_LATER });
      }),
    );
    await sleep(POLL_MS);
  }
}

/** Whether the Service is still as the session left it after pointing it to an address. */
export function isWithoutSelector(service: Service | undefined, { sessionId }: Work): boolean {
  return service !== undefined && sessionOf(service) === sessionId && same(service.spec.selector, undefined);
}

export const RECREATED_LATER = 'Kubernetes recreates it later';

function recreated(service: Service, slices: EndpointSlice[]): DevloopError {
  const names = slices.map(({ metadata }) => metadata.name).join(', ');
  const { namespace, name } = service.metadata;
  const ref = describe(refOf('Service', service.metadata));
  const message = `Something keeps creating EndpointSlices for ${ref}: ${names}.`;
  const shown = `kubectl -n ${namespace} get endpointslices -l ${SERVICE_NAME}=${name} -o yaml --show-managed-fields`;
  return new DevloopError('change.conflict', message, { hint: `To see what creates them: ${shown}` });
}

export async function slicesOf(
  api: ClusterApi,
  service: { metadata: { namespace?: string; name: string } },
): Promise<EndpointSlice[]> {
  return await api.list<EndpointSlice>('EndpointSlice', service.metadata.namespace, {
    query: { labelSelector: `${SERVICE_NAME}=${service.metadata.name}` },
  });
}

/** Whether Kubernetes' own controllers created this slice; they recreate it once the Service has its selector again. */
export function isControllerSlice(slice: EndpointSlice): boolean {
  return CONTROLLERS.has(slice.metadata.labels?.[MANAGED_BY] ?? '');
}

export function isReadySlice(slice: EndpointSlice): boolean {
  return (slice.endpoints ?? []).some(
    (endpoint) => endpoint.conditions?.ready !== false && endpoint.addresses.length > 0,
  );
}
