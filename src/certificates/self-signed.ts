import { generateKeyPair, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { bits, boolean, integer, octets, oid, sequence, set, tagged, time, utf8 } from './der.ts';
import type { KeyPair } from './key-pair.ts';

const HOUR_MS = 60 * 60 * 1000;
const SHA256_WITH_ECDSA = sequence(oid('1.2.840.10045.4.3.2'));

/**
 * A serving certificate that is its own CA: `certificate` is also the caBundle to go with it. Of an elliptic curve, and written
 * here: to load a library for it and to make an RSA key takes a quarter of a second, for which `up` would wait.
 */
export async function selfSignedPair(dnsNames: string[], { days }: { days: number }): Promise<KeyPair> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'prime256v1' });
  const content = unsigned(dnsNames, days, publicKey.export({ type: 'spki', format: 'der' }));
  const certificate = sequence(content, SHA256_WITH_ECDSA, bits(sign('sha256', content, privateKey)));
  return {
    certificate: pem(certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function unsigned(dnsNames: string[], days: number, publicKey: Buffer): Buffer {
  const name = sequence(set(sequence(oid('2.5.4.3'), utf8('devloop'))));
  // The nodes' clocks may be behind this machine's.
  const since = new Date(Date.now() - HOUR_MS);
  const until = new Date(Date.now() + days * 24 * HOUR_MS);
  return sequence(
    tagged(0xa0, integer(2)),
    // Positive and without a leading zero byte: Go refuses anything else.
    integer(1, ...randomBytes(15)),
    SHA256_WITH_ECDSA,
    name,
    sequence(time(since), time(until)),
    name,
    publicKey,
    tagged(0xa3, extensions(dnsNames)),
  );
}

function extensions(dnsNames: string[]): Buffer {
  const extension = (id: string, value: Buffer, ...critical: Buffer[]): Buffer =>
    sequence(oid(id), ...critical, octets(value));
  const digitalSignatureAndCertSign = bits(Buffer.from([0b1000_0100]), 2);
  return sequence(
    // Go takes a leaf that is among the roots as it is; other verifiers want the root to be a CA.
    extension('2.5.29.19', sequence(boolean(true)), boolean(true)),
    extension('2.5.29.15', digitalSignatureAndCertSign, boolean(true)),
    extension('2.5.29.37', sequence(oid('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', sequence(...dnsNames.map((dnsName) => tagged(0x82, Buffer.from(dnsName))))),
  );
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
