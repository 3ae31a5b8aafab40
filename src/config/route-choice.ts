/** The route that reviews are to take. */
export type RouteChoice = 'auto' | 'direct' | 'relay' | { ssh: string };

/** Those without a host. */
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
