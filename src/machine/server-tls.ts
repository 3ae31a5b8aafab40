import { createSecureContext, DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls';

/** Go accepts RSA keys from 1024 bits, OpenSSL at this level too, and at Node's own level from 2048. The ciphers stay Node's. */
const LOWERED = `${DEFAULT_CIPHERS}:@SECLEVEL=1`;

/**
 * The options with which a TLS server presents a key pair (in PEM) that Go would present. OpenSSL's security level is lowered only for a
 * pair that needs it. Throws OpenSSL's error if the pair cannot be presented at all.
 */
export function serverTls({ certificate, key }: { certificate: string; key: string }): SecureContextOptions {
  const options = { cert: certificate, key };
  try {
    createSecureContext(options);
    return options;
  } catch {
    const lowered = { ...options, ciphers: LOWERED };
    createSecureContext(lowered);
    return lowered;
  }
}
