/** The IP families of a box. With `dual`, IPv4 is the first one for the node, and for Services that do not choose. */
export type Families = 'ipv4' | 'dual' | 'ipv6';

/** The addresses of one box, for each family in this order. */
export interface Network {
  /** The addresses of this machine and of the box on the cable between them. */
  hosts: string[];
  nodes: string[];
  prefixLengths: string[];
  podRanges: string[];
  serviceRanges: string[];
  /** The address that a DNS server of the cluster would have. */
  dns: string[];
  /** All addresses of these families. */
  any: string;
}

type OfFamily = Record<'host' | 'node' | 'prefixLength' | 'pods' | 'services' | 'dns' | 'any', string>;

export function network(number: number, families: Families): Network {
  const list = of(number, families);
  return {
    hosts: list.map(({ host }) => host),
    nodes: list.map(({ node }) => node),
    prefixLengths: list.map(({ prefixLength }) => prefixLength),
    podRanges: list.map(({ pods }) => pods),
    serviceRanges: list.map(({ services }) => services),
    dns: list.map(({ dns }) => dns),
    any: list.at(-1)!.any,
  };
}

function of(number: number, families: Families): OfFamily[] {
  const ipv4 = {
    host: `10.99.${number}.1`,
    node: `10.99.${number}.2`,
    prefixLength: '24',
    pods: '10.88.0.0/16',
    services: '10.96.0.0/16',
    dns: '10.96.0.10',
    any: '0.0.0.0',
  };
  // The same digits as in the IPv4 addresses, so that people recognize them.
  const ipv6 = {
    host: `fd10:99:${number}::1`,
    node: `fd10:99:${number}::2`,
    prefixLength: '64',
    pods: 'fd10:88::/64',
    services: 'fd10:96::/112',
    dns: 'fd10:96::10',
    any: '::',
  };
  return { ipv4: [ipv4], dual: [ipv4, ipv6], ipv6: [ipv6] }[families];
}
