import type { EndpointSlice } from '../../src/cluster/api/objects.ts';
import { familyOf } from '../../src/cluster/takeover/endpoints.ts';

/** A slice as Kubernetes' controller writes it for a Service in the namespace `shop`. */
export function controllerSlice(service: string, addresses: string[], name = `${service}-x`): EndpointSlice {
  const labels = {
    'kubernetes.io/service-name': service,
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
  return {
    metadata: { name, namespace: 'shop', labels },
    addressType: familyOf(addresses[0] ?? ''),
    endpoints: addresses.map((address) => ({ addresses: [address] })),
  };
}
