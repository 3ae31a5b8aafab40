/** Which addresses may stand in an endpoint, and which of several to try first. Pure. */
import { isIP, isIPv6 } from 'node:net';

/** Why kube-apiserver would refuse an address as an endpoint; undefined when it takes it. */
export function refusal(address: string): string | undefined {
  if (isIP(address) === 0) return 'it is not an IP address';
  const plain = canonical(address);
  if (plain.startsWith('::ffff:')) return 'it is an IPv4 address in the form of IPv6: write it as IPv4';
  if (/^127\./.test(plain) || plain === '::1') {
    return 'it is a loopback address: for the cluster that would be the cluster itself, and kube-apiserver refuses it in an endpoint';
  }
  if (/^169\.254\./.test(plain) || /^fe[89ab][0-9a-f]:/.test(plain))
    return 'it is link-local, which kube-apiserver refuses in an endpoint';
  if (plain === '0.0.0.0' || plain === '::') return 'it is the unspecified address';
  if (/^(22[4-9]|23\d)\./.test(plain) || plain.startsWith('ff')) return 'it is a multicast address';
  return undefined;
}

/** The one way to write an address, as the kernel and Kubernetes do: 0:0:0:0:0:0:0:1 is ::1. */
export function canonical(address: string): string {
  const bare = address.toLowerCase().replace(/%.*$/, '');
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname.slice(1, -1) : bare;
}

export function family(address: string): 'IPv4' | 'IPv6' {
  return isIPv6(address) ? 'IPv6' : 'IPv4';
}

/** `10.0.0.7:443`, `[fd00::7]:443`, and as it is what is no IP address. */
export function hostPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * The families that every Service has, in the order of the first one; undefined when they share none. Of Services that name
 * none (clusters before dual stack) any will do, which is an empty list.
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

/** Usable addresses without repeats, those of the Service's first family first. */
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
