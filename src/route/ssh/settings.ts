/** How to reach one host: what `ssh -G` says of it, or OpenSSH's defaults. Pure. */
import { type Destination, parseDestination } from './destination.ts';
import { expandPath, expandTokens, type Local, type LocalMachine } from './expand.ts';

export interface HostSettings extends LocalMachine {
  identityFiles: string[];
  certificateFiles: string[];
  identitiesOnly: boolean;
  /** Path of the agent's socket. */
  agent: string | undefined;
  /** The hosts to go through, the nearest first. */
  jumps: Destination[];
  /** A line for the shell that carries the connection on its standard input and output. */
  proxyCommand: string | undefined;
  userKnownHosts: string[];
  globalKnownHosts: string[];
  /** A file with keys that no host may show. */
  revokedHostKeys: string | undefined;
  /** What happens with a host that known_hosts does not hold; a changed key is always refused. */
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

/** `text` is what `ssh -G` printed; empty where there is no OpenSSH. */
export function readSettings(text: string, { user, host, port }: Destination, local: Local): HostSettings {
  const { all, one } = parse(text);
  const place: LocalMachine = {
    alias: host,
    host: one('hostname', host),
    user: user ?? one('user', local.user),
    port: port ?? Number(one('port', '22')),
    hostKeyAlias: one('hostkeyalias', '') || undefined,
  };
  const path = (value: string): string => expandPath(value, place, local);
  // ssh -G writes no quotes around names with blanks; a path begins with one of these.
  const paths = (key: string, fallback: string): string[] =>
    one(key, fallback)
      .split(/\s+(?=[/~%$])/)
      .map(path);
  const identityFiles = all('identityfile');
  return {
    ...place,
    identityFiles: (identityFiles.length > 0 ? identityFiles : DEFAULT_IDENTITIES).map(path),
    certificateFiles: all('certificatefile').filter(isSet).map(path),
    identitiesOnly: one('identitiesonly', 'no') === 'yes',
    agent: agentPath(one('identityagent', 'SSH_AUTH_SOCK'), local, path),
    jumps: listJumps(one('proxyjump', 'none')),
    proxyCommand: isSet(one('proxycommand', 'none'))
      ? expandTokens(one('proxycommand', ''), place, local)
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

/** Lines of keyword and value. */
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

/** By default OpenSSH never notices that a host is gone; who has set ServerAliveInterval knows why. */
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

function agentPath(value: string, { env }: Local, path: (value: string) => string): string | undefined {
  if (!isSet(value)) return undefined;
  if (value === 'SSH_AUTH_SOCK') return env.SSH_AUTH_SOCK || undefined;
  if (value.startsWith('$')) return env[value.replace(/^\$\{?|\}$/g, '')] || undefined;
  return path(value);
}
