import type { Emit } from '../../report/events.ts';
import type { Route } from '../route.ts';
import { checkAddress, hostAddress } from './address.ts';
import { parseDestination } from './destination.ts';
import { examine, explain } from './explain.ts';
import type { Callers } from './forward.ts';
import type { HandshakeContext } from './handshake.ts';
import { readHops } from './hops.ts';
import type { Ask } from './host-key.ts';
import { type Link, openLink } from './link.ts';
import { keepConnected, type Tunnel } from './reconnect.ts';
import { type HostSettings, nameOf } from './settings.ts';

export interface SshOptions {
  /** `[user@]host[:port]`, IPv6 in brackets: what the user wrote after `ssh:`. */
  to: string;
  /** The address that the cluster calls, if it is not the one that this machine connects to. */
  address?: string;
  /**
   * The port of the host for the first gateway port; the other gateway ports get the next numbers. By default, the host chooses free ports.
   */
  port?: number;
  /** Whether this address is allowed to connect to the host's ports; by default every address is. */
  allows?: (address: string) => boolean;
  /** Ports on 127.0.0.1 of this machine to which connections are carried. */
  gatewayPorts: number[];
  /** The environment with HOME, SSH_AUTH_SOCK, PATH and so on. */
  env: Record<string, string | undefined>;
  /** Asks the user a question; undefined without a terminal. */
  ask?: Ask;
  emit: Emit;
  /** Interrupts the opening. An open tunnel stays open, and reconnects, until the route is disposed: restoring the cluster may need it. */
  signal: AbortSignal;
}

const CONNECT_MS = 10_000;

/** Opens a reverse tunnel over an SSH host. The tunnel reconnects on its own. Rejects with `ssh.*` or `route.address`. */
export async function sshRoute(options: SshOptions): Promise<Route> {
  const { to, address: named, port = 0, gatewayPorts, allows, env, ask, emit } = options;
  await using opened = new AsyncDisposableStack();
  const { signal } = options;
  const hops = await readHops(parseDestination(to), env, signal);
  const host = hops.at(-1)!;
  await checkAddress(named, host);
  const context: HandshakeContext = { ask, unlocked: new Map(), accepted: new Set(), env, emit, signal };
  const plan = { hops, port, gatewayPorts, callers: { address: named, allows } };
  let tunnel = await openTunnel(plan, CONNECT_MS, context);
  opened.defer(() => tunnel.link[Symbol.asyncDispose]());
  const address = await hostAddress({ named, connected: tunnel.link.address, host, emit });
  const listeners: (() => void)[] = [];
  const via = nameOf(host);
  const closing = new AbortController();
  // A reconnection asks no questions: they would appear between the lines of a running session, perhaps with nobody there to answer them.
  const reconnecting = { ...context, ask: undefined, signal: closing.signal };
  const ended = keepConnected({
    reopen: (connectMs) => openTunnel(plan, connectMs, reconnecting),
    current: () => tunnel,
    replace(next) {
      tunnel = next;
      for (const listener of listeners) listener();
    },
    via,
    emit,
    signal: closing.signal,
  });
  opened.defer(() => ended);
  opened.defer(() => closing.abort());
  const resources = opened.move();
  return {
    name: 'ssh',
    via,
    target: { address },
    portFor: (gatewayPort) => portOf(tunnel, gatewayPort),
    onReconnected: (listener) => void listeners.push(listener),
    async explain() {
      const [first] = tunnel.ports.values();
      return first === undefined ? undefined : explain(await examine(tunnel.link.run, via, address, first));
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

interface TunnelPlan {
  hops: HostSettings[];
  port: number;
  gatewayPorts: number[];
  callers: Callers;
}

async function openTunnel(
  { hops, port, gatewayPorts, callers }: TunnelPlan,
  connectMs: number,
  context: HandshakeContext,
): Promise<Tunnel> {
  const { signal } = context;
  const link = await openLink(hops, connectMs, context, callers);
  const abandon = (): void => void link[Symbol.asyncDispose]();
  signal.addEventListener('abort', abandon, { once: true });
  try {
    signal.throwIfAborted();
    return { link, ports: await listenAll(link, port, gatewayPorts) };
  } catch (error) {
    await link[Symbol.asyncDispose]();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abandon);
  }
}

async function listenAll(link: Link, first: number, gatewayPorts: number[]): Promise<Map<number, number>> {
  const bound = gatewayPorts.map(async (gatewayPort, index) => {
    return [gatewayPort, await link.listen(first === 0 ? 0 : first + index, gatewayPort)] as const;
  });
  return new Map(await Promise.all(bound));
}

function portOf({ ports }: Tunnel, gatewayPort: number): number {
  const port = ports.get(gatewayPort);
  if (port === undefined) throw new Error(`the SSH route does not forward gateway port ${gatewayPort}`);
  return port;
}
