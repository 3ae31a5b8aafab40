import { allDone } from '../../async.ts';
import { undefinedIfForbidden } from '../../cluster/api/errors.ts';
import type { ObjectRef } from '../../cluster/api/kinds.ts';
import type { EndpointSlice, Service } from '../../cluster/api/objects.ts';
import { isReadyPod, type Pod, type Workload } from '../../cluster/api/workloads.ts';
import { same, sessionOf } from '../../cluster/marks/marks.ts';
import { isSelectorless } from '../../cluster/marks/selector.ts';
import { SESSION_LABEL } from '../../cluster/names.ts';
import { type Destination, familyOf, pointAgain, SERVICE_NAME } from '../../cluster/takeover/endpoints.ts';
import type { MarkedObject } from '../../cluster/takeover/find-marked.ts';
import { podsOf } from '../../cluster/takeover/pause/pods.ts';
import { pauseOf } from '../../cluster/takeover/pause/strategies.ts';
import { isChanged, type RestoreResult } from '../../cluster/takeover/restore-steps.ts';
import type { Work } from '../../cluster/work.ts';
import { selectedPods } from '../../operator/manager.ts';
import { targetPortOf } from '../../operator/workload.ts';
import { notice } from '../../report/notices/catalogue.ts';
import { describe } from '../../report/object-name.ts';

/**
 * The Services that still are as the session left them after the attempt to restore them: the API server refused it, or their undo is not
 * valid. Only devloop's own endpoints point them anywhere.
 */
export function notRestored(
  marked: MarkedObject[],
  restored: RestoreResult[],
  sessionId: string,
): ObjectRef[] {
  const done = restored.filter(({ kept }) => !kept.some((one) => 'fault' in one));
  const names = new Set(done.map(({ ref }) => describe(ref)));
  const services = marked.filter(({ ref }) => ref.kind === 'Service' && isChanged(ref, sessionId));
  // The endpoints of a Service that has no selector of its own are restored without it.
  const pointed = services.filter(({ object }) => !isSelectorless(object as Service));
  return pointed.map(({ ref }) => ref).filter((ref) => !names.has(describe(ref)));
}

/** Whether an object of devloop points one of these Services somewhere. */
export function pointsOneOf(services: ObjectRef[], { ref, object }: MarkedObject): boolean {
  const name = ref.kind === 'EndpointSlice' ? object.metadata.labels?.[SERVICE_NAME] : ref.name;
  if (ref.kind !== 'EndpointSlice' && ref.kind !== 'Endpoints') return false;
  return services.some((service) => service.namespace === ref.namespace && service.name === name);
}

/**
 * Points such Services to the manager's ready Pods, so that reviews are answered when this machine no longer does. The endpoints keep the
 * session's label, so the next `devloop down` restores these Services, too. Without a ready Pod, nothing changes.
 */
export async function handOver(work: Work, services: ObjectRef[], taken: ObjectRef[]): Promise<void> {
  await allDone(services.map((ref) => handOverOne(work, ref, taken)));
}

async function handOverOne(work: Work, ref: ObjectRef, taken: ObjectRef[]): Promise<void> {
  const service = await work.api.get<Service>(ref);
  if (service === undefined) return;
  const pods = await podsBehind(work, service, taken).catch(undefinedIfForbidden);
  const to = destinationOf(service, pods ?? []);
  if (to === undefined) return work.emit(notice('restore.not-handed-over', { service: ref }));
  await pointAgain(work, service, () => to);
  work.emit(notice('restore.handed-over', { service: ref }));
}

/** Whether the session's own slice of a Service points to ready Pods, which answer its reviews. */
export async function isHandedOver(work: Work, service: Service, slices: EndpointSlice[]): Promise<boolean> {
  const own = slices.filter((slice) => sessionOf(slice) === work.sessionId);
  const addresses = own.flatMap(({ endpoints }) => (endpoints ?? []).flatMap((one) => one.addresses));
  const pods = await podsBehind(work, service, []);
  const ready = new Set(pods.map((pod) => addressOf(service, pod)));
  return addresses.length > 0 && addresses.every((address) => ready.has(address));
}

/** The Pods that the Service selected before the session; if that is not known, those of the managers that the session took over. */
async function podsBehind({ api }: Work, service: Service, taken: ObjectRef[]): Promise<Pod[]> {
  const isUsable = (pod: Pod): boolean =>
    isReadyPod(pod) && pod.metadata.labels?.[SESSION_LABEL] === undefined;
  const selected = (await selectedPods(api, service)).filter(isUsable);
  if (selected.length > 0) return selected;
  const managers = taken.filter(
    ({ kind, namespace }) => pauseOf(kind) !== undefined && namespace === service.metadata.namespace,
  );
  const found = await allDone(
    managers.map(async (ref) => {
      const object = await api.get<Workload>(ref);
      return object === undefined ? [] : await podsOf(api, { ref, object });
    }),
  );
  return found.flat().filter(isUsable);
}

/** A slice has one list of ports, so only Pods with the same ports as the first one count. */
export function destinationOf(service: Service, pods: Pod[]): Destination | undefined {
  const all = pods.flatMap((pod) => {
    const address = addressOf(service, pod);
    return address === undefined ? [] : [{ address, ports: portsOf(service, pod) }];
  });
  const [first, ...rest] = all;
  if (first === undefined || first.ports.length === 0) return undefined;
  const alike = rest.filter(
    ({ address, ports }) => same(ports, first.ports) && familyOf(address) === familyOf(first.address),
  );
  return { ...first, others: alike.map(({ address }) => address) };
}

function addressOf({ spec }: Service, { status = {} }: Pod): string | undefined {
  const all = status.podIPs?.map(({ ip }) => ip) ?? [];
  return all.find((ip) => spec.ipFamilies?.[0] === familyOf(ip)) ?? status.podIP;
}

function portsOf({ spec }: Service, pod: Pod): Destination['ports'] {
  const template = { spec: { containers: [], ...pod.spec } };
  const workload = { metadata: pod.metadata, spec: { selector: {}, template } };
  return (spec.ports ?? []).flatMap((one) => {
    const port = targetPortOf(one, workload);
    return port === undefined ? [] : [{ name: one.name ?? '', port }];
  });
}
