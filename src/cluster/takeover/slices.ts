/** The EndpointSlices of a Service, and those among them that Kubernetes' own controllers write. */
import { allDone, backOff, reportWhileWaiting, sleep } from '../../async.ts';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { describe } from '../../report/object-name.ts';
import type { ClusterApi } from '../api/client.ts';
import { conflictIfGone, isConflict, isNotFound, isTransient } from '../api/errors.ts';
import { type ObjectRef, refOf } from '../api/kinds.ts';
import type { EndpointSlice, Service } from '../api/objects.ts';
import { inRounds } from '../marks/change.ts';
import { same, sessionOf } from '../marks/marks.ts';
import { isSelectorless } from '../marks/selector.ts';
import { MANAGED_BY, MIRRORING, SLICE_MANAGER } from '../names.ts';
import type { Work } from '../work.ts';
import { type Destination, ourSlice, SERVICE_NAME } from './endpoints.ts';
import { emptied } from './hand-made.ts';

const CONTROLLERS = new Set(['endpointslice-controller.k8s.io', MIRRORING]);
/** When the API server was away, Kubernetes' controllers can wait for a minute before they watch again. Until then, they go by what they knew. */
export const CATCH_UP_MS = 60_000;
const FIRST_POLL_MS = 25;
const LONGEST_POLL_MS = 1_000;

/**
 * Points the controllers' slices of a Service without a selector to the address to which devloop's slice will point. They are emptied next.
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
  const turned = await allDone(alike.map((slice) => rewrite(api, { ...slice, endpoints, ports })));
  return alike.length === slices.length && turned.every(Boolean);
}

/** False if the slice is stale, or if the answer was lost: the next round reads it again. */
async function rewrite(api: ClusterApi, slice: EndpointSlice): Promise<boolean> {
  try {
    await api.replace(refOf('EndpointSlice', slice.metadata), slice);
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error) || isTransient(error)) return false;
    throw error;
  }
}

/**
 * Takes the endpoints out of the controllers' slices, which remain when a selector is removed, until two rounds in a row find none. If the
 * Service has its selector again, the controllers fill their slices; that is then left to the session's guard, or to the devloop process
 * that has restored the Service.
 */
export async function emptyControllerSlices(work: Work, service: Service): Promise<void> {
  const { namespace, name } = service.metadata;
  const what = `Kubernetes to see that Service ${namespace}/${name} has no selector`;
  const emptying = emptyUntilCalm(work, service);
  await reportWhileWaiting(emptying, { for: what, limitSeconds: CATCH_UP_MS / 1000 }, work.emit);
}

async function emptyUntilCalm(work: Work, service: Service): Promise<void> {
  const started = performance.now();
  for (let refills = -1, emptyRounds = 0; ; ) {
    const filled = await filledSlices(work.api, service);
    emptyRounds = filled.length === 0 ? emptyRounds + 1 : 0;
    if (emptyRounds === 2) return;
    // The first round skips this check: however slow the API server was, nothing has been written yet.
    const isRefilled = filled.length > 0 && ++refills > 0;
    if (isRefilled && !(await isStillPointed(work, service))) return;
    if (isRefilled && performance.now() - started > CATCH_UP_MS) throw refilled(service, filled);
    await allDone(filled.map((slice) => emptySlice(work, slice)));
    const pauseMs = backOff(Math.max(0, refills), FIRST_POLL_MS, LONGEST_POLL_MS);
    if (!(await sleep(pauseMs, work.signal))) return;
  }
}

async function isStillPointed(work: Work, { metadata }: Service): Promise<boolean> {
  return isWithoutSelector(await work.api.get<Service>(refOf('Service', metadata)), work);
}

/**
 * Empties slices that a controller has filled since, because it had not seen yet that the Service has no selector. Does nothing until the
 * session's own slice exists, and nothing once the Service has a selector again. Resolves to false if there was nothing to do.
 */
export async function emptyLateSlices(work: Work, service: Service): Promise<boolean> {
  const { api, sessionId } = work;
  const slices = await slicesOf(api, service);
  const late = slices.filter((slice) => isLateSlice(service, slice));
  const isOwn = (slice: EndpointSlice): boolean =>
    sessionOf(slice) === sessionId && managerOf(slice) === SLICE_MANAGER;
  if (late.length === 0 || !slices.some(isOwn)) return false;
  if (!(await isStillPointed(work, service))) return false;
  await emptyHandMade(work, service);
  await allDone((await filledSlices(api, service)).map((slice) => emptySlice(work, slice)));
  return true;
}

/** Whether a slice still sends calls of a Service that the session has pointed here somewhere else. */
export function isLateSlice(service: Service, slice: EndpointSlice): boolean {
  return hasControllerEndpoints(slice) || (isSelectorless(service) && isFilledByHand(slice));
}

/**
 * Takes the endpoints out of the slices of a Service that has no selector of its own. Kubernetes does not fill them again, so each keeps an
 * undo, whoever made it. Mirrored slices follow the Endpoints.
 */
