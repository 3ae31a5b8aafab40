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

/** The one way to write an address: 0:0:0:0:0:0:0:1 is ::1. */
function canonical(address: string): string {
  const bare = address.toLowerCase().replace(/%.*$/, '');
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname.slice(1, -1) : bare;
}

export function family(address: string): 'IPv4' | 'IPv6' {
  return isIPv6(address) ? 'IPv6' : 'IPv4';
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
