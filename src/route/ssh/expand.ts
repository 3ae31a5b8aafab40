/** The placeholders of ssh_config. Pure. */

/** Who and where we are. */
export interface Local {
  home: string;
  /** The home directory that OpenSSH goes by: it does not look at HOME. */
  accountHome: string;
  user: string;
  uid: number;
  hostname: string;
  env: Record<string, string | undefined>;
}

/** Which host the value is for. */
export interface LocalMachine {
  /** As the user wrote it. */
  alias: string;
  host: string;
  user: string;
  port: number;
  /** The name to look for in known_hosts, where it is not that of the host. */
  hostKeyAlias: string | undefined;
}

/** OpenSSH's tokens: `%h` and its kind, `~`, `${VARIABLE}`. A path in the account's home is one in HOME. */
export function expandPath(value: string, place: LocalMachine, local: Local): string {
  const expanded = expandTokens(value, place, local).replaceAll(
    /\$\{(\w+)\}/g,
    (whole, name: string) => local.env[name] ?? whole,
  );
  if (expanded.startsWith('~/')) return local.home + expanded.slice(1);
  if (expanded.startsWith(`${local.accountHome}/`))
    return local.home + expanded.slice(local.accountHome.length);
  return expanded;
}

export function expandTokens(
  value: string,
  { alias, host, user, port, hostKeyAlias }: LocalMachine,
  local: Local,
): string {
  const tokens: Record<string, string> = {
    '%': '%',
    h: host,
    k: hostKeyAlias ?? alias,
    n: alias,
    p: String(port),
    r: user,
    u: local.user,
    d: local.home,
    i: String(local.uid),
    l: local.hostname,
    L: local.hostname.split('.')[0]!,
  };
  return value.replaceAll(/%([%a-zA-Z])/g, (whole, name: string) => tokens[name] ?? whole);
}
