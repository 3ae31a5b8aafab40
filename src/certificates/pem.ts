import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
// Matches any label with this ending: PKCS1, PKCS8 and SEC1 are all in use, and openssl writes an EC PARAMETERS block before the key.
const BEGIN_PRIVATE_KEY = /-----BEGIN ((?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY)-----/;

export function certificateBlocks(text: string): string[] {
  return text.match(CERTIFICATE) ?? [];
}

/** The block that the first BEGIN line opens. Searching for the end of each block would take minutes if a Secret is full of BEGIN lines. */
export function privateKeyBlock(text: string): string | undefined {
  const begin = BEGIN_PRIVATE_KEY.exec(text);
  if (begin === null) return undefined;
  const last = `-----END ${begin[1]}-----`;
  const end = text.indexOf(last, begin.index);
  return end < 0 ? undefined : text.slice(begin.index, end + last.length);
}

/** All certificates of a PEM text, in order. Throws on the first one that cannot be read. */
export function readCertificates(text: string): X509Certificate[] {
  return certificateBlocks(text).map((block) => new X509Certificate(block));
}

/** The certificates that can be read. Go does the same with a caBundle, and skips the rest. */
export function readableCertificates(text: string): X509Certificate[] {
  return certificateBlocks(text).flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** Throws if the key is encrypted or damaged. */
export function readPrivateKey(block: string): KeyObject {
  return createPrivateKey(block);
}