export async function emptyHandMade(work: Work, service: Service): Promise<void> {
  if (!isSelectorless(service)) return;
  const filled = (await slicesOf(work.api, service)).filter(isFilledByHand);
  await allDone(filled.map(({ metadata }) => emptyWithUndo(work, refOf('EndpointSlice', metadata))));
}

async function emptyWithUndo(work: Work, ref: ObjectRef): Promise<void> {
  const { api, sessionId, emit } = work;
  await inRounds(work, ref, async () => {
    const slice = await api.get<EndpointSlice>(ref);
    if (slice === undefined || !isFilledByHand(slice)) return;
    await api.replace(ref, emptied(slice, sessionId)).catch(conflictIfGone);
    emit({ type: 'change', action: 'update', object: ref, detail: RESTORED_LATER });
  });
}

function isFilledByHand(slice: EndpointSlice): boolean {
  return ![MIRRORING, SLICE_MANAGER].includes(managerOf(slice)) && (slice.endpoints ?? []).length > 0;
}

/**
 * A slice of the EndpointSlice controller is kept, without endpoints. The controller remembers every slice that it has created, and if one
 * of them is deleted while it is not watching, it waits for that slice forever, and never writes one for this Service again.
 */
async function emptySlice({ api, emit }: Work, slice: EndpointSlice): Promise<void> {
  const object = refOf('EndpointSlice', slice.metadata);
  if (managerOf(slice) === MIRRORING) {
    if (await api.remove(object, slice.metadata.uid))
      emit({ type: 'change', action: 'delete', object, detail: '' });
    return;
  }
  if (await rewrite(api, { ...slice, endpoints: [] }))
    emit({ type: 'change', action: 'update', object, detail: REFILLED_LATER });
}

/** The slices of Kubernetes' controllers that still send calls to Pods. */
export async function filledSlices(api: ClusterApi, service: NamedService): Promise<EndpointSlice[]> {
  return (await slicesOf(api, service)).filter(hasControllerEndpoints);
}

/** Whether Kubernetes' own controllers wrote this slice, and it would send calls to Pods of theirs. A mirrored slice has to go in any case. */
export function hasControllerEndpoints(slice: EndpointSlice): boolean {
  if (managerOf(slice) === MIRRORING) return true;
  return isControllerSlice(slice) && (slice.endpoints ?? []).length > 0;
}

/** Whether the Service is still as the session left it after pointing it to an address. */
export function isWithoutSelector(service: Service | undefined, { sessionId }: Work): boolean {
  return service !== undefined && sessionOf(service) === sessionId && same(service.spec.selector, undefined);
}

/** For display. */
export const RESTORED_LATER = 'without endpoints; devloop restores them later';
export const REFILLED_LATER = 'without endpoints; Kubernetes adds them again later';

/** Something writes endpoints although the Service has no selector, for longer than a controller needs to see that. */
export function refilled(service: Service, slices: EndpointSlice[]): DevloopError {
  const names = slices.map(({ metadata }) => metadata.name).join(', ');
  const ref = describe(refOf('Service', service.metadata));
  const message = `Something keeps writing endpoints for ${ref} to EndpointSlices: ${names}.`;
  const shown = `${slicesCommand(service.metadata)} -o yaml --show-managed-fields`;
  return new DevloopError('change.conflict', message, { hint: `To see what writes them: ${shown}` });
}

interface NamedService {
  metadata: { namespace?: string; name: string };
}

export async function slicesOf(api: ClusterApi, { metadata }: NamedService): Promise<EndpointSlice[]> {
  const labelSelector = sliceLabel(metadata.name);
  return await api.list<EndpointSlice>('EndpointSlice', metadata.namespace, { query: { labelSelector } });
}

/** The label selector of a Service's slices. */
export function sliceLabel(service: string): string {
  return `${SERVICE_NAME}=${service}`;
}

/** The command that lists a Service's slices. */
export function slicesCommand({ namespace, name }: { namespace?: string; name: string }): string {
  return `kubectl -n ${shellWord(namespace)} get endpointslices -l ${shellWord(sliceLabel(name))}`;
}

/** Names the slices of Kubernetes' controllers for a Service together, for display. */
export function controllerSlices({ metadata }: Service): ObjectRef {
  return { ...refOf('Service', metadata), kind: 'EndpointSlice', name: `${metadata.name}-*` };
}

/** Whether Kubernetes' own controllers write this slice; they fill it once the Service has its selector again. */
export function isControllerSlice(slice: EndpointSlice): boolean {
  return CONTROLLERS.has(managerOf(slice));
}

function managerOf({ metadata }: EndpointSlice): string {
  return metadata.labels?.[MANAGED_BY] ?? '';
}

export function isReadySlice(slice: EndpointSlice): boolean {
  return (slice.endpoints ?? []).some(
    (endpoint) => endpoint.conditions?.ready !== false && endpoint.addresses.length > 0,
  );
}
