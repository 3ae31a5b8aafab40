import {
  createSecureContext,
  DEFAULT_CIPHERS,
  type SecureContext,
  type SecureContextOptions,
} from 'node:tls';

/** Go accepts RSA keys from 1024 bits, OpenSSL at this level too, and at Node's own level from 2048. The ciphers stay Node's. */
const LOWERED = `${DEFAULT_CIPHERS}:@SECLEVEL=1`;

/** What presents a key pair, and the options for a server that makes its own. */
export interface ServerTls {
  context: SecureContext;
  options: SecureContextOptions;
}

/**
 * The context and the options with which a TLS server presents a key pair (in PEM) that Go would present. OpenSSL's security level is lowered only for a
 * pair that needs it. Throws OpenSSL's error if the pair cannot be presented at all.
 */
export function serverTls({ certificate, key }: { certificate: string; key: string }): ServerTls {
  const options = { cert: certificate, key };
  try {
    return { context: createSecureContext(options), options };
  } catch {
    const lowered = { ...options, ciphers: LOWERED };
    return { context: createSecureContext(lowered), options: lowered };
  }
}
