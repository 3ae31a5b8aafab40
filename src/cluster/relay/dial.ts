import type { Duplex } from 'node:stream';
import type { ClusterApi } from '../api/client.ts';
import { collectionPath } from '../api/kinds.ts';
import { portForward } from '../api/port-forward.ts';

/** The API server itself keeps trying for half a minute if it cannot reach the Pod on that port: too long to wait. */
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

type Way = 'proxy' | 'port-forward';

/** Connects to the relay program of a Pod. */
export interface RelayDialer {
  /** One new connection. Rejects with the error of the port-forward. */
  dial(target: DialTarget, signal: AbortSignal): Promise<Duplex>;
  /** Both ends have proved who they are over the last connection. */
  onProved(): void;
}

/**
 * Dials through the API server's own proxy, which is faster, or through a port-forward if the proxy is forbidden or does not reach the Pod:
 * a port-forward needs no network between the API server and the Pod, and no stranger in that network is in its way. The way that was
 * proved last is used again; until one is, the ways take turns.
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
