import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { inspect } from '../../../src/certificates/inspect.ts';
import { issuePair } from '../../../src/certificates/issue.ts';
import { keyPairFromSecret } from '../../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { EC, ED25519, issue, NAME, RSA, verify } from './openssl.ts';

test('a self-signed pair is its own caBundle, for openssl and for our own inspection', async () => {
  const names = ['probe.ns.svc', 'b.ns.svc'];
  const pair = await selfSignedPair(names, { days: 2 });
  expect(verify(pair.certificate, pair.certificate, 'probe.ns.svc')).toContain('OK');
  const now = new Date();
  const { facts, problems } = inspect(pair, { serverNames: names, caBundle: pair.certificate, now });
  expect(problems).toEqual([]);
  expect(facts.names).toEqual(names);
  expect(Math.round((facts.notAfter.getTime() - now.getTime()) / 3_600_000)).toBe(48);
  const data = { 'tls.crt': pair.certificate, 'tls.key': pair.key };
  const encoded = Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
  expect(keyPairFromSecret(Object.fromEntries(encoded), 'Secret ns/name')).toEqual(pair);
});

test('a self-signed certificate of many names that ends late says so to others', async () => {
  const names = Array.from({ length: 300 }, (_, index) => `name-${index}.ns.svc`);
  const { certificate } = await selfSignedPair(names, { days: 365 * 50 });
  const read = new X509Certificate(certificate);
  expect(read.subjectAltName).toBe(names.map((name) => `DNS:${name}`).join(', '));
  expect(read.validToDate.getUTCFullYear()).toBeGreaterThanOrEqual(2075);
  expect(read.verify(read.publicKey)).toBe(true);
  expect(read.ca).toBe(true);
});

test.each([
  ['RSA', RSA],
  ['elliptic curve', EC],
  ['Ed25519', ED25519],
])('a CA with a key of type %s signs a serving certificate that ends when it should', async (_, key) => {
  const issuer = issue({ key, ca: true, subject: '/CN=shop CA', names: [] });
  const notAfter = new Date('2060-01-01T00:00:00Z');
  const pair = await issuePair({ serverNames: [NAME], notAfter, issuer });
  const now = new Date();
  const { facts, problems } = inspect(pair, { serverNames: [NAME], caBundle: issuer.certificate, now });
  expect(problems).toEqual([]);
  expect(facts).toMatchObject({ names: [NAME], notAfter, issuer: 'CN=shop CA' });
  expect(new X509Certificate(pair.certificate).ca).toBe(false);
  expect(verify(pair.certificate, issuer.certificate, NAME, { strict: false })).toContain('OK');
  const other = issue({ key, ca: true, subject: '/CN=shop CA', names: [] });
  expect(inspect(pair, { serverNames: [NAME], caBundle: other.certificate, now }).problems).toMatchObject([
    { severity: 'error' },
  ]);
});

test('an intermediate CA signs a certificate that is trusted by its root', async () => {
  const root = issue({ ca: true, subject: '/CN=root', names: [] });
  const issuer = issue({ key: RSA, ca: true, subject: '/CN=shop CA', names: [], issuer: root });
  const notAfter = new Date('2040-01-01T00:00:00Z');
  const pair = await issuePair({ serverNames: [NAME], notAfter, issuer });
  const expected = { serverNames: [NAME], caBundle: root.certificate, now: new Date() };
  expect(inspect(pair, expected).problems).toEqual([]);
});
