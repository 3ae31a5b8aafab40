/** Why the cluster does not get through to a port on an SSH host. Pure. */
import { isIPv6 } from 'node:net';
import type { Explanation } from '../route.ts';

/** What came of dialling `address:port` from this machine. */
export type Dialled = 'open' | 'refused' | 'silent';
/** Where sshd listens, as the host itself sees it; undefined where we could not look. */
export type Bound = 'loopback' | 'everywhere' | string[] | undefined;

export interface Findings {
  /** `dev@bastion.example.com` */
  via: string;
  address: string;
  port: number;
  dialled: Dialled;
  bound: Bound;
}

/** Reads the lines of `ss -Hltn`: state, two queues, local address and port, peer. */
export function boundTo(listing: string, port: number): Bound {
  const hosts = listing.split('\n').flatMap((line) => {
    const [, host] = new RegExp(`^(\\S+):${port}$`).exec(line.trim().split(/\s+/)[3] ?? '') ?? [];
    return host === undefined ? [] : [host.replace(/^\[|\]$/g, '').replace(/%.*$/, '')];
  });
  if (hosts.length === 0) return undefined;
  if (hosts.every((host) => host.startsWith('127.') || host === '::1')) return 'loopback';
  return hosts.some((host) => ['0.0.0.0', '*', '::'].includes(host)) ? 'everywhere' : hosts;
}

export function explainFindings({ via, address, port, dialled, bound }: Findings): Explanation {
  const place = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
  const gatewayPorts = `In sshd_config of ${via}, set "GatewayPorts clientspecified", then reload sshd there: sudo systemctl reload ssh`;
  if (dialled === 'open') {
    return {
      cause: `${place} answers from this machine, so the tunnel stands, but not from the cluster.`,
      hint: `Let the cluster's nodes and API servers reach ${place} (firewall or security group).`,
    };
  }
  if (bound === 'loopback') {
    return {
      cause: `sshd of ${via} listens on its loopback address only (port ${port}).`,
      hint: gatewayPorts,
    };
  }
  if (bound !== undefined) {
    const where = bound === 'everywhere' ? 'on all addresses' : `on ${bound.join(', ')}`;
    return {
      cause: `sshd of ${via} listens on port ${port} ${where}, but ${place} ${dialled === 'refused' ? 'refuses' : 'does not answer'}: a firewall is in between, or the host has another address.`,
      hint: `Open TCP port ${port} of ${address}, or name the address under which the cluster reaches the host.`,
    };
  }
  return dialled === 'refused'
    ? {
        cause: `${place} refuses the connection: most likely sshd of ${via} listens on its loopback address only.`,
        hint: gatewayPorts,
      }
    : {
        cause: `${place} does not answer: a firewall keeps the port closed.`,
        hint: `Open TCP port ${port} of ${address}. If it is open: ${gatewayPorts}`,
      };
}
