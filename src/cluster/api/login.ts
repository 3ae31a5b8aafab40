import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { messageOf } from '../../errors.ts';
import {
  type Connections,
  closeAll,
  closeIdle,
  openConnections,
  retire,
  sparingIdle,
} from './connections.ts';
import type { PluginHost } from './credential-plugin.ts';
import { type Credential, createCredentials } from './credentials.ts';
import { connectionError } from './errors.ts';
import { notUsable, type SelectedContext } from './kubeconfig.ts';

export const USER_AGENT = 'devloop';
/**
 * kube-apiserver, proxies and NAT keep idle connections open for longer than this. After this machine has slept, its connections may be
 * dead without notice.
 */
const IDLE_LIMIT_MS = 30_000;
/** A controller calls more often, unless this machine was asleep. */
export const FORWARDED_IDLE_MS = 15_000;

/** The current credentials, and the pools of connections that are made with them. */
export interface Login {
  readonly auth: Credential;
  /** The pool for calls. */
  readonly agent: Agent;
  /** The connections for requests of others. */
  readonly forwarded: Agent;
  /** The options for a connection outside the pools. */
  ownConnection(): RequestOptions;
  /**
   * Tries again with renewed credentials if the current ones are rejected. Rejects with `cluster.unauthorized` if that fails, too. Calls
   * that are rejected at the same time share one renewal.
   */
  retriedWith<T>(attempt: () => Promise<T>, isRejected: (answer: T) => boolean): Promise<T>;
  /** The user asks for another login. */
  retryNow(): void;
  /**
   * Called before each call: closes the pool's idle connections if the last call was long ago. The time that this machine was asleep
   * counts, too.
   */
  dropStaleConnections(): void;
  dropIdleConnections(): void;
  close(): void;
}

export async function createLogin(selected: SelectedContext, host: PluginHost = {}): Promise<Login> {
  const credentials = await createCredentials(selected, host);
  let connected = { auth: credentials.current, connections: begin(selected, credentials.current) };
  /** Connections of an earlier client certificate finish what they do, and end. */
  const connections = (): Connections => {
    const auth = credentials.current;
    if (auth === connected.auth) return connected.connections;
    const isSame = auth.cert === connected.auth.cert && auth.key === connected.auth.key;
    const old = connected.connections;
    connected = { auth, connections: isSame ? old : opened(selected, auth) };
    if (!isSame) retire(old);
    return connected.connections;
  };
  const fresh = sparingIdle(FORWARDED_IDLE_MS);
  let lastCallAt = Date.now();
  const dropIdleConnections = (): void => closeIdle(connections().calls);
  return {
    get auth() {
      return credentials.current;
    },
    get agent() {
      return connections().calls;
    },
    get forwarded() {
      return fresh(connections().forwarded);
    },
    ownConnection: () => ({
      agent: connections().single,
      headers: { ...credentials.current.headers, 'user-agent': USER_AGENT },
    }),
    async retriedWith(attempt, isRejected) {
      if (credentials.hasExpired()) await credentials.renew(credentials.current);
      const used = credentials.current;
      const first = await attempt();
      if (!isRejected(first)) {
        credentials.accepted();
        return first;
      }
      await credentials.renew(used);
      const second = await attempt();
      if (isRejected(second)) throw credentials.rejection();
      credentials.accepted();
      return second;
    },
    retryNow: () => credentials.retryNow(),
    dropStaleConnections() {
      const now = Date.now();
      if (Math.abs(now - lastCallAt) > IDLE_LIMIT_MS) dropIdleConnections();
      lastCallAt = now;
    },
    dropIdleConnections,
    close: () => closeAll(connected.connections),
  };
}

/** A failure at the start means that the kubeconfig is wrong. A later failure may only mean that the kubeconfig is being rewritten. */
function begin(selected: SelectedContext, auth: Credential): Connections {
  try {
    return openConnections(selected, auth);
  } catch (error) {
    const cause = messageOf((error as Error).cause ?? error);
    throw notUsable(
      selected.context,
      `its client certificate, its key, its CA or its proxy cannot be used (${cause})`,
    );
  }
}

/** A failure is not one of the kubeconfig, because that may just be written. */
function opened(selected: SelectedContext, auth: Credential): Connections {
  try {
    return openConnections(selected, auth);
  } catch (error) {
    throw connectionError(selected, error);
  }
}
