import type { Emit } from '../../report/events.ts';
import type { Explanation, Route } from '../route.ts';
import { checkAddress, hostAddress } from './address.ts';
import { formatDestination, parseDestination } from './destination.ts';
import { dial } from './dial.ts';
import { boundTo, explainFindings } from './explain.ts';
import type { Signing } from './handshake.ts';
import type { Ask } from './host-key.ts';
import { type Link, openLink } from './link.ts';
import { mend, type Standing } from './mend.ts';
import { readHops } from './read-settings.ts';

export interface SshOptions {
  /** `[user@]host[:port]`, IPv6 in brackets: what the user wrote after `ssh:`. */
  to: string;
  /** The address that the cluster shall call where it is not that of the host as seen from here. */
  address?: string;
  /** The port of the host for the first gateway port, then the next one and so on; any free one by default. */
  port?: number;
  /** Ports on 127.0.0.1 of this machine to which connections are carried. */
  gatewayPorts: number[];
  /** HOME, SSH_AUTH_SOCK, PATH … */
  env: Record<string, string | undefined>;
  /** Absent without a terminal. */
  ask?: Ask;
  emit: Emit;
  /** Ends the opening, later the mending. What stands then stands until the route is disposed. */
  signal: AbortSignal;
}

const CONNECT_MS = 10_000;
const EXPLAIN_MS = 3_000;

/** Opens a reverse tunnel over an SSH host. Rejects with `ssh.*` or `route.address`; a drop later is mended for ever. */
export async function sshRoute(options: SshOptions): Promise<Route> {
  const { to, address: named, port = 0, gatewayPorts, env, ask, emit } = options;
  await using opened = new AsyncDisposableStack();
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const hops = await readHops(parseDestination(to), env, signal);
  const host = hops.at(-1)!;
  await checkAddress(named, host);
  const via = formatDestination(host.user, host.host, host.port);
  const signing: Signing = { ask, unlocked: new Map(), accepted: new Set(), env, emit, signal };
  const open = async (connectMs: number, how: Signing): Promise<Standing> => {
    const link = await openLink(hops, connectMs, how);
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
  };
  let standing = await open(CONNECT_MS, signing);
  opened.defer(() => standing.link[Symbol.asyncDispose]());
  const address = await hostAddress({ named, called: standing.link.address, host, emit });
  const listeners: (() => void)[] = [];
  const mended = mend({
    // A question in the middle of a session would stand between its lines, and nobody may be there to answer.
    reopen: (connectMs) => open(connectMs, { ...signing, ask: undefined }),
    current: () => standing,
    replace(next) {
      standing = next;
      for (const listener of listeners) listener();
    },
    via,
    emit,
    signal,
  });
  opened.defer(() => mended);
  opened.defer(() => stop.abort());
  const resources = opened.move();
  return {
    name: 'ssh',
    via,
    target: { address },
    portFor: (gatewayPort) => portOf(standing, gatewayPort),
    onReconnected: (listener) => void listeners.push(listener),
    explain: () => explain(standing, via, address),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function listenAll(link: Link, first: number, gatewayPorts: number[]): Promise<Map<number, number>> {
  const bound = gatewayPorts.map(async (gatewayPort, index) => {
    return [gatewayPort, await link.listen(first === 0 ? 0 : first + index, gatewayPort)] as const;
  });
  return new Map(await Promise.all(bound));
}

function portOf({ ports }: Standing, gatewayPort: number): number {
  const port = ports.get(gatewayPort);
  if (port === undefined) throw new Error(`the SSH route carries nothing to port ${gatewayPort}`);
  return port;
}

async function explain(
  { link, ports }: Standing,
  via: string,
  address: string,
): Promise<Explanation | undefined> {
  const port = [...ports.values()][0];
  if (port === undefined) return undefined;
  const [dialled, listing] = await Promise.all([
    dial(address, port, EXPLAIN_MS),
    Promise.race([
      link.run('ss -Hltn').catch(() => ''),
      new Promise<string>((resolve) => setTimeout(resolve, EXPLAIN_MS, '').unref()),
    ]),
  ]);
  return explainFindings({ via, address, port, dialled, bound: boundTo(listing, port) });
}
