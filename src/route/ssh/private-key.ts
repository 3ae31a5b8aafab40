import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isPublicKey, mpint, string, WireReader } from './wire.ts';

const ARMOUR = /-----BEGIN OPENSSH PRIVATE KEY-----([\s\S]+)-----END OPENSSH PRIVATE KEY-----/;
const MAGIC = 'openssh-key-v1\0';

/** The file of a private key, which may be encrypted. */
export interface KeyFile {
  path: string;
  text: string;
  /** The public key; undefined if only the passphrase would reveal it (an encrypted PEM file without its .pub). */
  blob?: Buffer;
}

/** Reads the file of a private key. Resolves to undefined if there is no such file, or no private key in it. */
export async function readKeyFile(path: string): Promise<KeyFile | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (!text.includes('PRIVATE KEY')) return undefined;
  const blob = publicPart(text) ?? (await readPublicKey(`${path}.pub`));
  return { path, text, ...(blob && { blob }) };
}

/** The public key or certificate in a file with one line: `type base64 comment`; undefined if the file contains neither. */
export async function readPublicKey(path: string): Promise<Buffer | undefined> {
  const [, base64] = (await readFile(path, 'utf8').catch(() => '')).trim().split(/\s+/);
  const blob = Buffer.from(base64 ?? '', 'base64');
  return isPublicKey(blob) ? blob : undefined;
}

/** The public key, which precedes the encrypted part. With it, devloop asks for the passphrase only if the host accepts the key. */
function publicPart(text: string): Buffer | undefined {
  const armoured = ARMOUR.exec(text)?.[1];
  if (armoured === undefined) return undefined;
  const bytes = Buffer.from(armoured, 'base64');
  if (!bytes.toString('latin1').startsWith(MAGIC)) return undefined;
  try {
    const reader = new WireReader(bytes.subarray(MAGIC.length));
    for (const _ of ['cipher', 'key derivation', 'its options']) reader.string();
    const blob = reader.uint32() === 1 ? reader.string() : Buffer.alloc(0);
    return isPublicKey(blob) ? blob : undefined;
  } catch {
    return undefined;
  }
}

export interface PrivateKey {
  key: KeyObject;
  /** The public key. */
  blob: Buffer;
}

export type Unlocked =
  | ({ kind: 'key' } & PrivateKey)
  | { kind: 'locked' }
  | { kind: 'unusable'; why: string };

/** Reads a private key. `locked`: the key needs a passphrase, or a different one. */
export async function unlock({ text }: KeyFile, passphrase: string | undefined): Promise<Unlocked> {
  const { utils } = (await import('ssh2')).default;
  const parsed = utils.parseKey(text, passphrase);
  if (parsed instanceof Error) {
    const locked = /passphrase|encrypted|decrypt|integrity|bad|malformed private/i.test(parsed.message);
    return locked && isEncrypted(text) ? { kind: 'locked' } : { kind: 'unusable', why: parsed.message };
  }
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  try {
    return { kind: 'key', key: createPrivateKey(key.getPrivatePEM()), blob: key.getPublicSSH() };
  } catch {
    return { kind: 'unusable', why: 'devloop does not support this kind of key' };
  }
}

function isEncrypted(text: string): boolean {
  const armoured = ARMOUR.exec(text)?.[1];
  if (armoured === undefined) return text.includes('ENCRYPTED');
  return new WireReader(Buffer.from(armoured, 'base64').subarray(MAGIC.length)).text() !== 'none';
}

/** A signature as it is sent, preceded by its type. `hash`: sha1, sha256 or sha512, for RSA only. */
export function signWith(key: KeyObject, data: Buffer, hash: string): Buffer {
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return Buffer.concat([string('ssh-ed25519'), string(sign(null, data, key))]);
    case 'rsa':
      return Buffer.concat([string(RSA_TYPES[hash]!), string(sign(hash, data, key))]);
    case 'ec': {
      const { curve, digest } = CURVES[key.asymmetricKeyDetails?.namedCurve ?? '']!;
      const raw = sign(digest, data, { key, dsaEncoding: 'ieee-p1363' });
      const half = raw.length / 2;
      const pair = Buffer.concat([mpint(raw.subarray(0, half)), mpint(raw.subarray(half))]);
      return Buffer.concat([string(`ecdsa-sha2-${curve}`), string(pair)]);
    }
    default:
      throw new Error(`keys of type ${key.asymmetricKeyType} are not supported`);
  }
}

const RSA_TYPES: Record<string, string> = { sha1: 'ssh-rsa', sha256: 'rsa-sha2-256', sha512: 'rsa-sha2-512' };
const CURVES: Record<string, { curve: string; digest: string }> = {
  prime256v1: { curve: 'nistp256', digest: 'sha256' },
  secp384r1: { curve: 'nistp384', digest: 'sha384' },
  secp521r1: { curve: 'nistp521', digest: 'sha512' },
};
