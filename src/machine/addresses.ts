import { BlockList, isIP, isIPv6 } from 'node:net';

/** Why kube-apiserver would reject an address in an EndpointSlice; undefined when it accepts it. */
export function refusal(address: string): string | undefined {
  if (isIP(address) === 0) return 'it is not an IP address';
  const plain = canonical(address);
  if (plain.startsWith('::ffff:')) return 'it is an IPv4 address written as IPv6: write it as IPv4';
  if (/^127\./.test(plain) || plain === '::1') {
    return 'it is a loopback address, which kube-apiserver rejects in an EndpointSlice';
  }
  if (/^169\.254\./.test(plain) || /^fe[89ab][0-9a-f]:/.test(plain))
    return 'it is a link-local address, which kube-apiserver rejects in an EndpointSlice';
  if (plain === '0.0.0.0' || plain === '::') return 'it is the unspecified address';
  if (/^(22[4-9]|23\d)\./.test(plain) || plain.startsWith('ff')) return 'it is a multicast address';
  return undefined;
}

/** An address as the kernel and Kubernetes write it: ::1 for 0:0:0:0:0:0:0:1. */
export function canonical(address: string): string {
  const bare = address.toLowerCase().replace(/%.*$/, '');
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname.slice(1, -1) : bare;
}

export function family(address: string): 'IPv4' | 'IPv6' {
  return isIPv6(address) ? 'IPv6' : 'IPv4';
}

/**
 * Whether an address is in one of these networks (`10.0.0.0/8`, `fd00::/8`, or a single address). A socket for both families
 * writes IPv4 addresses as `::ffff:10.0.0.7`.
 */
export function within(networks: string[]): (address: string) => boolean {
  const list = new BlockList();
  const familyFor = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');
  for (const network of networks) {
    const [address, prefix] = network.split('/');
    if (prefix === undefined) list.addAddress(address!, familyFor(address!));
    else list.addSubnet(address!, Number(prefix), familyFor(address!));
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');
    return list.check(plain, familyFor(plain));
  };
}

/** Joins a host and a port: `10.0.0.7:443`, `[fd00::7]:443`, `example.com:443`. */
export function hostPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * The IP families that all Services have, in the order of the first Service; undefined if they share none. A Service in a cluster without
 * dual stack names no families and accepts any, so the list is empty if no Service names one.
 */
export function sharedFamilies<Family extends string>(services: Family[][]): Family[] | undefined {
  const named = services.filter((families) => families.length > 0);
  if (named.length === 0) return [];
  const shared = named[0]!.filter((one) => named.every((families) => families.includes(one)));
  return shared.length > 0 ? shared : undefined;
}

export interface FoundAddress {
  address: string;
  source: string;
}

/** The addresses that kube-apiserver accepts for a Service with these families, without duplicates, the first family first. */
export function candidates(found: FoundAddress[], families: string[]): FoundAddress[] {
  const seen = new Set<string>();
  const usable = found.filter(({ address }) => {
    const fresh = !seen.has(address);
    seen.add(address);
    return (
      fresh && refusal(address) === undefined && (families.length === 0 || families.includes(family(address)))
    );
  });
  return usable.sort((a, b) => families.indexOf(family(a.address)) - families.indexOf(family(b.address)));
}

/**
 * Stands for this machine in the endpoints of Services: Kubernetes accepts no loopback address there. It is one of those for documentation, so
 * nothing else has it (RFC 5737).
 */
export const THIS_MACHINE = '192.0.2.1';
