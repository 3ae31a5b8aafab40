import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inspect } from '../../../src/certificates/inspect.ts';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { createTlsServer, listen } from '../../../src/gateway/tls.ts';
import { EC, ED25519, issue, NAME, RSA } from './openssl.ts';

const CLIENT = join(import.meta.dirname, '../../fixtures/certificates/dial');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devloop-dial-'));
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' };
  execFileSync('go', ['build', '-o', join(folder, 'dial'), '.'], { cwd: CLIENT, env, stdio: 'pipe' });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What a client in Go says about devloop's server with this key pair; it verifies as kube-apiserver does. */
async function dialled(pair: KeyPair, caBundle: string): Promise<string> {
  const tls = createTlsServer({ warn: () => {}, stranger: () => {} });
  try {
    tls.present(NAME, pair);
  } catch (error) {
    return `not presented: ${error}`;
  }
  await listen(tls.server, '127.0.0.1', 0);
  const { port } = tls.server.address() as AddressInfo;
  const bundle = join(folder, 'bundle.pem');
  writeFileSync(bundle, caBundle);
  try {
    return (
      await promisify(execFile)(join(folder, 'dial'), [`127.0.0.1:${port}`, NAME, bundle])
    ).stdout.trim();
  } finally {
    tls.server.closeAllConnections();
    await new Promise((resolve) => tls.server.close(resolve));
  }
}

const rsa = (bits: number): string[] => ['-algorithm', 'RSA', '-pkeyopt', `rsa_keygen_bits:${bits}`];
const ec = (curve: string): string[] => ['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`];
const authority = (key: string[]): KeyPair => issue({ ca: true, subject: '/CN=ca', key });
const ca = authority(RSA);
const weak = authority(rsa(1024));
const pinned = issue({ key: RSA, digest: 'sha1' });

const ACCEPTED: [string, KeyPair, string?][] = [
  ['RSA, 2048 bits', issue({ issuer: ca, key: RSA })],
  ['RSA, 1536 bits', issue({ issuer: ca, key: rsa(1536) })],
  ['RSA, 1024 bits', issue({ issuer: ca, key: rsa(1024) })],
  ['P-256', issue({ issuer: ca, key: EC })],
  ['P-384', issue({ issuer: ca, key: ec('P-384') })],
  ['P-521', issue({ issuer: ca, key: ec('P-521') })],
  ['Ed25519', issue({ issuer: ca, key: ED25519 })],
  ['SHA-512', issue({ issuer: ca, digest: 'sha512' })],
  ['SHA-1 of a certificate that is its own caBundle', pinned, pinned.certificate],
  ['a chain with a CA of 1024 bits', withChain(issue({ issuer: weak }), weak), weak.certificate],
];

const REFUSED: [string, KeyPair, RegExp][] = [
  ['RSA, 1023 bits', issue({ issuer: ca, key: rsa(1023) }), /key \(rsa, 1023 bits\)/],
  ['RSA, 512 bits', issue({ issuer: ca, key: rsa(512) }), /key \(rsa, 512 bits\)/],
  ['P-224', issue({ issuer: ca, key: ec('P-224') }), /key \(ec, secp224r1\)/],
  ['secp256k1', issue({ issuer: ca, key: ec('secp256k1') }), /key \(ec, secp256k1\)/],
  ['Ed448', issue({ issuer: ca, key: ['-algorithm', 'ED448'] }), /key \(ed448\)/],
  ['RSA-PSS', issue({ issuer: ca, key: ['-algorithm', 'RSA-PSS', ...RSA.slice(2)] }), /key \(rsa-pss/],
  ['SHA-1', issue({ issuer: ca, digest: 'sha1' }), /signature \(sha1With/],
  ['SHA-224', issue({ issuer: ca, digest: 'sha224' }), /signature \(sha224With/],
];

function withChain({ certificate, key }: KeyPair, issuer: KeyPair): KeyPair {
  return { certificate: certificate + issuer.certificate, key };
}

const NOW = new Date('2026-06-01T00:00:00Z');
const problemsOf = (pair: KeyPair, caBundle: string) =>
  inspect(pair, { serverNames: [NAME], caBundle, now: NOW }).problems;

test.each(ACCEPTED)(
  'Go connects to a server with %s, and no problem is reported',
  async (_, pair, bundle) => {
    expect(await dialled(pair, bundle ?? ca.certificate)).toBe('connected');
    expect(problemsOf(pair, bundle ?? ca.certificate)).toEqual([]);
  },
);

test.each(REFUSED)('Go refuses a server with %s, and the reason is reported', async (_, pair, reason) => {
  expect(await dialled(pair, ca.certificate)).not.toBe('connected');
  expect(problemsOf(pair, ca.certificate)).toEqual([
    { severity: 'error', message: expect.stringMatching(reason) },
  ]);
});
