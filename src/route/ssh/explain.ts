/** Why the cluster cannot reach a port of the SSH host. */
import { connect } from 'node:net';
import { hostPort } from '../../machine/addresses.ts';
import type { Explanation } from '../route.ts';
import type { Link } from './link.ts';

const LIMIT_MS = 3_000;

/** The result of a TCP connection from this machine to the host's port. */
type Dialled = 'open' | 'refused' | 'silent';
/** The addresses that sshd listens on, according to the host; undefined if they are unknown. */
type Listening = 'loopback' | 'everywhere' | string[] | undefined;

export interface Findings {
  /** The SSH host: `dev@bastion.example.com`. */
  via: string;
  address: string;
  port: number;
  dialled: Dialled;
  listening: Listening;
}

/** Examines a port from this machine and on the host. `run` may reject, because not every host allows commands. */
export async function examine(
  run: Link['run'],
  via: string,
  address: string,
  port: number,
): Promise<Findings> {
  const [dialled, sockets] = await Promise.all([
    dial(address, port),
    Promise.race([
      run('ss -Hltn').catch(() => ''),
      new Promise<string>((resolve) => setTimeout(resolve, LIMIT_MS, '').unref()),
    ]),
  ]);
  return { via, address, port, dialled, listening: listeningOn(sockets, port) };
}

function dial(address: string, port: number): Promise<Dialled> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    const timer = setTimeout(() => done('silent'), LIMIT_MS);
    function done(result: Dialled): void {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    }
    socket.once('connect', () => done('open'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code === 'ECONNREFUSED' ? 'refused' : 'silent'),
    );
  });
}

/** Reads the lines of `ss -Hltn`: state, two queues, local address and port, peer. */
export function listeningOn(sockets: string, port: number): Listening {
  const hosts = sockets.split('\n').flatMap((line) => {
    const [, host] = new RegExp(`^(\\S+):${port}$`).exec(line.trim().split(/\s+/)[3] ?? '') ?? [];
    return host === undefined ? [] : [host.replace(/^\[|\]$/g, '').replace(/%.*$/, '')];
  });
  if (hosts.length === 0) return undefined;
  if (hosts.every((host) => host.startsWith('127.') || host === '::1')) return 'loopback';
  return hosts.some((host) => ['0.0.0.0', '*', '::'].includes(host)) ? 'everywhere' : hosts;
}

export function explain(findings: Findings): Explanation {
  const { dialled, listening } = findings;
  // A host that refuses even this machine will continue to do so.
  const isCertain = dialled === 'refused' || listening === 'loopback';
  return { ...causeOf(findings), ...(isCertain ? { isCertain } : {}) };
}

function causeOf({ via, address, port, dialled, listening }: Findings): Explanation {
  const endpoint = hostPort(address, port);
  const gatewayPorts = `Set "GatewayPorts clientspecified" in sshd_config on ${via}, then reload sshd there: sudo systemctl reload ssh`;
  if (dialled === 'open') {
    return {
      cause: `This machine can connect to ${endpoint}, so the tunnel works, but the cluster cannot.`,
      hint: `Allow the cluster's nodes and API servers to connect to ${endpoint} (firewall or security group).`,
    };
  }
  if (listening === 'loopback') {
    return {
      cause: `sshd on ${via} listens on port ${port} of its loopback address only.`,
      hint: gatewayPorts,
    };
  }
  if (listening !== undefined) {
    const where = listening === 'everywhere' ? 'on all addresses' : `on ${listening.join(', ')}`;
    const what = dialled === 'refused' ? 'refuses connections' : 'does not respond';
    return {
      cause: `sshd on ${via} listens on port ${port} ${where}, but ${endpoint} ${what}: a firewall blocks it, or the host has a different address.`,
      hint: `Open TCP port ${port} of ${address}, or pass the address at which the cluster reaches the host with --address.`,
    };
  }
  return dialled === 'refused'
    ? {
        cause: `${endpoint} refuses connections: sshd on ${via} probably listens on its loopback address only.`,
        hint: gatewayPorts,
      }
    : {
        cause: `${endpoint} does not respond: a firewall probably blocks the port.`,
        hint: `Open TCP port ${port} of ${address}. If it is open: ${gatewayPorts}`,
      };
}
