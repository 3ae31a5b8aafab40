import { generateKeyPair, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { KeyPair } from './key-pair.ts';

const HOUR_MS = 60 * 60 * 1000;

/** A serving certificate that is its own CA: `certificate` is also the caBundle to go with it. */
export async function selfSignedPair(dnsNames: string[], { days }: { days: number }): Promise<KeyPair> {
  // Loaded here only: node-forge takes longer to load than most commands take to run. It signs RSA alone.
  const [{ default: forge }, keys] = await Promise.all([
    import('node-forge'),
    promisify(generateKeyPair)('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    }),
  ]);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey);
  // Positive and without a leading zero byte: Go refuses anything else.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  // The nodes' clocks may be behind this machine's.
  certificate.validity.notBefore = new Date(Date.now() - HOUR_MS);
  certificate.validity.notAfter = new Date(Date.now() + days * 24 * HOUR_MS);
  const name = [{ name: 'commonName', value: 'devloop' }];
  certificate.setSubject(name);
  certificate.setIssuer(name);
  certificate.setExtensions([
    // Go takes a leaf that is among the roots as it is; other verifiers want the root to be a CA.
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, keyCertSign: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: dnsNames.map((value) => ({ type: 2, value })) },
  ]);
  certificate.sign(forge.pki.privateKeyFromPem(keys.privateKey), forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(certificate), key: keys.privateKey };
}
