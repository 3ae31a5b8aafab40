import { allDone } from '../../async.ts';
import { type ObjectRef, refOf } from '../api/kinds.ts';
import type { Service } from '../api/objects.ts';
import { type Permission, permissionsOn } from '../api/permissions.ts';
import { createMarked } from '../marks/change.ts';
import { ANY_SESSION, probeServiceName, SESSION_LABEL, sliceRef } from '../names.ts';
import type { PlannedChange, Step } from '../step.ts';
import type { Work } from '../work.ts';
import { type Destination, moveEndpoints, tryEndpoints, writeEndpoints } from './endpoints.ts';

export const PROBE_SERVICE_PORT = 443;

/**
 * What a temporary Service points to. An `externalName` is an IPv4 address that kube-apiserver calls directly, at the port of the webhook.
 * This works at once, whereas kube-proxy takes a second to apply an `address`. API servers with endpoint routing refuse an `externalName`.
 */
export type ServiceTarget = { address: string } | { externalName: string } | { pods: Record<string, string> };

/** A temporary Service. Disposing deletes it. */
export interface ProbeService extends AsyncDisposable {
  /** Points the Service to the current port, if the port has changed. */
  follow(): Promise<void>;
}

/**
 * A temporary Service with the IP families of a user's Service, to verify a route before any object of the user is changed. It points to
 * Pods by its selector, as the user's Service will, and to an address by an external name or by devloop's own endpoints.
 */
export function createProbeService(
  like: Service,
): Step<(work: Work, target: ServiceTarget, port: () => number) => Promise<ProbeService>> {
  const object = probeServiceRef(like, ANY_SESSION);
  const change: PlannedChange = { action: 'create', object, detail: 'to verify the route', temporary: true };
  return {
    changes: [change],
    permissions: probeServicePermissions(like.metadata.namespace!),
    async apply(work, target, port) {
      const service = await createAndFollow({ ...work, emit: () => {} }, like, target, port);
      work.emit({ type: 'change', ...change, object: probeServiceRef(like, work.sessionId) });
      return service;
    },
  };
}

function probeServicePermissions(namespace: string): Permission[] {
  const why = 'verify the route with a temporary Service';
  return permissionsOn('Service', 'get list create delete', { namespace, why });
}

export function probeServiceRef({ metadata, spec }: Service, sessionId: string): ObjectRef {
  const name = probeServiceName(spec.ipFamilies ?? [], sessionId);
  return refOf('Service', { ...metadata, name });
}

async function createAndFollow(
  work: Work,
  like: Service,
  target: ServiceTarget,
  port: () => number,
): Promise<ProbeService> {
  const destination = (address: string) => (): Destination => ({
    address,
    ports: [{ name: '', port: port() }],
  });
  const ref = probeServiceRef(like, work.sessionId);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => remove(work, ref, target));
  let writtenPort = port();
  const wanted = manifest(ref, like, target, { port: writtenPort, sessionId: work.sessionId });
  const creating = createMarked(work, ref, wanted);
  // The dry run does not need the Service, so it runs while the Service is being created.
  const trying = 'externalName' in target && tryEndpoints(work, wanted, destination(target.externalName)());
  await allDone<unknown>([creating, Promise.resolve(trying)]);
  const service = await creating;
  if ('address' in target) await writeEndpoints(work, service, destination(target.address));
  const owned = stack.move();
  return {
    async follow() {
      const now = port();
      if (now === writtenPort || !('address' in target)) return;
      await moveEndpoints(work, service, destination(target.address));
      writtenPort = now;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function manifest(
  ref: ObjectRef,
  { spec }: Service,
  target: ServiceTarget,
  { port, sessionId }: { port: number; sessionId: string },
): Service {
  const { name, namespace } = ref;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [SESSION_LABEL]: sessionId },
    },
    spec:
      'externalName' in target
        ? { type: 'ExternalName', externalName: target.externalName, ports: [{ port, protocol: 'TCP' }] }
        : {
            ports: [{ port: PROBE_SERVICE_PORT, targetPort: port, protocol: 'TCP' }],
            ...('pods' in target ? { selector: target.pods } : {}),
            ...familiesOf(spec),
          },
  };
}

function familiesOf({ ipFamilies, ipFamilyPolicy }: Service['spec']): Partial<Service['spec']> {
  return {
    ...(ipFamilies === undefined ? {} : { ipFamilies }),
    ...(ipFamilyPolicy === undefined ? {} : { ipFamilyPolicy }),
  };
}

/** Leaves endpoints that Kubernetes wrote: they are deleted with the Service, and the account is not always allowed to delete them. */
async function remove({ api, sessionId }: Work, ref: ObjectRef, target: ServiceTarget): Promise<void> {
  const endpoints: ObjectRef[] =
    'address' in target ? [sliceRef(ref, sessionId), { ...ref, kind: 'Endpoints' }] : [];
  await allDone([ref, ...endpoints].map((one) => api.remove(one)));
}
