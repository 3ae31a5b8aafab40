import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { DevloopError } from '../errors.ts';
import { candidates, canonical, type FoundAddress, refusal } from '../machine/addresses.ts';
import type { Route } from './route.ts';

export interface DirectOptions {
  /** The only address to use, usually chosen by the user. */
  address?: string;
  /** Where `address` comes from, if the user did not choose it. */
  addressSource?: string;
  /** `https://host:port` of the API server. */
  server: string;
  /** Addresses of the cluster's nodes. Nodes usually reach this machine at the address from which it reaches them. */
  nodes: string[];
  /** IP families that all webhook Services have, the preferred one first. If empty, any family is possible. */
  families: string[];
}

/** Addresses of this machine that the cluster may be able to reach, the most likely one first. */
export async function directAddresses(options: DirectOptions): Promise<FoundAddress[]> {
  if (options.address !== undefined)
    return [{ address: usableAddress(options.address), source: options.addressSource ?? 'named by you' }];
  const towards = [
    ...options.nodes.slice(0, 3).map((node) => ({ host: node, source: `faces node ${node}` })),
    { host: new URL(options.server).hostname.replace(/^\[|\]$/g, ''), source: 'faces the API server' },
  ];
  const found = await Promise.all(
    towards.map(async ({ host, source }) => ({ address: await sourceAddress(host), source })),
  );
  return candidates(
    found.filter((one): one is FoundAddress => one.address !== undefined),
    options.families,
  );
}

/** The address in its canonical form. Throws if kube-apiserver rejects it in an endpoint. */
export function usableAddress(address: string): string {
  const why = refusal(address);
  if (why === undefined) return canonical(address);
  throw new DevloopError('route.address', `${address} cannot be used: ${why}.`, {
    hint: `Addresses of this machine: ${ownAddresses().join(', ') || 'none that the cluster can use'}`,
  });
}

export function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  return all.map((one) => one.address).filter((address) => refusal(address) === undefined);
}

/** The address from which the kernel would send to a host. Connecting a UDP socket looks up the route, and sends nothing. */
async function sourceAddress(host: string): Promise<string | undefined> {
  const ip = isIP(host) ? host : (await lookup(host).catch(() => undefined))?.address;
  if (ip === undefined) return undefined;
  const socket = createSocket(isIPv6(ip) ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(9, ip, resolve);
    });
    return socket.address().address;
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}

/** Whether this machine has the address. If not (NAT, port forwarding), the gateway cannot listen on it. */
export function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((one) => one?.some((entry) => entry.address === address));
}

export function directRoute(address: string): Route {
  return {
    name: 'direct',
    via: address,
    target: { address },
    portFor: (gatewayPort) => gatewayPort,
    onReconnected() {},
    explain: async () => undefined,
    async [Symbol.asyncDispose]() {},
  };
}
