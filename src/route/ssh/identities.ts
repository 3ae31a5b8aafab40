import { messageOf } from '../../errors.ts';
import { agentKeys, agentSign } from './agent.ts';
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
import { certifiedKey, isPublicKey, typeOf } from './wire.ts';

const PASSPHRASE_TRIES = 3;
const AGENT_FLAGS: Record<string, number> = { sha256: 2, sha512: 4 };

/** A key or certificate to offer to a host. */
export interface Identity {
  /** The public key or certificate. */
  blob: Buffer;
  /** Where it comes from, for display: a path, or the agent. */
  source: string;
  /** Resolves with a signature, preceded by its type. `hash`: sha1, sha256 or sha512, for RSA only. */
  sign(data: Buffer, hash: string): Promise<Buffer>;
}

export interface Keyring {
  ask: Ask | undefined;
  /** Unlocked keys by path, so that reconnecting does not ask for passphrases again. */
  unlocked: Map<string, PrivateKey>;
  signal: AbortSignal;
}

export interface FoundIdentities {
  identities: Identity[];
  /** Why other identities could not be used. They are reported if the host accepts none. */
  problems: string[];
}

/**
 * The identities in the order of OpenSSH: certificates, the agent's keys that ssh_config names, the agent's other keys, then the keys in
 * files.
 */
export async function findIdentities(host: HostSettings, keyring: Keyring): Promise<FoundIdentities> {
  const problems: string[] = [];
  const inAgent = await fromAgent(host, keyring, problems);
  const files = (await Promise.all(host.identityFiles.map(readKeyFile))).filter((file) => file !== undefined);
  const inFiles: Identity[] = [];
  // The files are read one after the other, because each may need a passphrase from the user.
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
    const keys = (await agentKeys(path, signal)).filter(({ blob }) => isPublicKey(blob));
    return keys.map(({ blob, comment }) => ({
      blob,
      source: `${comment || typeOf(blob)} from the SSH agent`,
      sign: (data, hash) => agentSign(path, blob, data, { flags: AGENT_FLAGS[hash] ?? 0, signal }),
    }));
  } catch (error) {
    signal.throwIfAborted();
    problems.push(`the SSH agent at ${path} could not be used (${messageOf(error)})`);
    return [];
  }
}

/** Returns the identity in a file. If even the public key cannot be read, adds a problem and returns undefined. */
async function fromFile(file: KeyFile, keyring: Keyring, problems: string[]): Promise<Identity | undefined> {
  try {
    return {
      blob: file.blob ?? (await unlockedKey(file, keyring)).blob,
      source: file.path,
      sign: async (data, hash) => signWith((await unlockedKey(file, keyring)).key, data, hash),
    };
  } catch (error) {
    keyring.signal.throwIfAborted();
    problems.push(messageOf(error));
    return undefined;
  }
}

/** The private key. Asks for its passphrase if it has one. Rejects with a message that the user can read. */
async function unlockedKey(file: KeyFile, { ask, unlocked, signal }: Keyring): Promise<PrivateKey> {
  const before = unlocked.get(file.path);
  if (before) return before;
  let passphrase: string | undefined;
  for (let tries = 0; tries <= PASSPHRASE_TRIES; tries++) {
    const result = await unlock(file, passphrase);
    signal.throwIfAborted();
    if (result.kind === 'unusable') throw new Error(`${file.path} could not be read: ${result.why}`);
    if (result.kind === 'key') {
      unlocked.set(file.path, result);
      return result;
    }
    if (!ask) throw new Error(`${file.path} needs a passphrase, but there is no terminal to ask for it`);
    if (tries === PASSPHRASE_TRIES) break;
    passphrase = await ask(`Passphrase of ${file.path}: `, { hidden: true });
  }
  throw new Error(`the passphrase of ${file.path} was wrong ${PASSPHRASE_TRIES} times`);
}
