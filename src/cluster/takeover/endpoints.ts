/** The endpoints that point a Service to an address: see docs/architecture.md for why both an EndpointSlice and Endpoints are needed. */
import { isDeepStrictEqual } from 'node:util';
import { allDone } from '../../async.ts';
import { conflictIfGone } from '../api/errors.ts';
import { type ObjectRef, refOf } from '../api/kinds.ts';
import type { EndpointSlice, Endpoints, KubeObject, Service } from '../api/objects.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { firstKnown, inRounds } from '../marks/change.ts';
import { same, sessionOf } from '../marks/marks.ts';
import { isSelectorless } from '../marks/selector.ts';
import { MANAGED_BY, SESSION_LABEL, SKIP_MIRROR, SLICE_MANAGER, sliceRef } from '../names.ts';
import type { Work } from '../work.ts';
import { HAND_MADE_ENDPOINTS, withUndo } from './hand-made.ts';

/** Where the reviews for one Service go: an address, and a port there for each Service port (by the port's name). */
export interface Destination {
  address: string;
  /** More addresses of the same family and with the same ports. */
  others?: string[];
  ports: { name: string; port: number }[];
}

export const SERVICE_NAME = 'kubernetes.io/service-name';

export function familyOf(address: string): 'IPv4' | 'IPv6' {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

function addressesOf({ address, others = [] }: Destination): string[] {
  return [address, ...others];
}

/** An object that points a Service to an address. */
export interface Pointer {
  ref: ObjectRef;
  /**
   * The object as it has to be. What devloop does not set is taken from `now`, the existing object; `now` is undefined if there is none.
   */
  wanted(now: KubeObject | undefined): KubeObject;
}

/** The session's EndpointSlice and Endpoints of a Service; they point to the destination that `to` currently returns. */
export function pointersOf(service: Service, sessionId: string, to: () => Destination): Pointer[] {
  const ref = refOf('Service', service.metadata);
  return [
    { ref: sliceRef(ref, sessionId), wanted: (now) => wantedSlice(service, sessionId, to(), now) },
    {
      ref: { ...ref, kind: 'Endpoints' },
      wanted: (now) => ourEndpoints(service, sessionId, to(), now as Endpoints | undefined),
    },
  ];
}

export function endpointPermissions(namespace: string): Permission[] {
  const rest = { namespace, why: 'point the webhook Service to this machine' };
  const verbs = 'get list create update delete';
  return [...permissionsOn('Endpoints', verbs, rest), ...permissionsOn('EndpointSlice', verbs, rest)];
}

/**
 * Writes the session's EndpointSlice and Endpoints of a Service without a selector. `to` is called before and after each write, and the
 * results are compared, since an SSH tunnel may reconnect with other ports at any moment.
 */
export async function writeEndpoints(work: Work, service: Service, to: () => Destination): Promise<void> {
  const [slice, endpoints] = pointersOf(service, work.sessionId, to);
  // The slice is named after the session, so it already exists only if this step is repeated.
  await allDone([writeOne(work, slice!, to, { isNew: true }), writeOne(work, endpoints!, to)]);
}

/** Like `writeEndpoints`, but creates nothing, and leaves alone what belongs to somebody else. */
export async function moveEndpoints(work: Work, service: Service, to: () => Destination): Promise<void> {
  const mayWrite = (now?: KubeObject): boolean => now !== undefined && sessionOf(now) === work.sessionId;
  const pointers = pointersOf(service, work.sessionId, to);
  await allDone(pointers.map((pointer) => writeOne(work, pointer, to, { mayWrite })));
}

/** Checks in a dry run whether the cluster accepts such endpoints: some providers refuse addresses that no Pod has. */
export async function tryEndpoints(work: Work, service: Service, to: Destination): Promise<void> {
  const pointers = pointersOf(service, work.sessionId, () => to);
  await allDone(
    pointers.map(({ ref, wanted }) =>
      inRounds(work, ref, () => work.api.create(ref, wanted(undefined), { query: { dryRun: 'All' } })),
    ),
  );
}

/** Writes only the session's Endpoints, with the label that keeps the mirroring controller from copying them to an EndpointSlice. */
export async function writeOldEndpoints(work: Work, service: Service, to: () => Destination): Promise<void> {
  const [, endpoints] = pointersOf(service, work.sessionId, to);
  await writeOne(work, endpoints!, to);
}

/** Writes only the session's EndpointSlice, beside the slices that Kubernetes writes for a Service with a selector. */
async function writeSlice(work: Work, service: Service, to: () => Destination): Promise<void> {
  const [slice] = pointersOf(service, work.sessionId, to);
  await writeOne(work, slice!, to);
}

/** Points a Service that the session has already changed somewhere else. Kubernetes itself writes the Endpoints if it has a selector. */
export async function pointAgain(work: Work, service: Service, to: () => Destination): Promise<void> {
  const ref = sliceRef(refOf('Service', service.metadata), work.sessionId);
  const slice = await work.api.get<EndpointSlice>(ref);
  // The address type of a slice cannot change.
  if (slice !== undefined && slice.addressType !== familyOf(to().address))
    await work.api.remove(ref, slice.metadata.uid);
  const write = same(service.spec.selector, undefined) ? writeEndpoints : writeSlice;
  await write(work, service, to);
}

interface WriteOptions {
  mayWrite?(now: KubeObject | undefined): boolean;
  /** Whether the object probably does not exist. If so, it is created without being read first, and read only if it exists after all. */
  isNew?: boolean;
}

async function writeOne(
  work: Work,
  { ref, wanted }: Pointer,
  to: () => Destination,
  { mayWrite = () => true, isNew = false }: WriteOptions = {},
): Promise<void> {
  const read = firstKnown(isNew && { object: undefined }, () => work.api.get<KubeObject>(ref));
  await inRounds(work, ref, async () => {
    for (let at: Destination | undefined; !isDeepStrictEqual(at, to()); ) {
      const now = await read();
      if (!mayWrite(now)) return;
      at = to();
      const next = wanted(now);
      if (isDeepStrictEqual(next, now)) continue;
      await put(work.api, ref, next, now);
      const detail = `to ${addressesOf(at).join(', ')}:${at.ports.map(({ port }) => port).join(', ')}`;
      work.emit({ type: 'change', action: now ? 'update' : 'create', object: ref, detail });
    }
  });
}

async function put(
  api: Work['api'],
  ref: ObjectRef,
  next: KubeObject,
  now: KubeObject | undefined,
): Promise<void> {
  if (now === undefined) await api.create(ref, next);
  else await api.replace(ref, next).catch(conflictIfGone);
}

/** kube-proxy and newer API servers read EndpointSlices; API servers up to 1.33 with endpoint routing read Endpoints. */
export function ourSlice(service: Service, sessionId: string, to: Destination): EndpointSlice {
  const ref = refOf('Service', service.metadata);
  const { name, namespace } = sliceRef(ref, sessionId);
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [SERVICE_NAME]: ref.name, [MANAGED_BY]: SLICE_MANAGER, [SESSION_LABEL]: sessionId },
    },
    addressType: familyOf(to.address),
    endpoints: addressesOf(to).map((one) => ({ addresses: [one], conditions: { ready: true } })),
    ports: to.ports.map(({ name: portName, port }) => ({ name: portName, port, protocol: 'TCP' })),
  };
}

