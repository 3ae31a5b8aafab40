/** The settings with which a host is reached, from the output of `ssh -G` or from OpenSSH's defaults. */
import { type Destination, formatDestination, parseDestination } from './destination.ts';

/** This machine and its user, as OpenSSH sees them. */
export interface LocalAccount {
  home: string;
  /** The home directory that OpenSSH uses: it ignores HOME. */
  accountHome: string;
  user: string;
  uid: number;
  hostname: string;
  env: Record<string, string | undefined>;
}

interface HostNames {
  /** The host as the user wrote it. */
  alias: string;
  /** The name or address to connect to. */
  host: string;
  user: string;
  port: number;
  /** The name in known_hosts, if it differs from the name of the host. */
  hostKeyAlias: string | undefined;
}

export interface HostSettings extends HostNames {
  identityFiles: string[];
  certificateFiles: string[];
  identitiesOnly: boolean;
  /** The path of the agent's socket. */
  agent: string | undefined;
  /** The hosts to connect through, the nearest first. */
  jumps: Destination[];
  /** A line for the shell; the connection runs over its standard input and output. */
  proxyCommand: string | undefined;
  userKnownHosts: string[];
  globalKnownHosts: string[];
  /** A file of keys that no host is allowed to use. */
  revokedHostKeys: string | undefined;
  /** What to do with a host that is not in known_hosts. A changed key is always refused. */
  unknownHosts: 'refuse' | 'ask' | 'accept';
  hashKnownHosts: boolean;
  aliveSeconds: number;
  aliveCount: number;
}

const DEFAULT_IDENTITIES = ['rsa', 'ecdsa', 'ecdsa_sk', 'ed25519', 'ed25519_sk'].map(
  (kind) => `~/.ssh/id_${kind}`,
);
const ALIVE_SECONDS = 2;
const ALIVE_COUNT = 2;

/** The host for display: `dev@bastion.example.com:2222`. */
export function nameOf({ user, host, port }: HostNames): string {
  return formatDestination(user, host, port);
}

/** `text` is the output of `ssh -G`; empty if OpenSSH is not installed. */
export function readSettings(
  text: string,
  { user, host, port }: Destination,
  local: LocalAccount,
): HostSettings {
  const { all, one } = parse(text);
  const names: HostNames = {
    alias: host,
    host: one('hostname', host),
    user: user ?? one('user', local.user),
    port: port ?? Number(one('port', '22')),
    hostKeyAlias: one('hostkeyalias', '') || undefined,
  };
  const path = (value: string): string => expandPath(value, names, local);
  // ssh -G prints paths with blanks without quotes, but a path begins with one of these characters.
  const paths = (key: string, fallback: string): string[] =>
    one(key, fallback)
      .split(/\s+(?=[/~%$])/)
      .map(path);
  const identityFiles = all('identityfile');
  return {
    ...names,
    identityFiles: (identityFiles.length > 0 ? identityFiles : DEFAULT_IDENTITIES).map(path),
    certificateFiles: all('certificatefile').filter(isSet).map(path),
    identitiesOnly: one('identitiesonly', 'no') === 'yes',
    agent: agentPath(one('identityagent', 'SSH_AUTH_SOCK'), local, path),
    jumps: listJumps(one('proxyjump', 'none')),
    proxyCommand: isSet(one('proxycommand', 'none'))
      ? expandTokens(one('proxycommand', ''), names, local)
      : undefined,
    userKnownHosts: paths('userknownhostsfile', '~/.ssh/known_hosts ~/.ssh/known_hosts2').filter(isSet),
    globalKnownHosts: paths('globalknownhostsfile', '/etc/ssh/ssh_known_hosts').filter(isSet),
    revokedHostKeys: isSet(one('revokedhostkeys', 'none')) ? path(one('revokedhostkeys', '')) : undefined,
    unknownHosts: UNKNOWN_HOSTS[one('stricthostkeychecking', 'ask')] ?? 'ask',
    hashKnownHosts: one('hashknownhosts', 'no') === 'yes',
    ...alive(Number(one('serveraliveinterval', '0')), Number(one('serveralivecountmax', '3'))),
  };
}

interface Options {
  all(key: string): string[];
  one(key: string, fallback: string): string;
}

/** Each line is a keyword and its value. */
function parse(text: string): Options {
  const lines = text.split('\n').flatMap((line) => {
    const [, key, value] = /^(\w+) +(.*)$/.exec(line.trim()) ?? [];
    return key === undefined ? [] : [{ key, value: value! }];
  });
  const all = (key: string): string[] => lines.filter((line) => line.key === key).map(({ value }) => value);
  return { all, one: (key, fallback) => all(key)[0] ?? fallback };
}

function isSet(value: string): boolean {
  return value !== 'none';
}

function listJumps(value: string): Destination[] {
  if (!isSet(value)) return [];
  return value.split(',').map((jump) => parseDestination(jump.replace(/^ssh:\/\//, '')));
}

/** By default, OpenSSH never notices that a host is gone, so devloop sets an interval unless the user has set ServerAliveInterval. */
function alive(seconds: number, count: number): Pick<HostSettings, 'aliveSeconds' | 'aliveCount'> {
  return seconds > 0
    ? { aliveSeconds: seconds, aliveCount: count }
    : { aliveSeconds: ALIVE_SECONDS, aliveCount: ALIVE_COUNT };
}

/** `ssh -G` prints yes and no as true and false. */
const UNKNOWN_HOSTS: Record<string, HostSettings['unknownHosts']> = {
  yes: 'refuse',
  true: 'refuse',
  ask: 'ask',
  'accept-new': 'accept',
  no: 'accept',
  false: 'accept',
  off: 'accept',
};

function agentPath(
  value: string,
  { env }: LocalAccount,
  path: (value: string) => string,
): string | undefined {
  if (!isSet(value)) return undefined;
  if (value === 'SSH_AUTH_SOCK') return env.SSH_AUTH_SOCK || undefined;
  if (value.startsWith('$')) return env[value.replace(/^\$\{?|\}$/g, '')] || undefined;
  return path(value);
}

/** Replaces tokens (`%h`), `${VARIABLE}` and `~`. A path in the account's home directory becomes one in HOME. */
function expandPath(value: string, names: HostNames, local: LocalAccount): string {
  const expanded = expandTokens(value, names, local).replaceAll(
    /\$\{(\w+)\}/g,
    (whole, name: string) => local.env[name] ?? whole,
  );
  if (expanded.startsWith('~/')) return local.home + expanded.slice(1);
  if (expanded.startsWith(`${local.accountHome}/`))
    return local.home + expanded.slice(local.accountHome.length);
  return expanded;
}

function expandTokens(
  value: string,
  { alias, host, user, port, hostKeyAlias }: HostNames,
  local: LocalAccount,
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
