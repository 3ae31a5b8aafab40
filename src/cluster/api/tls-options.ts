import { X509Certificate } from 'node:crypto';
import type { AgentOptions } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext } from 'node:tls';
import { certificatesIn, systemAuthorities } from '../../machine/system-authorities.ts';
import type { Cluster } from './kubeconfig-file.ts';

/** A client certificate and its key as PEM, or neither. */
export interface Identity {
  cert?: string;
  key?: string;
}

/**
 * How to verify the server, and who the client is, with the certificates read once: Node would read them for each connection. Throws if they
 * cannot be read.
 */
export function tlsOptions(
  cluster: Cluster,
  { cert, key }: Identity,
  env: Record<string, string | undefined>,
): AgentOptions {
  const name = cluster.tlsServerName;
  const secureContext = createSecureContext({
    ca: authoritiesOf(cluster) ?? systemAuthorities(env),
    // As in Go, the certificate authority of a kubeconfig can be an intermediate one, or the server's own certificate.
    allowPartialTrustChain: true,
    // Go accepts RSA keys of 1024 bits, but no signature with SHA-1, as this level does.
    ciphers: 'DEFAULT@SECLEVEL=1',
    ...{ cert, key },
  });
  return {
    secureContext,
    minVersion: 'TLSv1.2',
    // Without this, the variable NODE_TLS_REJECT_UNAUTHORIZED would decide.
    rejectUnauthorized: !cluster.skipTLSVerify,
    // An address is verified, but not sent.
    ...(name === '' ? {} : { servername: isIP(name) === 0 ? name : '' }),
    checkServerIdentity: (host, certificate) =>
      // Go ignores the common name, which Node uses if there is no other name.
      certificate.subjectaltname
        ? checkServerIdentity(name || host, certificate)
        : Object.assign(new Error('it contains no subject alternative name'), {
            code: 'ERR_TLS_CERT_ALTNAME_INVALID',
          }),
  };
}

/** Undefined if the kubeconfig names none. */
function authoritiesOf({ caData }: Cluster): string[] | undefined {
  const text = Buffer.from(caData, 'base64').toString();
  if (text === '') return undefined;
  const found = certificatesIn(text).filter(isCertificate);
  if (found.length === 0) throw new Error('the certificate authority contains no certificate');
  return found;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}
