/** The objects that lead a Service to an address of ours. Pure: see docs/architecture.md for why all of them are needed. */

import { refOf } from '../api/kinds.ts';
import type { EndpointSlice, Endpoints, Service } from '../api/objects.ts';
import { MANAGED_BY, SESSION_LABEL, SKIP_MIRROR, SLICE_MANAGER, sliceRef } from '../names.ts';

/** Where reviews for one Service shall go: this address, and a gateway's port for each Service port (by the port's name). */
export interface Destination {
  address: string;
  ports: { name: string; port: number }[];
}

export const SERVICE_NAME = 'kubernetes.io/service-name';
const CONTROLLERS = new Set(['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']);

export function familyOf(address: string): 'IPv4' | 'IPv6' {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

/** API servers up to 1.33 with endpoint routing read Endpoints; newer ones and kube-proxy read slices. So both are written. */
export function ourSlice(service: Service, sessionId: string, to: Destination): EndpointSlice {
  const { namespace, name } = service.metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceRef(refOf('Service', service.metadata), sessionId).name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [SERVICE_NAME]: name, [MANAGED_BY]: SLICE_MANAGER, [SESSION_LABEL]: sessionId },
    },
    addressType: familyOf(to.address),
    endpoints: [{ addresses: [to.address], conditions: { ready: true } }],
    ports: to.ports.map(({ name: portName, port }) => ({ name: portName, port, protocol: 'TCP' })),
  };
}

/** skip-mirror keeps the mirroring controller from making a second slice out of this object. */
export function ourEndpoints(
  service: Service,
  sessionId: string,
  to: Destination,
  existing: Endpoints | undefined,
): Endpoints {
  const { namespace, name } = service.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...(existing?.metadata ?? { name, ...(namespace === undefined ? {} : { namespace }) }),
      labels: { ...existing?.metadata.labels, [SKIP_MIRROR]: 'true', [SESSION_LABEL]: sessionId },
    },
    subsets: [
      {
        addresses: [{ ip: to.address }],
        ports: to.ports.map(({ name: portName, port }) => ({
          ...(portName === '' ? {} : { name: portName }),
          port,
          protocol: 'TCP',
        })),
      },
    ],
  };
}

/** Slices that Kubernetes' own controllers made and will make again when the selector is back. */
export function isControllerSlice(slice: EndpointSlice): boolean {
  return CONTROLLERS.has(slice.metadata.labels?.[MANAGED_BY] ?? '');
}

export function isReadySlice(slice: EndpointSlice): boolean {
  return (slice.endpoints ?? []).some(
    (endpoint) => endpoint.conditions?.ready !== false && endpoint.addresses.length > 0,
  );
}
