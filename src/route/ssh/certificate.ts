/** OpenSSH's certificates for users (PROTOCOL.certkeys). Pure. */
import { string, WireReader } from './wire.ts';

const SUFFIX = '-cert-v01@openssh.com';
/** How many strings of the public key follow on the nonce. */
const FIELDS: Record<string, number> = {
  'ssh-ed25519': 1,
  'ssh-rsa': 2,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'sk-ssh-ed25519@openssh.com': 2,
  'sk-ecdsa-sha2-nistp256@openssh.com': 3,
};

/** The public key that a certificate speaks for; undefined where it is of a kind that we do not know, or none. */
export function certifiedKey(certificate: Buffer): Buffer | undefined {
  try {
    const reader = new WireReader(certificate);
    const type = reader.text();
    if (!type.endsWith(SUFFIX)) return undefined;
    const bare = type.slice(0, -SUFFIX.length);
    const plain = bare.startsWith('sk-') ? `${bare}@openssh.com` : bare;
    const fields = FIELDS[plain];
    if (fields === undefined) return undefined;
    reader.string();
    return Buffer.concat([string(plain), ...Array.from({ length: fields }, () => string(reader.string()))]);
  } catch {
    return undefined;
  }
}

/** What to name in the request: RSA certificates are signed with SHA-2 since OpenSSH 7.8. */
export function requestType(type: string): string {
  return type === `ssh-rsa${SUFFIX}` ? `rsa-sha2-512${SUFFIX}` : type;
}
