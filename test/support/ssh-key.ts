import ssh2 from 'ssh2';

/** A private key in OpenSSH's format. */
export function makeSshKey(): string {
  for (;;) {
    const made = ssh2.utils.generateKeyPairSync('ed25519');
    // One in 256 public keys begins with a zero byte. ssh2 1.17 leaves that byte out, and then cannot read its own key pair.
    if (!(ssh2.utils.parseKey(made.private) instanceof Error)) return made.private;
  }
}
