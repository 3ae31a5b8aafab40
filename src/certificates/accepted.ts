import type { KeyObject, X509Certificate } from 'node:crypto';

/** Why kube-apiserver, as a program in Go, refuses the certificate of a server, whoever signed it; empty if it does not. */
export function refusedByGo(leaf: X509Certificate, bundle: X509Certificate[]): string[] {
  // Go verifies no signature of a certificate that is itself in the bundle.
  const isPinned = bundle.some((root) => root.raw.equals(leaf.raw));
  return [
    ...(hasAcceptedKey(leaf.publicKey)
      ? []
      : [`kube-apiserver does not accept its key (${keyText(leaf.publicKey)})`]),
    ...(isPinned || SIGNATURES.has(leaf.signatureAlgorithmOid)
      ? []
      : [
          `kube-apiserver does not accept its signature (${leaf.signatureAlgorithm ?? 'of an unknown type'})`,
        ]),
  ];
}

const CURVES = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
/** crypto/rsa refuses shorter keys. */
const LEAST_RSA_BITS = 1024;

/** The keys with which crypto/tls of Go 1.26 lets a server sign. */
function hasAcceptedKey({ asymmetricKeyType, asymmetricKeyDetails: details = {} }: KeyObject): boolean {
  if (asymmetricKeyType === 'rsa') return (details.modulusLength ?? 0) >= LEAST_RSA_BITS;
  if (asymmetricKeyType === 'ec') return CURVES.has(details.namedCurve ?? '');
  return asymmetricKeyType === 'ed25519';
}

/** The signatures that crypto/x509 of Go 1.26 verifies: SHA-256, 384 and 512 with RSA, RSA-PSS or ECDSA, and Ed25519. */
const SIGNATURES = new Set([
  ...[10, 11, 12, 13].map((last) => `1.2.840.113549.1.1.${last}`),
  ...[2, 3, 4].map((last) => `1.2.840.10045.4.3.${last}`),
  '1.3.101.112',
]);

function keyText({ asymmetricKeyType, asymmetricKeyDetails: details = {} }: KeyObject): string {
  const size = details.namedCurve ?? (details.modulusLength && `${details.modulusLength} bits`);
  return size === undefined ? `${asymmetricKeyType}` : `${asymmetricKeyType}, ${size}`;
}