function wantedSlice(
  service: Service,
  sessionId: string,
  to: Destination,
  now: KubeObject | undefined,
): KubeObject {
  const slice = ourSlice(service, sessionId, to);
  if (now === undefined) return slice;
  const labels = { ...now.metadata.labels, ...slice.metadata.labels };
  const { endpoints, ports = [] } = slice;
  return { ...now, metadata: { ...now.metadata, labels }, endpoints, ports } as EndpointSlice;
}

export function ourEndpoints(
  service: Service,
  sessionId: string,
  to: Destination,
  existing: Endpoints | undefined,
): Endpoints {
  const { namespace, name } = service.metadata;
  const next: Endpoints = {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...(existing?.metadata ?? { name, ...(namespace === undefined ? {} : { namespace }) }),
      labels: { ...existing?.metadata.labels, [SKIP_MIRROR]: 'true', [SESSION_LABEL]: sessionId },
    },
    subsets: [
      {
        addresses: addressesOf(to).map((ip) => ({ ip })),
        ports: to.ports.map(({ name: portName, port }) => ({
          ...(portName === '' ? {} : { name: portName }),
          port,
          protocol: 'TCP',
        })),
      },
    ],
  };
  return existing && isSelectorless(service) ? withUndo(existing, next, HAND_MADE_ENDPOINTS) : next;
}
