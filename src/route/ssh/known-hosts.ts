/** Looks up the key of a host in known_hosts files. */
import { createHash, createHmac } from 'node:crypto';
import { typeOf } from './wire.ts';

/** A line of a known_hosts file. */
export interface KnownLine {
  file: string;
  line: number;
  marker?: '@revoked' | '@cert-authority';
  /** Comma-separated patterns, or one hashed name. */
  hosts: string;
  type: string;
  /** The key, encoded in base64. */
  key: string;
}

export type Verdict =
  | { kind: 'known' }
  /** `others`: known keys of the host that have other types; `authority`: its certificate authority, which devloop cannot check. */
  | { kind: 'unknown'; others: KnownLine[]; authority?: KnownLine }
  | { kind: 'changed'; line: KnownLine }
  | { kind: 'revoked'; line: KnownLine };

/** Reads the entries of a file. Other lines are skipped, as OpenSSH does. */
export function parseKnownHosts(text: string, file: string): KnownLine[] {
  return text.split('\n').flatMap((content, index): KnownLine[] => {
    const fields = content.trim().split(/\s+/);
    const marker = fields[0]?.startsWith('@') ? fields.shift() : undefined;
    const [hosts, type, key] = fields;
    if (hosts === undefined || hosts.startsWith('#') || type === undefined || key === undefined) return [];
    if (marker !== undefined && marker !== '@revoked' && marker !== '@cert-authority') return [];
    return [{ file, line: index + 1, ...(marker && { marker }), hosts, type, key }];
  });
}

/** The name of a host in known_hosts. */
export function knownName(host: string, port: number): string {
  return port === 22 ? host.toLowerCase() : `[${host.toLowerCase()}]:${port}`;
}

/**
 * Judges a host's key as OpenSSH does. `names`: the host's own name, then others (the host without its port). A matching key under another
 * name also counts, unless the host has a different key of that type under its own name.
 */
export function judge(lines: KnownLine[], names: string[], key: Buffer): Verdict {
  const base64 = key.toString('base64');
  const [first] = names;
  const about = lines.filter(({ hosts }) => matchesHost(hosts, first!));
  const anywhere = lines.filter(({ hosts }) => names.some((name) => matchesHost(hosts, name)));
  const revoked = anywhere.find((line) => line.marker === '@revoked' && line.key === base64);
  if (revoked) return { kind: 'revoked', line: revoked };
  const isKnown = ({ marker, key: known }: KnownLine): boolean => marker === undefined && known === base64;
  if (about.some(isKnown)) return { kind: 'known' };
  const plain = about.filter(({ marker }) => marker === undefined);
  const changed = plain.find(({ type }) => type === typeOf(key));
  if (changed) return { kind: 'changed', line: changed };
  if (anywhere.some(isKnown)) return { kind: 'known' };
  const authority = about.find(({ marker }) => marker === '@cert-authority');
  return { kind: 'unknown', others: plain, ...(authority && { authority }) };
}

/**
 * Signature algorithms for the host key. Those with a key in known_hosts come first; otherwise a host with several keys could look unknown.
 */
export function preferredAlgorithms(lines: KnownLine[], names: string[]): string[] {
  const held = new Set(
    lines
      .filter(({ marker, hosts }) => marker === undefined && names.some((name) => matchesHost(hosts, name)))
      .map(({ type }) => type),
  );
  const known = ALGORITHMS.filter(([, type]) => held.has(type));
  return [...known, ...ALGORITHMS.filter((one) => !known.includes(one))].map(([algorithm]) => algorithm);
}

const ALGORITHMS = [
  ['ssh-ed25519', 'ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp256'],
  ['ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp384'],
  ['ecdsa-sha2-nistp521', 'ecdsa-sha2-nistp521'],
  ['rsa-sha2-512', 'ssh-rsa'],
  ['rsa-sha2-256', 'ssh-rsa'],
] as const;

export function matchesHost(hosts: string, name: string): boolean {
  if (hosts.startsWith('|1|')) return matchesHashed(hosts, name);
  const patterns = hosts.toLowerCase().split(',');
  if (patterns.some((pattern) => pattern.startsWith('!') && matchesPattern(pattern.slice(1), name)))
    return false;
  return patterns.some((pattern) => matchesPattern(pattern, name));
}

function matchesHashed(hosts: string, name: string): boolean {
  const [, , salt = '', hash = ''] = hosts.split('|');
  const actual = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest();
  return actual.equals(Buffer.from(hash, 'base64'));
}

/** This is not a regular expression, which could take minutes if the pattern has many `*` and the name does not match. */
function matchesPattern(pattern: string, name: string): boolean {
  let [at, in_] = [0, 0];
  let star = -1;
  let resumeAt = 0;
  while (in_ < name.length) {
    if (pattern[at] === '*') {
      star = at++;
      resumeAt = in_;
    } else if (pattern[at] === '?' || pattern[at] === name[in_]) {
      at++;
      in_++;
    } else if (star >= 0) {
      at = star + 1;
      in_ = ++resumeAt;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(at));
}

/** A line for known_hosts. With a `salt` (20 random bytes), the name is hashed. */
export function knownLine(name: string, key: Buffer, salt?: Buffer): string {
  const host = salt
    ? `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`
    : name;
  return `${host} ${typeOf(key)} ${key.toString('base64')}\n`;
}

/** `SHA256:…`, as ssh and ssh-keygen -l show it. */
export function fingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}
