import { isIP, isIPv6 } from 'node:net';

/** The route that the user chose for reviews. */
export type RouteChoice = 'auto' | 'direct' | 'relay' | { ssh: string };

/** The routes that need no host. */
export const PLAIN_ROUTES = ['auto', 'direct', 'relay'] as const;
export const EXPECTED_ROUTE = 'auto, direct, relay, or ssh:[user@]host[:port]';

/** Parses a route, such as `relay` or `ssh:dev@bastion:2222`; undefined if the text is not a route. */
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

/**
 * Whether the text is `[user@]host[:port]`, with an IPv6 address in brackets. A name must not begin with a dash, because ssh would take it
 * for an option.
 */
function isDestination(text: string): boolean {
  const found = DESTINATION.exec(text);
  return found !== null && Number(found[1] ?? 0) <= 65_535;
}

/** Whether the text names an image, such as `registry.example.com/node:24-alpine`. It can have a tag, a digest, both or neither. */
export function isImage(text: string): boolean {
  return /^[\w.-]+(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/.test(text);
}

export const EXPECTED_NETWORK = 'a network or an address, such as 10.0.0.0/8';

/** Whether the text is a network, such as `10.0.0.0/8` or `fd00::/8`, or a single address. */
export function isNetwork(text: string): boolean {
  const [address = '', prefix = '0', ...rest] = text.split('/');
  // devloop compares IPv4 addresses only in IPv4 notation, and a zone is meaningful only on one machine.
  if (isIP(address) === 0 || /%|^::ffff:/i.test(address) || rest.length > 0) return false;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv6(address) ? 128 : 32);
}
