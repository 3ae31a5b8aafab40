import type { Duplex } from 'node:stream';
import type { ClusterApi } from '../api/client.ts';
import { collectionPath } from '../api/kinds.ts';
import { portForward } from '../api/port-forward.ts';

/** If the API server cannot reach the Pod, it keeps trying for half a minute, which is too long to wait. */
const PROXY_LIMIT_MS = 3_000;

/** The current relay Pod, and where its program listens. */
export interface DialTarget {
  namespace: string;
  pod: string;
  /** The program's port on 127.0.0.1, for a port-forward. */
  controlPort: number;
  /** The program's port on the Pod's address, for the API server's proxy. */
  proxyPort: number;
  /** The protocol to which a connection through the proxy switches. */
  protocol: string;
}

type Way = 'proxy' | 'port-forward';

/** Connects to the relay program of a Pod. */
export interface RelayDialer {
  /** Opens a new connection. Rejects with the error of the port-forward. */
  dial(target: DialTarget, signal: AbortSignal): Promise<Duplex>;
  /** Called when both ends have proved their identity over the last connection. */
  onProved(): void;
}

/**
 * Dials through the API server's proxy, which is faster, or through a port-forward if the proxy is forbidden or cannot reach the Pod. A
 * port-forward does not use the network between the API server and the Pod, so nobody in that network can disturb it. The way over which
 * both ends last proved their identity is used again; until then, the two ways alternate.
 */
export function relayDialer(api: ClusterApi): RelayDialer {
  let last: Way = 'port-forward';
  let next: Way = 'proxy';
  const take = (way: Way): void => {
    last = way;
    next = way === 'proxy' ? 'port-forward' : 'proxy';
  };
  return {
    async dial(target, signal) {
      if (next === 'proxy') {
        const stream = await podProxy(api, target, signal).catch(() => undefined);
        if (stream !== undefined) {
          take('proxy');
          return stream;
        }
        signal.throwIfAborted();
      }
      take('port-forward');
      const { namespace, pod, controlPort } = target;
      return await portForward(api, { namespace, pod, port: controlPort }, signal);
    },
    onProved() {
      next = last;
    },
  };
}

/**
 * Opens a connection that the API server's proxy makes to a port of the Pod and switches to our protocol. It bypasses the kubelet and the
 * container runtime, and carries no WebSocket frames. It needs the verb get on pods/proxy.
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
