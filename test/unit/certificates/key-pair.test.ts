import { createSecureContext } from 'node:tls';
import { expect, test } from 'vitest';
import { type KeyNames, keyPairFromSecret } from '../../../src/certificates/key-pair.ts';
import { convertKey, EC, ED25519, issue, RSA } from './openssl.ts';

const ca = issue({ ca: true, subject: '/CN=ca' });
const pair = issue({ issuer: ca });
const other = issue({ issuer: ca });

function read(files: Record<string, string>, names?: KeyNames) {
  const data = Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
  return keyPairFromSecret(Object.fromEntries(data), 'Secret ns/name', names);
}

function refusal(files: Record<string, string>, names?: KeyNames): { code: string; message: string } {
  try {
    read(files, names);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error('was not refused');
}

test.each([
  ['RSA', RSA],
  ['ECDSA', EC],
  ['Ed25519', ED25519],
])('an %s pair is read and can be served', (_, key) => {
  const made = issue({ key });
  expect(read({ 'tls.crt': made.certificate, 'tls.key': made.key })).toEqual(made);
  createSecureContext({ cert: made.certificate, key: made.key });
});

test.each([
  ['PKCS1', RSA, ['rsa', '-traditional'], 'BEGIN RSA PRIVATE KEY'],
  ['SEC1', EC, ['ec'], 'BEGIN EC PRIVATE KEY'],
])('a key in %s is read and can be served', (_, kind, args, label) => {
  const made = issue({ key: kind });
  const key = convertKey(made.key, ...args);
  expect(key).toContain(label);
  expect(read({ 'tls.crt': made.certificate, 'tls.key': key }).key).toBe(key);
  createSecureContext({ cert: made.certificate, key });
});

test('parameters before an EC key and text around a certificate do no harm', () => {
  const parameters = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
  const key = parameters + convertKey(pair.key, 'ec');
  const certificate = `subject=x - y\n${pair.certificate}`;
  expect(read({ 'tls.crt': certificate, 'tls.key': key })).toEqual({ certificate, key });
  createSecureContext({ cert: certificate, key });
});

test('the search for a key ends at a beginning without an end, so it reads a Secret once', () => {
  const key = `-----BEGIN EC PRIVATE KEY-----\n${pair.key}`;
  expect(refusal({ 'tls.crt': pair.certificate, 'tls.key': key }).code).toBe('certificate.invalid');
});

test('a chain is kept whole', () => {
  const certificate = pair.certificate + ca.certificate;
  expect(read({ 'tls.crt': certificate, 'tls.key': pair.key }).certificate).toBe(certificate);
});

test('a pair under other names is found by its content, and never the one of the CA', () => {
  const files = {
    'a.crt': other.certificate,
    'apiserver.crt': pair.certificate,
    'apiserver.key': pair.key,
    'ca.crt': ca.certificate,
    'ca.key': ca.key,
    olmCAKey: ca.key,
  };
  expect(read(files)).toEqual(pair);
  expect(refusal({ 'ca.crt': ca.certificate, 'ca.key': ca.key }).code).toBe('certificate.invalid');
  expect(
    read({ 'z.crt': ca.certificate, 'z.key': ca.key, 's.crt': pair.certificate, 's.key': pair.key }),
  ).toEqual(pair);
});

test('names that were given are the only ones', () => {
  const files = {
    'tls.crt': other.certificate,
    'tls.key': other.key,
    'a.crt': pair.certificate,
    'a.key': pair.key,
  };
  expect(read(files, { certificate: 'a.crt', key: 'a.key' })).toEqual(pair);
  expect(refusal(files, { certificate: 'b.crt', key: 'a.key' }).message).toMatch(
    /^Secret ns\/name .*b\.crt .*a\.key.* a\.crt, a\.key, tls\.crt, tls\.key$/,
  );
});

test.each([
  ['empty', {}, 'Secret ns/name is empty'],
  ['filled with nothing', { 'tls.crt': '', 'tls.key': '\n' }, 'Secret ns/name is empty'],
  [
    'without a certificate',
    { 'tls.key': pair.key },
    'Secret ns/name has no tls.crt with a matching tls.key; it contains tls.key',
  ],
  [
    'with a certificate that is none',
    { 'tls.crt': 'x', 'tls.key': pair.key },
    'has no PEM certificate in tls.crt',
  ],
  [
    'with a key that is none',
    { 'tls.crt': pair.certificate, 'tls.key': pair.certificate },
    'has no PEM private key in tls.key',
  ],
  [
    'with a damaged certificate',
    { 'tls.crt': pair.certificate.replace('MII', 'AAA'), 'tls.key': pair.key },
    'cannot be read: tls.crt: ',
  ],
  [
    'with a damaged key',
    { 'tls.crt': pair.certificate, 'tls.key': pair.key.replace('MI', 'AA') },
    'cannot be read: tls.key: ',
  ],
  [
    'with the key of another',
    { 'tls.crt': pair.certificate, 'tls.key': other.key },
    'has a tls.key that does not match its tls.crt',
  ],
  [
    'with its chain upside down',
    { 'tls.crt': ca.certificate + pair.certificate, 'tls.key': pair.key },
    'tls.key matches certificate 2 of tls.crt, but it must match the first',
  ],
] as [string, Record<string, string>, string][])('a Secret %s is refused', (_, files, message) => {
  expect(refusal(files)).toMatchObject({
    code: 'certificate.invalid',
    message: expect.stringContaining(message),
  });
});

test('an encrypted key is refused', () => {
  const key = convertKey(pair.key, 'pkcs8', '-topk8', '-passout', 'pass:x');
  expect(refusal({ 'tls.crt': pair.certificate, 'tls.key': key }).code).toBe('certificate.invalid');
});
