import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DevloopError, messageOf } from '../../errors.ts';
import { shellWord } from '../../phrases.ts';
import type { Emit } from '../../report/events.ts';
import { notice } from '../../report/notices/catalogue.ts';
import {
  fingerprint,
  judge,
  type KnownLine,
  knownLine,
  knownName,
  parseKnownHosts,
  preferredAlgorithms,
} from './known-hosts.ts';
import { refuseRevoked } from './revoked.ts';
import { type HostSettings, nameOf } from './settings.ts';
import { typeOf } from './wire.ts';

export type Ask = (question: string, options: { hidden: boolean }) => Promise<string>;

/** Decides whether to trust the key of one host. */
export interface HostKeys {
  /** Signature algorithms for the key exchange, the preferred one first. */
  algorithms: string[];
  /** Rejects with `ssh.host-key` if the key must not be trusted. */
  verify(key: Buffer): Promise<void>;
}

export interface TrustContext {
  ask: Ask | undefined;
  /** Lines of known_hosts that the user accepted. They are kept here, because the file may be read-only. */
  accepted: Set<string>;
  env: Record<string, string | undefined>;
  emit: Emit;
}

export async function loadHostKeys(
  host: HostSettings,
  { ask, accepted, env, emit }: TrustContext,
): Promise<HostKeys> {
  const files = [...host.userKnownHosts, ...host.globalKnownHosts];
  const lines = (await Promise.all(files.map(readKnown))).flat();
  const name = host.hostKeyAlias ?? knownName(host.host, host.port);
  const names = [name, ...(host.hostKeyAlias ? [] : [host.host.toLowerCase()])];
  return {
    algorithms: preferredAlgorithms(lines, names),
    async verify(key) {
      if (host.revokedHostKeys !== undefined)
        await refuseRevoked(host.revokedHostKeys, key, nameOf(host), env);
      const verdict = judge(lines, names, key);
      switch (verdict.kind) {
        case 'known':
          return;
        case 'changed':
          throw changed(host, name, key, verdict.line);
        case 'revoked':
          throw revoked(host, verdict.line);
        case 'unknown':
          if (accepted.has(knownLine(name, key))) return;
          await confirmUnknown({ host, key, ask, verdict });
          accepted.add(knownLine(name, key));
          await addToKnownHosts(host, name, key, emit);
          return;
        default:
          throw verdict satisfies never;
      }
    },
  };
}

async function readKnown(file: string): Promise<KnownLine[]> {
  return parseKnownHosts(await readFile(file, 'utf8').catch(() => ''), file);
}

interface Unknown {
  host: HostSettings;
  key: Buffer;
  ask: Ask | undefined;
  verdict: { others: KnownLine[]; authority?: KnownLine };
}

/** Resolves if the unknown key can be trusted; otherwise rejects with `ssh.host-key`. */
async function confirmUnknown({ host, key, ask, verdict: { others, authority } }: Unknown): Promise<void> {
  const shown = `The key of SSH host ${nameOf(host)} (${typeOf(key)} ${fingerprint(key)})`;
  const besides = describe(others, authority);
  // A host for which known_hosts has another key may be an impostor, so a person has to decide.
  if (host.unknownHosts === 'accept' && others.length === 0) return;
  if (host.unknownHosts === 'refuse' || ask === undefined) {
    throw new DevloopError('ssh.host-key', `${shown} is not in known_hosts.${besides}`, {
      hint: `Compare the fingerprint with the host's own (on the host: ssh-keygen -lf /etc/ssh/ssh_host_${shortType(key)}_key.pub), then accept it: ssh ${sshArguments(host)}`,
    });
  }
  const answer = await ask(`${shown} is not in known_hosts.${besides} Trust it and add it? (yes/no) `, {
    hidden: false,
  });
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new DevloopError('ssh.host-key', `${shown} was not accepted.`, {
    hint: 'To accept it, run the command again and answer yes.',
  });
}

function describe(others: KnownLine[], authority: KnownLine | undefined): string {
  if (others.length > 0) {
    const places = others.map(({ type, file, line }) => `${type} in ${file}:${line}`).join(', ');
    return ` known_hosts has another key for this host (${places}).`;
  }
  if (!authority) return '';
  return ` ${authority.file}:${authority.line} trusts a certificate authority for it, but devloop cannot check host certificates and needs the host's own key.`;
}

/** Adds the key to known_hosts. If the file cannot be written, the next session asks again. */
async function addToKnownHosts(host: HostSettings, name: string, key: Buffer, emit: Emit): Promise<void> {
  const file = host.userKnownHosts[0];
  if (file === undefined || file === '/dev/null') return;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const before = await readFile(file, 'utf8').catch(() => '');
    const gap = before === '' || before.endsWith('\n') ? '' : '\n';
    const line = knownLine(name, key, host.hashKnownHosts ? randomBytes(20) : undefined);
    await appendFile(file, gap + line, { mode: 0o600 });
    const values = { host: name, fingerprint: fingerprint(key), file };
    emit(notice('route.host-key-added', values));
  } catch (error) {
    const values = { host: name, file, cause: messageOf(error) };
    emit(notice('route.host-key-not-added', values));
  }
}

function changed(host: HostSettings, name: string, key: Buffer, { file, line }: KnownLine): DevloopError {
  return new DevloopError(
    'ssh.host-key',
    `The ${typeOf(key)} key of SSH host ${nameOf(host)} (${fingerprint(key)}) differs from the one in ${file}:${line}. Somebody may be intercepting the connection.`,
    {
      hint: `If the host was reinstalled, remove its old key: ssh-keygen -f ${shellWord(file)} -R ${shellWord(name)}`,
    },
  );
}

function revoked(host: HostSettings, { file, line }: KnownLine): DevloopError {
  return new DevloopError(
    'ssh.host-key',
    `The key of SSH host ${nameOf(host)} is marked @revoked in ${file}:${line}.`,
    { hint: 'Ask the administrator of the host for a new host key.' },
  );
}

function sshArguments({ user, alias, port }: HostSettings): string {
  return [...(port === 22 ? [] : ['-p', port]), shellWord(`${user}@${alias}`)].join(' ');
}

/** `ed25519`, `ecdsa`, `rsa`: the type in the names of sshd's key files. */
function shortType(key: Buffer): string {
  return /ed25519|ecdsa|rsa/.exec(typeOf(key))?.[0] ?? 'rsa';
}
