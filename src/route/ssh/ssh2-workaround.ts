/**
 * The only file that depends on the internals of ssh2 (1.17), which has no public way to log in with a certificate or a security key:
 * - An agent must return keys that ssh2 has parsed, but `utils.parseKey` misreads certificates and rejects security keys.
 * - In its requests, ssh2 uses the type of the key as the type of the signature. But with a certificate, the certified key signs, and
 *   the signature of a security key has more fields, so the host rejects both requests.
 * Tests that log in with certificates fail if a later version of ssh2 works differently.
 */
import type { Client, ParsedKey } from 'ssh2';
import { string, typeOf } from './wire.ts';

type Ssh2 = typeof import('ssh2');

/** Any key that ssh2 can parse. */
const TEMPLATE = `ssh-ed25519 ${Buffer.concat([string('ssh-ed25519'), string(Buffer.alloc(32))]).toString('base64')}`;

/** A public key or certificate in a form that ssh2 accepts. ssh2 reads only the type and the public part. */
export function asParsedKey(ssh2: Ssh2, blob: Buffer): ParsedKey {
  const template = ssh2.utils.parseKey(TEMPLATE) as ParsedKey;
  const type = requestType(typeOf(blob));
  return Object.assign(Object.create(template) as ParsedKey, { type, getPublicSSH: () => blob });
}

/** Since OpenSSH 7.8, RSA certificates are signed with SHA-2, and the request has to name that algorithm. */
function requestType(type: string): string {
  return type === 'ssh-rsa-cert-v01@openssh.com' ? 'rsa-sha2-512-cert-v01@openssh.com' : type;
}

interface PrivateFields {
  _protocol: {
    _authsQueue: string[];
    _packetRW: {
      write: { allocStart: number; alloc(length: number): Buffer; finalize(packet: Buffer): Buffer };
    };
    _cipher: { encrypt(packet: Buffer): void };
  };
}

/**
 * Sends a signed request for publickey authentication in place of ssh2.
 * @param request what was signed: the session's id, then the request without its signature
 * @param signature preceded by its type
 */
export function sendSigned(client: Client, request: Buffer, signature: Buffer): void {
  const protocol = (client as unknown as PrivateFields)._protocol;
  const body = Buffer.concat([request.subarray(4 + request.readUInt32BE(0)), string(signature)]);
  const { write } = protocol._packetRW;
  const packet = write.alloc(body.length);
  packet.set(body, write.allocStart);
  protocol._authsQueue.push('publickey');
  protocol._cipher.encrypt(write.finalize(packet));
}
