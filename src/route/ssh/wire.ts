/** The encoding of SSH (RFC 4251): numbers of 32 bits, and strings preceded by their length. */

export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  /** Like every method of this class, throws RangeError if the bytes end too early. */
  uint32(): number {
    const value = this.#bytes.readUInt32BE(this.#at);
    this.#at += 4;
    return value;
  }

  string(): Buffer {
    const length = this.uint32();
    if (this.#at + length > this.#bytes.length) throw new RangeError('the bytes end within a string');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  text(): string {
    return this.string().toString('utf8');
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function string(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** Encodes a positive number without leading zeros, except for one if the first bit would otherwise make the number negative. */
export function mpint(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const bare = first < 0 ? Buffer.alloc(0) : bytes.subarray(first);
  return string(bare[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bare]) : bare);
}

/** `ssh-ed25519`, `rsa-sha2-512-cert-v01@openssh.com`: the first string of a public key. */
export function typeOf(blob: Buffer): string {
  return new WireReader(blob).text();
}

/** Whether this is a public key: files and agents can contain anything. */
export function isPublicKey(blob: Buffer): boolean {
  try {
    return /^[\w.@-]+$/.test(typeOf(blob));
  } catch {
    return false;
  }
}

const CERTIFICATE = '-cert-v01@openssh.com';
/** How many strings the public key consists of, after its type. */
const KEY_FIELDS: Record<string, number> = {
  'ssh-ed25519': 1,
  'ssh-rsa': 2,
  'ecdsa-sha2-nistp256': 2,
  'ecdsa-sha2-nistp384': 2,
  'ecdsa-sha2-nistp521': 2,
  'sk-ssh-ed25519@openssh.com': 2,
  'sk-ecdsa-sha2-nistp256@openssh.com': 3,
};

/** The public key in an OpenSSH certificate (PROTOCOL.certkeys); undefined for anything else, and for key types not listed above. */
export function certifiedKey(certificate: Buffer): Buffer | undefined {
  try {
    const reader = new WireReader(certificate);
    const type = reader.text();
    if (!type.endsWith(CERTIFICATE)) return undefined;
    const bare = type.slice(0, -CERTIFICATE.length);
    const plain = bare.startsWith('sk-') ? `${bare}@openssh.com` : bare;
    const fields = KEY_FIELDS[plain];
    if (fields === undefined) return undefined;
    reader.string(); // the nonce
    return Buffer.concat([string(plain), ...Array.from({ length: fields }, () => string(reader.string()))]);
  } catch {
    return undefined;
  }
}
