import { allDone } from '../../async.ts';
import { type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { createMarked } from '../../cluster/marks/change.ts';
import { probeServiceName, SESSION_LABEL, sliceRef } from '../../cluster/names.ts';
import type { Destination } from '../../cluster/takeover/endpoints.ts';
import { moveEndpoints, writeEndpoints } from '../../cluster/takeover/service.ts';
import type { Work } from '../../cluster/work.ts';
import type { RouteTarget } from '../../route/route.ts';

/** Led to Pods by a selector, as the user's Service will be; to an address by endpoints of ours. */
export function probeService(
  sessionId: string,
  { metadata: { namespace }, spec }: Service,
  target: RouteTarget,
  port: number,
): Service {
  const { ipFamilies, ipFamilyPolicy } = spec;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: probeServiceName(ipFamilies ?? [], sessionId),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [SESSION_LABEL]: sessionId },
    },
    spec: {
      ports: [{ port: 443, targetPort: port, protocol: 'TCP' }],
      ...('pods' in target ? { selector: target.pods } : {}),
      ...(ipFamilies === undefined ? {} : { ipFamilies }),
      ...(ipFamilyPolicy === undefined ? {} : { ipFamilyPolicy }),
    },
  };
}

/** Makes the Service and leads it here, and then again where a tunnel has come back with another port. */
export function createLeading(
  work: Work,
  service: Service,
  target: RouteTarget,
  port: () => number,
): { lead(): Promise<void>; follow(): Promise<void> } {
  const silent: Work = { ...work, emit: () => {} };
  const to = (address: string) => (): Destination => ({ address, ports: [{ name: '', port: port() }] });
  let led = port();
  return {
    async lead() {
      const created = await createMarked<Service>(silent, refOf('Service', service.metadata), service);
      if ('address' in target) await writeEndpoints(silent, created, to(target.address));
    },
    async follow() {
      const now = port();
      if (now === led || !('address' in target)) return;
      await moveEndpoints(silent, service, to(target.address));
      led = now;
    },
  };
}

/** What leads to Pods is Kubernetes' own, which goes with the Service and may not be ours to delete. */
export async function removeProbeService(
  { api, sessionId }: Work,
  ref: ObjectRef,
  target: RouteTarget,
): Promise<void> {
  const endpoints: ObjectRef[] =
    'pods' in target ? [] : [sliceRef(ref, sessionId), { ...ref, kind: 'Endpoints' }];
  await allDone([ref, ...endpoints].map((one) => api.remove(one)));
}
