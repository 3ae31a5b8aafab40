/** The encoding of SSH (RFC 4251): numbers of 32 bits, and strings with their length in front. Pure. */

export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  /** Throws RangeError where the bytes end too early, as every reading does. */
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

/** A positive number without leading zeros, and with one where the first bit would say that it is negative. */
export function mpint(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const bare = first < 0 ? Buffer.alloc(0) : bytes.subarray(first);
  return string(bare[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bare]) : bare);
}

/** `ssh-ed25519`, `rsa-sha2-512-cert-v01@openssh.com`: the first string of a public key. */
export function typeOf(blob: Buffer): string {
  return new WireReader(blob).text();
}
