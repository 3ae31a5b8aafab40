import { allDone } from '../../async.ts';
import type { ClusterApi } from '../../cluster/api/client.ts';
import { type ObjectRef, refOf } from '../../cluster/api/kinds.ts';
import type { Service } from '../../cluster/api/objects.ts';
import { createMarked } from '../../cluster/marks/change.ts';
import { SESSION_LABEL } from '../../cluster/marks/marks.ts';
import type { Destination } from '../../cluster/takeover/endpoints.ts';
import { moveEndpoints, ourSliceRef, writeEndpoints } from '../../cluster/takeover/service.ts';
import type { Emit } from '../../report/events.ts';
import type { RouteTarget } from '../../route/route.ts';

/** Led to Pods by a selector, as the user's Service will be; to an address by endpoints of ours. */
export function probeService(
  session: string,
  { metadata: { namespace }, spec }: Service,
  target: RouteTarget,
  port: number,
): Service {
  const { ipFamilies, ipFamilyPolicy } = spec;
  // Named by its families, so that what Kubernetes takes away after one is not the next one's.
  const name = ['devloop-probe', ...(ipFamilies ?? []), session].join('-').toLowerCase();
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [SESSION_LABEL]: session },
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
  api: ClusterApi,
  session: string,
  service: Service,
  target: RouteTarget,
  port: () => number,
): { lead(): Promise<void>; follow(): Promise<void> } {
  const silent: Emit = () => {};
  const to = (address: string) => (): Destination => ({ address, ports: [{ name: '', port: port() }] });
  let led = port();
  return {
    async lead() {
      const created = await createMarked<Service>(api, refOf('Service', service.metadata), service, silent);
      if ('address' in target) await writeEndpoints(api, session, created, to(target.address), silent);
    },
    async follow() {
      const now = port();
      if (now === led || !('address' in target)) return;
      await moveEndpoints(api, session, service, to(target.address), silent);
      led = now;
    },
  };
}

/** What leads to Pods is Kubernetes' own, which goes with the Service and may not be ours to delete. */
export async function removeProbeService(
  api: ClusterApi,
  session: string,
  ref: ObjectRef,
  target: RouteTarget,
): Promise<void> {
  const endpoints: ObjectRef[] =
    'pods' in target ? [] : [ourSliceRef(ref, session), { ...ref, kind: 'Endpoints' }];
  await allDone([ref, ...endpoints].map((one) => api.remove(one)));
}
