import { type AgentOptions, type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions as HttpsOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import type { SelectedContext } from './kubeconfig.ts';
import { proxyFor } from './proxy-choice.ts';
import { dialThrough, isSocks, proxyAddress, proxyLogin } from './proxy-dial.ts';
import { type Identity, tlsOptions } from './tls-options.ts';

/** `down` makes up to 17 calls at once. With fewer connections than calls, some calls would wait until others are answered. */
const MOST_SOCKETS = 24;

/** Ways to connect to the server with one client certificate. */
export interface Connections {
  /** The pool for calls. */
  calls: HttpAgent;
  /** A pool without a limit, for requests of others. */
  forwarded: HttpAgent;
  /** Opens a connection for each request, and closes it after that. */
  single: HttpAgent;
}

/** Throws if the proxy, the certificate authority or the client certificate cannot be used. */
export function openConnections(selected: SelectedContext, identity: Identity): Connections {
  const proxy = proxyFor(selected.pinned.cluster, selected.server, selected.env);
  const isPlain = new URL(selected.server).protocol === 'http:';
  const tls = isPlain ? {} : tlsOptions(selected.pinned.cluster, identity, selected.env);
  const open = (options: AgentOptions): HttpAgent => {
    if (!isPlain)
      return proxy ? new TunnelAgent({ ...tls, ...options }, proxy) : new HttpsAgent({ ...tls, ...options });
    if (proxy === undefined) return new HttpAgent(options);
    return isSocks(proxy) ? new SocksAgent(options, proxy) : new PlainProxyAgent(options, proxy);
  };
  return {
    calls: open({ keepAlive: true, maxSockets: MOST_SOCKETS, scheduling: 'lifo' }),
    forwarded: open({ keepAlive: true }),
    single: open({ keepAlive: false }),
  };
}

/** Lets the running requests finish, and closes each connection after that. */
export function retire({ calls, forwarded }: Connections): void {
  for (const agent of [calls, forwarded] as (HttpAgent & { keepAlive?: boolean })[]) {
    agent.keepAlive = false;
    closeIdle(agent);
  }
}

export function closeIdle({ freeSockets }: HttpAgent): void {
  for (const socket of Object.values(freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
}

/**
 * Returns the pool, without its idle connections if it was not used for a while: this machine may have been asleep, and its connections are
 * dead then without notice.
 */
export function sparingIdle(limitMs: number): (pool: HttpAgent) => HttpAgent {
  let usedAt = Date.now();
  return (pool) => {
    const now = Date.now();
    if (Math.abs(now - usedAt) > limitMs) closeIdle(pool);
    usedAt = now;
    return pool;
  };
}

export function closeAll(connections: Connections): void {
  for (const agent of Object.values(connections) as HttpAgent[]) agent.destroy();
}

type Done = (error: Error | null, socket: Duplex) => void;
/** Node does not look at the socket if there is an error. */
const NONE = undefined as unknown as Duplex;
type Target = ConnectionOptions & { host: string; port: number };

/** Passes the connection that the proxy has opened to the server, as `over` changes it, to Node. */
function dial(proxy: URL, options: object, done: Done, over: (socket: Duplex) => Duplex): undefined {
  const target = options as Target;
  dialThrough(proxy, { host: target.host, port: Number(target.port) }, target).then(
    (socket) => done(null, over(socket)),
    (error) => done(error, NONE),
  );
}

/** TLS to the server through a tunnel of the proxy. */
class TunnelAgent extends HttpsAgent {
  readonly #proxy: URL;

  constructor(options: HttpsOptions, proxy: URL) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: object, done?: Done): undefined {
    const secured = (socket: Duplex) => super.createConnection({ ...options, socket } as never)!;
    return dial(this.#proxy, options, done!, secured);
  }
}

/** Plain HTTP to the server through a SOCKS proxy. */
class SocksAgent extends HttpAgent {
  readonly #proxy: URL;

  constructor(options: AgentOptions, proxy: URL) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(options: object, done?: Done): undefined {
    return dial(this.#proxy, options, done!, (socket) => socket);
  }
}

/** A proxy gets requests of plain HTTP with the whole URL. */
class PlainProxyAgent extends HttpAgent {
  readonly #proxy: URL;

  constructor(options: AgentOptions, proxy: URL) {
    super(options);
    this.#proxy = proxy;
  }

  /** Called by Node for each request. */
  addRequest(request: ClientRequest, options: object): void {
    request.path = `http://${request.getHeader('host')}${request.path}`;
    for (const [name, value] of Object.entries(proxyLogin(this.#proxy))) request.setHeader(name, value);
    const { addRequest } = HttpAgent.prototype as unknown as { addRequest: PlainProxyAgent['addRequest'] };
    addRequest.call(this, request, { ...options, ...proxyAddress(this.#proxy) });
  }
}
