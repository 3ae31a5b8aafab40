import { messageOf } from '../../errors.ts';
import { agentKeys, agentSign } from './agent.ts';
import { certifiedKey } from './certificate.ts';
import type { Ask } from './host-key.ts';
import {
  type KeyFile,
  type PrivateKey,
  readKeyFile,
  readPublicKey,
  signWith,
  unlock,
} from './private-key.ts';
import type { HostSettings } from './settings.ts';
import { typeOf } from './wire.ts';

const PASSPHRASE_TRIES = 3;
const AGENT_FLAGS: Record<string, number> = { sha256: 2, sha512: 4 };

/** A key or certificate that we can offer to a host. */
export interface Identity {
  blob: Buffer;
  /** Where it comes from, for people. */
  source: string;
  /** A signature with its type in front. `hash`: sha1, sha256 or sha512, for RSA only. */
  sign(data: Buffer, hash: string): Promise<Buffer>;
}

export interface Keyring {
  ask: Ask | undefined;
  /** CommandContext keys by path: nobody wants to type a passphrase again after a drop. */
  unlocked: Map<string, PrivateKey>;
  signal: AbortSignal;
}

export interface Found {
  identities: Identity[];
  /** What could not be used, for the error where none of the others is accepted. */
  problems: string[];
}

/** In the order of OpenSSH: certificates, keys of the agent that ssh_config names, its others, then files. */
export async function gatherIdentities(host: HostSettings, keyring: Keyring): Promise<Found> {
  const problems: string[] = [];
  const inAgent = await fromAgent(host, keyring, problems);
  const files = (await Promise.all(host.identityFiles.map(readKeyFile))).filter((file) => file !== undefined);
  const inFiles: Identity[] = [];
  // One after the other: two questions at once could not be told apart.
  for (const file of files) {
    const identity = await fromFile(file, keyring, problems);
    if (identity) inFiles.push(identity);
  }
  const publicOnly = await Promise.all(host.identityFiles.map((path) => readPublicKey(`${path}.pub`)));
  const named = [...inFiles.map(({ blob }) => blob), ...publicOnly.filter((blob) => blob !== undefined)];
  const isNamed = ({ blob }: Identity): boolean =>
    named.some((one) => one.equals(certifiedKey(blob) ?? blob));
  const agentNamed = inAgent.filter(isNamed);
  const agentOthers = host.identitiesOnly ? [] : inAgent.filter((identity) => !isNamed(identity));
  const onlyInFiles = inFiles.filter(({ blob }) => !inAgent.some((one) => one.blob.equals(blob)));
  const plain = [...agentNamed, ...agentOthers, ...onlyInFiles];
  const certificates = await certificatesOf(host, [...inAgent, ...onlyInFiles]);
  return { identities: [...certificates, ...plain], problems };
}

async function certificatesOf(host: HostSettings, keys: Identity[]): Promise<Identity[]> {
  const paths = [...host.certificateFiles, ...host.identityFiles.map((path) => `${path}-cert.pub`)];
  const found = await Promise.all(paths.map(async (path) => ({ path, blob: await readPublicKey(path) })));
  return found.flatMap(({ path, blob }) => {
    const certified = blob && certifiedKey(blob);
    const key = certified && keys.find((one) => one.blob.equals(certified));
    return key ? [{ ...key, blob: blob!, source: path }] : [];
  });
}

async function fromAgent(host: HostSettings, { signal }: Keyring, problems: string[]): Promise<Identity[]> {
  const path = host.agent;
  if (path === undefined) return [];
  try {
    return (await agentKeys(path, signal)).map(({ blob, comment }) => ({
      blob,
      source: `${comment || typeOf(blob)} of the SSH agent`,
      sign: (data, hash) => agentSign(path, blob, data, { flags: AGENT_FLAGS[hash] ?? 0, signal }),
    }));
  } catch (error) {
    signal.throwIfAborted();
    problems.push(`the SSH agent at ${path} does not answer (${messageOf(error)})`);
    return [];
  }
}

/** Undefined, with its cause noted, where even the public key cannot be had. */
async function fromFile(file: KeyFile, keyring: Keyring, problems: string[]): Promise<Identity | undefined> {
  try {
    return {
      blob: file.blob ?? (await opened(file, keyring)).blob,
      source: file.path,
      sign: async (data, hash) => signWith((await opened(file, keyring)).key, data, hash),
    };
  } catch (error) {
    keyring.signal.throwIfAborted();
    problems.push(messageOf(error));
    return undefined;
  }
}

/** The private key, with its passphrase asked for where it needs one. Rejects with what a person can understand. */
async function opened(file: KeyFile, { ask, unlocked, signal }: Keyring): Promise<PrivateKey> {
  const before = unlocked.get(file.path);
  if (before) return before;
  let passphrase: string | undefined;
  for (let tries = 0; tries <= PASSPHRASE_TRIES; tries++) {
    const result = await unlock(file, passphrase);
    signal.throwIfAborted();
    if (result.kind === 'unusable') throw new Error(`${file.path} cannot be read: ${result.why}`);
    if (result.kind === 'key') {
      unlocked.set(file.path, result);
      return result;
    }
    if (!ask) throw new Error(`${file.path} needs a passphrase, and there is no terminal to ask for it`);
    if (tries === PASSPHRASE_TRIES) break;
    passphrase = await ask(`Passphrase of ${file.path}: `, { hidden: true });
  }
  throw new Error(`the passphrase of ${file.path} was wrong ${PASSPHRASE_TRIES} times`);
}
