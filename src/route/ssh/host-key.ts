import { randomBytes } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DevloopError, messageOf } from '../../errors.ts';
import type { Emit } from '../../report/events.ts';
import { formatDestination } from './destination.ts';
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
import type { HostSettings } from './settings.ts';
import { typeOf } from './wire.ts';

export type Ask = (question: string, options: { hidden: boolean }) => Promise<string>;

/** Decides on the key of one host. */
export interface HostKeys {
  /** For the negotiation, the preferred one first. */
  algorithms: string[];
  /** Throws `ssh.host-key` where the key must not be trusted. */
  verify(key: Buffer): Promise<void>;
}

export interface Trust {
  ask: Ask | undefined;
  /** The keys that were agreed to, with their names, for as long as it lives; a known_hosts may not be writable. */
  accepted: Set<string>;
  env: Record<string, string | undefined>;
  emit: Emit;
}

export async function loadHostKeys(
  host: HostSettings,
  { ask, accepted, env, emit }: Trust,
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
          await agree({ host, key, ask, verdict });
          accepted.add(knownLine(name, key));
          await remember(host, name, key, emit);
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

/** Returns when the unknown key may be trusted. */
async function agree({ host, key, ask, verdict: { others, authority } }: Unknown): Promise<void> {
  const shown = `The key of SSH host ${nameOf(host)} (${typeOf(key)} ${fingerprint(key)})`;
  const besides = describe(others, authority);
  // A host that is known by another key may be one that stands in for it: that takes a person, or a refusal.
  if (host.unknownHosts === 'accept' && others.length === 0) return;
  if (host.unknownHosts === 'refuse' || ask === undefined) {
    throw new DevloopError('ssh.host-key', `${shown} is not known here.${besides}`, {
      hint: `Compare the fingerprint with that of the host (there: ssh-keygen -lf /etc/ssh/ssh_host_${shortType(key)}_key.pub), then accept it: ssh ${sshArguments(host)}`,
    });
  }
  const answer = await ask(`${shown} is not known here.${besides} Trust it from now on? (yes/no) `, {
    hidden: false,
  });
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new DevloopError('ssh.host-key', `${shown} was not accepted.`);
}

function describe(others: KnownLine[], authority: KnownLine | undefined): string {
  if (others.length > 0) {
    const places = others.map(({ type, file, line }) => `${type} in ${file}:${line}`).join(', ');
    return ` It is known by another key (${places}).`;
  }
  if (!authority) return '';
  return ` ${authority.file}:${authority.line} trusts a certificate authority for it, but devloop cannot check host certificates: the host's own key is needed.`;
}

/** A file that cannot be written costs no more than the same question next time. */
async function remember(host: HostSettings, name: string, key: Buffer, emit: Emit): Promise<void> {
  const file = host.userKnownHosts[0];
  if (file === undefined || file === '/dev/null') return;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const before = await readFile(file, 'utf8').catch(() => '');
    const gap = before === '' || before.endsWith('\n') ? '' : '\n';
    const line = knownLine(name, key, host.hashKnownHosts ? randomBytes(20) : undefined);
    await appendFile(file, gap + line, { mode: 0o600 });
    emit({ type: 'note', message: `Added the key of ${name} (${fingerprint(key)}) to ${file}.` });
  } catch (error) {
    emit({
      type: 'warning',
      message: `The key of ${name} could not be added to ${file}: ${messageOf(error)}`,
    });
  }
}

function changed(host: HostSettings, name: string, key: Buffer, { file, line }: KnownLine): DevloopError {
  return new DevloopError(
    'ssh.host-key',
    `SSH host ${nameOf(host)} shows another ${typeOf(key)} key (${fingerprint(key)}) than ${file}:${line} holds. Somebody may be reading along.`,
    { hint: `If the host was set up anew, forget the old key: ssh-keygen -f ${file} -R '${name}'` },
  );
}

function revoked(host: HostSettings, { file, line }: KnownLine): DevloopError {
  return new DevloopError(
    'ssh.host-key',
    `The key of SSH host ${nameOf(host)} is marked @revoked in ${file}:${line}.`,
    {
      hint: 'The host needs a new key: ask who runs it.',
    },
  );
}

function nameOf({ user, host, port }: HostSettings): string {
  return formatDestination(user, host, port);
}

function sshArguments({ user, alias, port }: HostSettings): string {
  return [...(port === 22 ? [] : ['-p', port]), `${user}@${alias}`].join(' ');
}

/** `ed25519`, `ecdsa`, `rsa`: how sshd names the files of its keys. */
function shortType(key: Buffer): string {
  return /ed25519|ecdsa|rsa/.exec(typeOf(key))?.[0] ?? 'rsa';
}
