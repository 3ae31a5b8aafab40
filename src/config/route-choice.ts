import { isIP, isIPv6 } from 'node:net';

/** The route that reviews are to take. */
export type RouteChoice = 'auto' | 'direct' | 'relay' | { ssh: string };

/** The routes that need no host. */
export const PLAIN_ROUTES = ['auto', 'direct', 'relay'] as const;
export const EXPECTED_ROUTE = 'auto, direct, relay, or ssh:[user@]host[:port]';

/** Reads `relay` or `ssh:dev@bastion:2222`; undefined for anything else. */
export function routeChoice(text: string): RouteChoice | undefined {
  const plain = PLAIN_ROUTES.find((one) => one === text);
  if (plain !== undefined) return plain;
  const host = /^ssh:(?:\/\/)?(.*)$/.exec(text)?.[1];
  if (host === undefined || !isDestination(host)) return undefined;
  return { ssh: host };
}

/** The routes that the user may have meant by a text that is not a route. */
export function routesLike(text: string): string[] {
  const overSsh = [text.replace(/^[^:]*:/, 'ssh:'), ...(text.includes('@') ? [`ssh:${text}`] : [])];
  return [...PLAIN_ROUTES, ...overSsh.filter((one) => routeChoice(one) !== undefined)];
}

const DESTINATION = /^(?:[^-\s]\S*@)?(?:\[[^\]\s]+\]|[^-:[\]\s@][^:[\]\s@]*)(?::(\d{1,5}))?$/;

/** `[user@]host[:port]`, an IPv6 address in brackets. ssh would take a name that begins with a dash for an option. */
function isDestination(text: string): boolean {
  const found = DESTINATION.exec(text);
  return found !== null && Number(found[1] ?? 0) <= 65_535;
}

/** `registry.example.com/node:24-alpine`, also by digest. */
export function isImage(text: string): boolean {
  return /^[\w.-]+(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/.test(text);
}

export const EXPECTED_NETWORK = 'a network or an address, such as 10.0.0.0/8';

/** `10.0.0.0/8`, `fd00::/8`, or a single address. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix = '0', ...rest] = text.split('/');
  // devloop compares an IPv4 address in its own form only, and a zone is meaningful only on one machine.
  if (isIP(address) === 0 || /%|^::ffff:/i.test(address) || rest.length > 0) return false;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv6(address) ? 128 : 32);
}
