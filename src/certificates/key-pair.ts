import type { KeyObject, X509Certificate } from 'node:crypto';
import { DevloopError, messageOf } from '../errors.ts';
import { certificateBlocks, privateKeyBlock, readCertificates, readPrivateKey } from './pem.ts';

export interface KeyPair {
  /** PEM: the server's own certificate first, then the chain to its CA. */
  certificate: string;
  /** The private key, in PEM. */
  key: string;
}

export interface KeyNames {
  certificate?: string;
  key?: string;
}

/** Matches names of a CA in the same Secret (cert-manager, cert-controller, OLM). A CA has a matching key, too, but must not be served. */
const OF_A_CA = /^ca[._-]|cakey$/i;

/**
 * The serving key pair of a Secret: under the given names, if any; otherwise under tls.crt and tls.key, or else any certificate and key
 * that match.
 *
 * @param data the Secret's data, in base64
 * @param object the Secret, for messages: `Secret ns/name`
 */
export function keyPairFromSecret(
  data: Record<string, string>,
  object: string,
  names: KeyNames = {},
): KeyPair {
  const texts = decode(data);
  if (texts.size === 0) {
    throw invalid(object, 'is empty', 'The controller that fills it has not done so yet, or has failed.');
  }
  const certificateName = names.certificate ?? 'tls.crt';
  const keyName = names.key ?? 'tls.key';
  const certificate = texts.get(certificateName);
  const key = texts.get(keyName);
  if (certificate !== undefined && key !== undefined) {
    const pair = { certificate, key };
    checkPair(object, pair, { certificate: certificateName, key: keyName });
    return pair;
  }
  const found = names.certificate === undefined && names.key === undefined ? findPair(texts) : undefined;
  if (found === undefined) {
    const present = [...texts.keys()].sort().join(', ');
    throw invalid(object, `has no ${certificateName} with a matching ${keyName}; it contains ${present}`);
  }
  return found;
}

function decode(data: Record<string, string>): Map<string, string> {
  const texts = Object.entries(data).map(
    ([name, value]) => [name, Buffer.from(value, 'base64').toString('utf8')] as const,
  );
  return new Map(texts.filter(([, text]) => text.trim() !== ''));
}

function checkPair(object: string, { certificate, key }: KeyPair, names: Required<KeyNames>): void {
  const chain = parse(object, names.certificate, () => readCertificates(certificate));
  if (chain[0] === undefined) throw invalid(object, `has no PEM certificate in ${names.certificate}`);
  const block = privateKeyBlock(key);
  if (block === undefined) throw invalid(object, `has no PEM private key in ${names.key}`);
  const privateKey = parse(object, names.key, () => readPrivateKey(block));
  if (chain[0].checkPrivateKey(privateKey)) return;
  // Go takes the first certificate as the server's own, so the operator cannot serve with this order either.
  const place = chain.findIndex((one) => one.checkPrivateKey(privateKey)) + 1;
  throw invalid(
    object,
    place > 0
      ? `has its certificates in the wrong order: ${names.key} matches certificate ${place} of ${names.certificate}, but it must match the first`
      : `has a ${names.key} that does not match its ${names.certificate}`,
  );
}

function parse<T>(object: string, name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid(object, `cannot be read: ${name}: ${messageOf(error)}`);
  }
}

/** The extended key usage of a certificate that a server presents. */
export const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/**
 * The CAs in a Secret, whatever their names; there are several if the next one is created ahead of time. A serving certificate that is its
 * own CA does not count, since it is meant only for its own names. A CA without DNS names does count, even if its usage allows serving,
 * because no server can use it.
 */
export function casFromSecret(data: Record<string, string>): KeyPair[] {
  const isServing = ({ subjectAltName, keyUsage = [] }: X509Certificate): boolean =>
    subjectAltName !== undefined && keyUsage.includes(SERVER_AUTH);
  const found = pairsIn([...decode(data)]).filter(({ leaf }) => leaf.ca && !isServing(leaf));
  return found.map(({ pair }) => pair);
}

function findPair(texts: Map<string, string>): KeyPair | undefined {
  const pairs = pairsIn([...texts].filter(([name]) => !OF_A_CA.test(name)));
  return (pairs.find(({ leaf }) => !leaf.ca) ?? pairs[0])?.pair;
}

function pairsIn(entries: [string, string][]): { leaf: X509Certificate; pair: KeyPair }[] {
  const keys = entries.flatMap(([, key]) => {
    const privateKey = readableKey(key);
    return privateKey === undefined ? [] : [{ key, privateKey }];
  });
  return entries.flatMap(([, certificate]) => {
    const leaf = readableLeaf(certificate);
    const fit = keys.find(({ privateKey }) => leaf?.checkPrivateKey(privateKey));
    return leaf === undefined || fit === undefined ? [] : [{ leaf, pair: { certificate, key: fit.key } }];
  });
}

function readableLeaf(text: string): X509Certificate | undefined {
  if (certificateBlocks(text).length === 0) return undefined;
  try {
    return readCertificates(text)[0];
  } catch {
    return undefined;
  }
}

function readableKey(text: string): KeyObject | undefined {
  const block = privateKeyBlock(text);
  if (block === undefined) return undefined;
  try {
    return readPrivateKey(block);
  } catch {
    return undefined;
  }
}

function invalid(object: string, what: string, hint?: string): DevloopError {
  return new DevloopError('certificate.invalid', `${object} ${what}`, hint === undefined ? {} : { hint });
}
