import ssh2 from 'ssh2';

/** A private key in OpenSSH's form. */
export function makeSshKey(): string {
  for (;;) {
    const made = ssh2.utils.generateKeyPairSync('ed25519');
    // One in 256 public keys begins with a zero byte, which ssh2 1.17 leaves out; it cannot read that pair itself then.
    if (!(ssh2.utils.parseKey(made.private) instanceof Error)) return made.private;
  }
}
