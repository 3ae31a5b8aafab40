import {
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIPv4 } from 'node:net';
import { promisify } from 'node:util';
import type { asn1 as Asn1 } from 'node-forge';
import { type KeyPair, SERVER_AUTH } from './key-pair.ts';

const HOUR_MS = 60 * 60 * 1000;
const COMMON_NAME = '2.5.4.3';
const EXTENSIONS = {
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extKeyUsage: '2.5.29.37',
  subjectAltName: '2.5.29.17',
};

/** How a key of this type signs: the algorithm's identifier, whether a NULL follows it, and the digest. */
const ALGORITHMS: Record<string, { oid: string; hasNull: boolean; digest: string | null }> = {
  ec: { oid: '1.2.840.10045.4.3.2', hasNull: false, digest: 'sha256' },
  rsa: { oid: '1.2.840.113549.1.1.11', hasNull: true, digest: 'sha256' },
  ed25519: { oid: '1.3.101.112', hasNull: false, digest: null },
};

export interface Wanted {
  /** DNS names and IPv4 addresses. */
  serverNames: string[];
  notAfter: Date;
  /** The CA that signs the certificate; absent for a certificate that is its own CA. */
  issuer?: KeyPair;
}

/**
 * Issues a serving certificate with a new key. If there is an issuer, its certificate follows. The key is for an elliptic curve, because
 * such keys are generated instantly. node-forge supports only RSA certificates, so only its ASN.1 writer is used. Throws if the issuer's
 * key has a type that is not in `ALGORITHMS`.
 */
export async function issuePair({ serverNames, notAfter, issuer }: Wanted): Promise<KeyPair> {
  // Only this part is imported, and lazily: all of node-forge takes longer to load than most commands take to run.
  const [{ default: asn1 }, keys] = await Promise.all([
    import('node-forge/lib/asn1.js'),
    promisify(generateKeyPair)('ec', { namedCurve: 'prime256v1' }),
  ]);
  const write = writer(asn1);
  const signingKey = issuer === undefined ? keys.privateKey : createPrivateKey(issuer.key);
  const { oid, hasNull, digest } = algorithmOf(signingKey);
  const algorithm = write.sequence(write.oid(oid), ...(hasNull ? [write.nothing()] : []));
  const publicKey = asn1.fromDer(keys.publicKey.export({ type: 'spki', format: 'der' }).toString('binary'));
  const name = write.sequence(write.set(write.sequence(write.oid(COMMON_NAME), write.utf8('devloop'))));
  const content = write.sequence(
    write.tagged(0, write.integer(Buffer.from([2]))),
    // The serial number is positive and has no leading zero byte: Go refuses anything else.
    write.integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    issuer === undefined ? name : subjectOf(asn1, issuer),
    // The clocks of the nodes can be behind this machine's clock.
    write.sequence(write.time(new Date(Date.now() - HOUR_MS)), write.time(notAfter)),
    name,
    publicKey,
    write.tagged(3, write.extensions(serverNames, issuer === undefined)),
  );
  const signature = sign(digest, write.der(content), signingKey);
  const certificate = pem(write.der(write.sequence(content, algorithm, write.bits(signature))));
  return {
    certificate: certificate + (issuer?.certificate ?? ''),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function algorithmOf({ asymmetricKeyType: type }: KeyObject): (typeof ALGORITHMS)[string] {
  const algorithm = ALGORITHMS[type ?? ''];
  if (algorithm === undefined) throw new TypeError(`a key of type ${type} cannot sign a certificate`);
  return algorithm;
}

/** The issuer's subject, byte for byte, because verifiers compare the issuer's name with it. */
function subjectOf(asn1: typeof Asn1, { certificate }: KeyPair): Asn1.Asn1 {
  const { raw } = new X509Certificate(certificate);
  const whole = asn1.fromDer(raw.toString('binary'));
  const fields = (whole.value[0] as Asn1.Asn1).value as Asn1.Asn1[];
  // The version comes first, except in certificates of version 1; then serial number, algorithm, issuer, dates, subject.
  const isVersioned = fields[0]!.tagClass === asn1.Class.CONTEXT_SPECIFIC;
  return fields[isVersioned ? 5 : 4]!;
}

/** The ASN.1 elements of a certificate. */
function writer(asn1: typeof Asn1) {
  const { UNIVERSAL, CONTEXT_SPECIFIC } = asn1.Class;
  const { Type } = asn1;
  const one = (type: Asn1.Type, value: string | Asn1.Asn1[]): Asn1.Asn1 =>
    asn1.create(UNIVERSAL, type, Array.isArray(value), value);
  const sequence = (...content: Asn1.Asn1[]): Asn1.Asn1 => one(Type.SEQUENCE, content);
  const oid = (dotted: string): Asn1.Asn1 => one(Type.OID, asn1.oidToDer(dotted).getBytes());
  const der = (value: Asn1.Asn1): Buffer => Buffer.from(asn1.toDer(value).getBytes(), 'binary');
  const bits = (content: Buffer, unused = 0): Asn1.Asn1 =>
    one(Type.BITSTRING, String.fromCharCode(unused) + content.toString('binary'));
  const yes = one(Type.BOOLEAN, '\xff');
  const extension = (id: string, value: Asn1.Asn1, ...critical: Asn1.Asn1[]): Asn1.Asn1 =>
    sequence(oid(id), ...critical, one(Type.OCTETSTRING, der(value).toString('binary')));
  const usage = (isCa: boolean): Asn1.Asn1 =>
    isCa ? bits(Buffer.from([0b1000_0100]), 2) : bits(Buffer.from([0b1000_0000]), 7);
  return {
    sequence,
    oid,
    der,
    bits,
    nothing: () => one(Type.NULL, ''),
    set: (...content: Asn1.Asn1[]) => one(Type.SET, content),
    utf8: (text: string) => one(Type.UTF8, text),
    integer: (bytes: Buffer) => one(Type.INTEGER, bytes.toString('binary')),
    tagged: (tag: number, content: Asn1.Asn1) =>
      asn1.create(CONTEXT_SPECIFIC, tag as Asn1.Type, true, [content]),
    // X.509 writes years before 2050 with two digits.
    time(date: Date) {
      return date.getUTCFullYear() < 2050
        ? one(Type.UTCTIME, String(asn1.dateToUtcTime(date)))
        : one(Type.GENERALIZEDTIME, String(asn1.dateToGeneralizedTime(date)));
    },
    extensions: (serverNames: string[], isCa: boolean) =>
      sequence(
        // Go accepts a leaf that is among the roots; other verifiers require the root to be a CA.
        extension(EXTENSIONS.basicConstraints, sequence(...(isCa ? [yes] : [])), yes),
        extension(EXTENSIONS.keyUsage, usage(isCa), yes),
        extension(EXTENSIONS.extKeyUsage, sequence(oid(SERVER_AUTH))),
        extension(
          EXTENSIONS.subjectAltName,
          sequence(...serverNames.map((name) => alternativeName(asn1, name))),
        ),
      ),
  };
}

function alternativeName(asn1: typeof Asn1, name: string): Asn1.Asn1 {
  const [tag, value] = isIPv4(name) ? [7, String.fromCharCode(...name.split('.').map(Number))] : [2, name];
  return asn1.create(asn1.Class.CONTEXT_SPECIFIC, tag as Asn1.Type, false, value);
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
