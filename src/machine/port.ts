import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import { networkInterfaces } from 'node:os';
import { pollUntil } from '../async.ts';
import { DevloopError, messageOf } from '../errors.ts';
import type { End } from './linux.ts';
import { sessionListensOn } from './process.ts';
import { type PortOwner, peerUser, portOwner } from './system.ts';

const POLL_MS = 50;
const LOOPBACK_MS = 5_000;

/** The most bytes of a unix socket's path: 108 on Linux and 104 on macOS, including a zero at the end. */
export const LONGEST_SOCKET_PATH = 103;

/** Whether this port is in use on any address of this machine. */
export async function isPortBusy(port: number): Promise<boolean> {
  // Each address is tried, because a listener on one address does not always prevent another one on all addresses.
  for (const host of ['::', '0.0.0.0', '127.0.0.1'])
    if ((await failureOn(host, port)) === 'EADDRINUSE') return true;
  return false;
}

/** Whether a program of this account can listen on this port at an address of this machine that others can reach. */
export async function isFreeSomewhere(port: number): Promise<boolean> {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const reachable = all.filter(({ internal, scopeid }) => !internal && !scopeid);
  for (const { address } of reachable) if ((await failureOn(address, port)) === undefined) return true;
  return reachable.length === 0;
}

/** Whether only another account, such as root, is allowed to listen on this port. */
export async function isPortForbidden(port: number): Promise<boolean> {
  return (await failureOn('127.0.0.1', port)) === 'EACCES';
}

/** The command after which every account is allowed to listen on this port. */
export function openingPort(port: number): string {
  return `sudo sysctl net.ipv4.ip_unprivileged_port_start=${port}`;
}

/** Resolves with the port when the server listens. Rejects with Node's error if it cannot listen. */
export async function listenOn(server: Server, where: ListenOptions): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    // The listener stays, because a later error is about one connection that could not be accepted, and the server goes on.
    server.on('error', reject);
    server.listen(where, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
  server.close();
  await once(server, 'close');
  return port;
}

/** Why programs on this machine cannot reach each other at 127.0.0.1; undefined if they can. */
export async function loopbackProblem(): Promise<string | undefined> {
  await using server = createServer((socket) => socket.destroy());
  try {
    const port = await listenOn(server, { host: '127.0.0.1', port: 0 });
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect', { signal: AbortSignal.timeout(LOOPBACK_MS) });
    socket.destroy();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Throws 'port.in-use', which names the process that listens on the port, if the port is still in use after `limitMs`. A port on which one
 * of the process groups `ending` listens counts as free, because these groups are ended first.
 */
export async function requireFreePort(port: number, limitMs = 0, ending: number[] = []): Promise<void> {
  const isFree = async (): Promise<boolean> => !(await isPortBusy(port)) || (await isHeldBy(ending, port));
  if (await pollUntil(isFree, { everyMs: POLL_MS, limitMs })) return;
  const owner = await portOwner(port);
  const message = `The controller needs port ${port}, which is in use by ${describeOwner(owner)}.`;
  const hint = owner ? `End ${owner.name} first: kill ${owner.pid}` : 'End that process first.';
  throw new DevloopError('port.in-use', message, { hint });
}

async function isHeldBy(groups: number[], port: number): Promise<boolean> {
  for (const group of groups) if (await sessionListensOn(group, port)) return true;
  return false;
}

export function describeOwner(owner: PortOwner | undefined): string {
  return owner ? `process ${owner.pid} (${owner.name})` : 'a process that devloop cannot see';
}

/**
 * Whether the other end of a connection over loopback belongs to another user who is not root. False if that cannot be seen (macOS), or if
 * the other end is gone.
 */
export async function isOfAnotherUser(socket: Socket): Promise<boolean> {
  const user = await userOf(socket);
  return user !== undefined && user !== 'gone' && !isTrusted(user);
}

/** Closes the connections of other users to a server on loopback: they have no token for it, but they could use up all connections. */
export function closeToOtherUsers(server: Server): void {
  server.on('connection', (socket: Socket) => {
    void isOfAnotherUser(socket).then((isForeign) => isForeign && socket.destroy());
  });
}

/** Whether the other end of a connection over loopback belongs to this user or to root now. True if that cannot be seen (macOS). */
export async function isOfThisUser(socket: Socket): Promise<boolean> {
  const user = await userOf(socket);
  return user === undefined || (user !== 'gone' && isTrusted(user));
}

function isTrusted(user: number): boolean {
  return user === 0 || user === process.getuid?.();
}

async function userOf({
  localAddress,
  localPort,
  remoteAddress,
  remotePort,
}: Socket): Promise<number | 'gone' | undefined> {
  if (localAddress === undefined || localPort === undefined) return 'gone';
  if (remoteAddress === undefined || remotePort === undefined) return 'gone';
  const end = (address: string, port: number): End => ({ address: address.replace(/^::ffff:/, ''), port });
  return await peerUser({ local: end(localAddress, localPort), remote: end(remoteAddress, remotePort) });
}

async function failureOn(host: string, port: number): Promise<string | undefined> {
  await using server = createServer();
  try {
    await listenOn(server, { host, port, exclusive: true });
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
}
