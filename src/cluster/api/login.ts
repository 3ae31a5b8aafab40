import { Agent, type AgentOptions, type RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../errors.ts';
import { type AuthOptions, createCredentials } from './credentials.ts';
import { connectionError } from './errors.ts';
import { notUsable, type Selected } from './kubeconfig.ts';

export const USER_AGENT = 'devloop';
/**
 * kube-apiserver, proxies and NAT keep idle connections open for longer than this. After this machine has slept, its connections may be
 * dead without notice.
 */
const IDLE_LIMIT_MS = 30_000;
/** `down` makes up to 17 calls at once. With fewer connections than calls, some calls would wait until others are answered. */
const MOST_SOCKETS = 24;

/** The current credentials, and the pool of connections that are made with them. */
export interface Login {
  readonly auth: AuthOptions;
  /** Absent for plain HTTP. */
  readonly agent: Agent | undefined;
  /** The options for a connection outside the pool. */
  ownConnection(): RequestOptions;
  /**
   * Tries again with renewed credentials if the current ones are rejected. Rejects with `cluster.unauthorized` if that fails, too. Calls
   * that are rejected at the same time share one renewal.
   */
  retriedWith<T>(attempt: () => Promise<T>, isRejected: (answer: T) => boolean): Promise<T>;
  /**
   * Called before each call: closes the pool's idle connections if the last call was long ago. The time that this machine was asleep
   * counts, too.
   */
  dropStaleConnections(): void;
  dropIdleConnections(): void;
  close(): void;
}

export async function createLogin(selected: Selected): Promise<Login> {
  const credentials = await createCredentials(selected);
  const isProxied = !!selected.config.getCurrentCluster()?.proxyUrl;
  const connecting = createConnecting(selected, isProxied);
  assertUsable(selected, () => connecting.by(credentials.current));
  let lastCallAt = Date.now();
  const dropIdleConnections = (): void => {
    const { freeSockets = {} } = connecting.by(credentials.current).agent ?? {};
    for (const socket of Object.values(freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
  };
  return {
    get auth() {
      return credentials.current;
    },
    get agent() {
      return connecting.by(credentials.current).agent;
    },
    ownConnection: () => ({
      ...connecting.by(credentials.current).own,
      headers: { ...credentials.current.headers, 'user-agent': USER_AGENT } as Record<string, string>,
    }),
    async retriedWith(attempt, isRejected) {
      const used = credentials.current;
      const first = await attempt();
      if (!isRejected(first)) return first;
      await credentials.renew(used);
      const second = await attempt();
      if (isRejected(second)) throw credentials.rejection();
      return second;
    },
    dropStaleConnections() {
      const now = Date.now();
      if (Math.abs(now - lastCallAt) > IDLE_LIMIT_MS) dropIdleConnections();
      lastCallAt = now;
    },
    dropIdleConnections,
    close: () => connecting.close(),
  };
}

/** A failure at the start means that the kubeconfig is wrong. A later failure may only mean that the kubeconfig is being rewritten. */
function assertUsable({ context }: Selected, use: () => void): void {
  try {
    use();
  } catch (error) {
    const cause = messageOf((error as Error).cause ?? error);
    throw notUsable(context, `its client certificate, its key or its CA cannot be read (${cause})`);
  }
}

/** How to connect with one client certificate: through the pool (plain HTTP has none), or outside it. */
interface Connecting {
  agent: Agent | undefined;
  own: RequestOptions;
}

/** One pool for each client certificate. An old pool finishes its calls, and is closed together with the current one. */
function createConnecting(
  selected: Selected,
  isProxied: boolean,
): { by(auth: AuthOptions): Connecting; close(): void } {
  const made = new Map<AuthOptions, Connecting>();
  const begin = (auth: AuthOptions): Connecting => {
    const isPlain = selected.server.startsWith('http:');
    if (isProxied)
      return { agent: isPlain ? undefined : auth.agent, own: { ...tlsOf(auth), agent: auth.agent! } };
    if (isPlain) return { agent: undefined, own: {} };
    const tls = readTls(auth, selected);
    const agent = new Agent({ ...tls, keepAlive: true, maxSockets: MOST_SOCKETS, scheduling: 'lifo' });
    return { agent, own: tls };
  };
  const sameTls = (one: AuthOptions, other: AuthOptions): boolean =>
    [one.cert, one.key, one.ca].join() === [other.cert, other.key, other.ca].join();
  return {
    by(auth) {
      const known = made.get(auth);
      if (known !== undefined) return known;
      const like = isProxied ? undefined : [...made.keys()].findLast((other) => sameTls(auth, other));
      const connecting = (like && made.get(like)) ?? begin(auth);
      made.set(auth, connecting);
      return connecting;
    },
    close: () => [...made.values()].forEach(({ agent }) => void agent?.destroy()),
  };
}

function tlsOf({
  ca,
  cert,
  key,
  pfx,
  passphrase,
  rejectUnauthorized,
  servername,
}: RequestOptions): AgentOptions {
  const all = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Reads certificates and key once. Node would do so for each connection, and an agent would compare their whole text for each call. */
function readTls(auth: AuthOptions, selected: Selected): AgentOptions {
  const { rejectUnauthorized, servername, ...identity } = tlsOf(auth);
  try {
    const secureContext = createSecureContext(identity);
    return { ...tlsOf({ rejectUnauthorized, servername }), secureContext };
  } catch (error) {
    throw connectionError(selected, error);
  }
}
