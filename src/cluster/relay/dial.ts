import type { Duplex } from 'node:stream';
import type { ClusterApi } from '../api/client.ts';
import { collectionPath } from '../api/kinds.ts';
import { portForward } from '../api/port-forward.ts';

/** If the API server cannot reach the Pod on that port, it keeps trying for half a minute. */
const PROXY_LIMIT_MS = 3_000;

/** The current relay Pod, and where its program listens. */
export interface DialTarget {
  namespace: string;
  pod: string;
  /** On 127.0.0.1, for a port-forward. */
  controlPort: number;
  /** On the Pod's address, for the API server's proxy. */
  proxyPort: number;
  /** What the connection through the proxy switches to. */
  protocol: string;
}

/**
 * Dials through the API server's own proxy, which is faster, or through a port-forward where the proxy is forbidden or does not reach
 * the Pod: a port-forward needs no network between the API server and the Pod. What worked last is tried first. Rejects with
 * the error of the port-forward.
 */
export function relayDialer(api: ClusterApi): (target: DialTarget, signal: AbortSignal) => Promise<Duplex> {
  let proxyFirst = true;
  return async (target, signal) => {
    if (proxyFirst) {
      const stream = await podProxy(api, target, signal).catch(() => undefined);
      if (stream !== undefined) return stream;
      signal.throwIfAborted();
    }
    const { namespace, pod, controlPort } = target;
    try {
      const stream = await portForward(api, { namespace, pod, port: controlPort }, signal);
      proxyFirst = false;
      return stream;
    } catch (error) {
      // Neither works now. Once the Pod is back, the proxy may work again.
      proxyFirst = true;
      throw error;
    }
  };
}

/**
 * A connection that the API server itself opens to a port of the Pod and switches to our protocol, without kubelet, container
 * runtime and frames. It needs the verb get on pods/proxy.
 */
async function podProxy(
  api: ClusterApi,
  { namespace, pod, proxyPort, protocol }: DialTarget,
  signal: AbortSignal,
): Promise<Duplex> {
  const path = `${collectionPath('Pod', namespace)}/${pod}:${proxyPort}/proxy/`;
  return await api.switchProtocol(
    path,
    protocol,
    AbortSignal.any([signal, AbortSignal.timeout(PROXY_LIMIT_MS)]),
  );
}
