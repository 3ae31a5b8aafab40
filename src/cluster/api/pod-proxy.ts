import type { Duplex } from 'node:stream';
import type { ClusterApi } from './client.ts';
import { collectionPath } from './kinds.ts';
import type { ForwardTarget } from './port-forward.ts';

/** Where the API server cannot reach the Pod on that port, it would try for half a minute. */
const LIMIT_MS = 3_000;

/**
 * One connection to a port of a Pod, which the API server makes itself and switches to our protocol: kubelet and container runtime
 * are not on the way, and nothing is put into frames. It takes the verb get on pods/proxy, and a Pod that the API server reaches.
 */
export async function podProxy(
  api: ClusterApi,
  { namespace, pod, port }: ForwardTarget,
  protocol: string,
  signal: AbortSignal,
): Promise<Duplex> {
  const path = `${collectionPath('Pod', namespace)}/${pod}:${port}/proxy/`;
  return await api.tunnel(path, protocol, AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]));
}
