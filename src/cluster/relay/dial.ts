import type { Duplex } from 'node:stream';
import type { ClusterApi } from '../api/client.ts';
import { podProxy } from '../api/pod-proxy.ts';
import { portForward } from '../api/port-forward.ts';

/** The relay Pod of the moment, and where its program listens. */
export interface DialTarget {
  namespace: string;
  pod: string;
  /** On 127.0.0.1, for a port-forward. */
  controlPort: number;
  /** On the Pod's address, for the API server. */
  proxyPort: number;
  /** What that switches to. */
  protocol: string;
}

/**
 * Dials by the API server's own proxy, which is the short way; where that is not allowed or does not get through, by a
 * port-forward, which needs no network between the API server and the Pod. The way that worked last is tried first. Rejects with
 * the cause of the port-forward.
 */
export function relayDialer(api: ClusterApi): (target: DialTarget, signal: AbortSignal) => Promise<Duplex> {
  let proxyFirst = true;
  return async ({ namespace, pod, controlPort, proxyPort, protocol }, signal) => {
    if (proxyFirst) {
      const proxied = podProxy(api, { namespace, pod, port: proxyPort }, protocol, signal);
      const stream = await proxied.catch(() => undefined);
      if (stream !== undefined) return stream;
      signal.throwIfAborted();
    }
    try {
      const stream = await portForward(api, { namespace, pod, port: controlPort }, signal);
      proxyFirst = false;
      return stream;
    } catch (error) {
      // Neither works now: when the Pod is back, the short way has another chance.
      proxyFirst = true;
      throw error;
    }
  };
}
