import { connect, type Socket } from 'node:net';
import type { Channel, Client } from 'ssh2';
import { DevloopError } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import { type HostSettings, nameOf } from './settings.ts';

/** All addresses of the host, IPv4 and IPv6, if its sshd_config lets the client choose. */
const ALL_ADDRESSES = '';

/** Who is allowed to connect to the host's ports. */
export interface Callers {
  /** The address that the cluster calls; sshd listens only on this one, if its configuration allows that. */
  address?: string;
  /** Whether this address is allowed to connect to the host's ports. */
  allows?: ((address: string) => boolean) | undefined;
}

/**
 * Has the host listen on a port (0: any free one) and carries its connections to a port of this machine. Resolves with the host's port.
 * Rejects with `ssh.forwarding` if the host refuses the port.
 */
export type Listen = (port: number, gatewayPort: number) => Promise<number>;

export function forwardPorts(
  client: Client,
  host: HostSettings,
  { address, allows = () => true }: Callers,
): Listen {
  const gatewayPorts = new Map<number, number>();
  const sockets = new Set<Socket>();
  client.on('tcp connection', ({ destPort, srcIP }, accept, reject) => {
    const gatewayPort = gatewayPorts.get(destPort);
    if (gatewayPort === undefined || !allows(srcIP)) return reject();
    const socket = carry(accept(), gatewayPort);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // ssh2 ends all channels right after this event, so a truncated request would then look complete.
  client.once('close', () => {
    for (const socket of sockets) socket.resetAndDestroy();
  });
  return async (port, gatewayPort) => {
    // Connections to a fixed port may arrive before the answer to our request.
    if (port !== 0) gatewayPorts.set(port, gatewayPort);
    const listenOn = (where: string): Promise<number> =>
      new Promise((resolve, reject) => {
        client.forwardIn(where, port, (error, real) => (error ? reject(error) : resolve(real)));
      });
    // If sshd refuses the address, all addresses are tried: behind NAT the host does not have it, and PermitListen may name another one.
    const bound = await (address === undefined ? listenOn(ALL_ADDRESSES) : listenOn(address))
      .catch((error: Error) => (address === undefined ? Promise.reject(error) : listenOn(ALL_ADDRESSES)))
      .catch((error: Error) => {
        throw refused(host, port, error);
      });
    gatewayPorts.set(bound, gatewayPort);
    return bound;
  };
}

/**
 * Carries one connection between an SSH channel and a port of this machine. Either side may end its half first. Piping limits memory: if
 * one side does not read, the other one stops sending; across the network, the SSH channel's window achieves this.
 */
export function carry(channel: Channel, port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
  channel.pipe(socket);
  socket.pipe(channel);
  // Closing without an end-of-file, which a complete answer has, makes the far side see a reset.
  socket.on('error', () => channel.close());
  channel.on('error', () => channel.close());
  // The far side has closed both halves. What it sent before is still delivered.
  channel.once('close', () => socket.destroySoon());
  return socket;
}

/** sshd gives the same answer for a port that is in use and for one that is forbidden. */
function refused(host: HostSettings, port: number, error: Error): DevloopError {
  if (!/unable to bind/i.test(error.message)) {
    return new DevloopError(
      'ssh.unreachable',
      `Connection to SSH host ${nameOf(host)} ended: ${error.message}.`,
      { hint: `Check with: ssh ${shellWord(host.alias)}` },
    );
  }
  if (port === 0) {
    return new DevloopError('ssh.forwarding', `SSH host ${nameOf(host)} refused to listen on any port.`, {
      hint: `Its sshd_config needs "AllowTcpForwarding yes" and "PermitListen any". If it allows a single port, pass that one with --port.`,
    });
  }
  const root = port < 1024 ? ' Ports below 1024 are reserved for root.' : '';
  return new DevloopError('ssh.forwarding', `SSH host ${nameOf(host)} refused to listen on port ${port}.`, {
    hint: `The port is in use (check on the host: ss -ltnp 'sport = ${port}'), or sshd forbids it: its sshd_config needs "AllowTcpForwarding yes" and "PermitListen ${port}".${root}`,
  });
}
