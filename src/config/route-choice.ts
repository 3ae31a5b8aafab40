/** Which way the reviews shall take. */
export type RouteChoice = 'auto' | 'direct' | 'relay' | { ssh: string };

export const EXPECTED_ROUTE = 'auto, direct, relay, or ssh:[user@]host[:port]';

/** Reads `ssh:dev@bastion:2222`; undefined where it is none of these. */
export function routeChoice(text: string): RouteChoice | undefined {
  if (text === 'auto' || text === 'direct' || text === 'relay') return text;
  const host = /^ssh:(?:\/\/)?(.*)$/.exec(text)?.[1];
  // A name that begins with a dash would be an option to ssh.
  if (host === undefined || /^-|@-|\s/.test(host) || /^(?:.*@)?(?::.*)?$/.test(host)) return undefined;
  return { ssh: host };
}
