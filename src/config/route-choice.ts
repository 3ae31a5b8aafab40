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
