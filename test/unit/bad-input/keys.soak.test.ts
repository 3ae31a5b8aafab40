/** Certificates and keys of Secrets, and the files of ssh, cut, mixed up, or replaced by something else. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import ssh2 from 'ssh2';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyPairFromSecret } from '../../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import type { Service } from '../../../src/cluster/api/objects.ts';
import { DevloopError } from '../../../src/errors.ts';
import { findKeyPair } from '../../../src/local/key-pairs.ts';
import { findIdentities } from '../../../src/route/ssh/identities.ts';
import { judge, knownLine, parseKnownHosts } from '../../../src/route/ssh/known-hosts.ts';
import { readSettings } from '../../../src/route/ssh/settings.ts';
import { asParsedKey } from '../../../src/route/ssh/ssh2-workaround.ts';
import { expectHelpful, nastyText } from '../../support/bad-input.ts';
import { checkAsyncProperty } from '../../support/repeat.ts';
import { clusterOf, SHOP } from '../../support/shop-operator.ts';
import { makeSshKey } from '../../support/ssh-key.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'devloop-bad-keys-'));
  mkdirSync(join(home, '.ssh'));
});
afterAll(() => rmSync(home, { recursive: true }));

const mine = SHOP.secret.object.data;
const text = (base64: string): string => Buffer.from(base64, 'base64').toString();
const other = await selfSignedPair(['webhook.shop.svc'], { days: 30 });
const expired = await selfSignedPair(['webhook.shop.svc'], { days: -1 });
const misnamed = await selfSignedPair(['other.shop.svc'], { days: 30 });
const PEM = [
  ...[text(mine['tls.crt']), text(mine['tls.key']), other.certificate, other.key],
  ...[expired.certificate, expired.key, misnamed.certificate, misnamed.key],
  ...[
    '-----BEGIN CERTIFICATE-----\n',
    '-----END CERTIFICATE-----\n',
    '-----BEGIN PRIVATE KEY-----\n',
    '-----END PRIVATE KEY-----\n',
  ],
  '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n',
  '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n',
  '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n',
  '-----BEGIN CERTIFICATE-----'.repeat(2_000),
];

/** One piece or several, cut somewhere, with other line ends, or with one byte changed. */
const pem = fc
  .record({
    pieces: fc.array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...PEM) }, nastyText), {
      minLength: 1,
      maxLength: 3,
    }),
    how: fc.constantFrom('as it is', 'as it is', 'cut', 'CRLF', 'one line', 'changed'),
    at: fc.nat(1_000),
  })
  .map(({ pieces, how, at }) => {
    const whole = pieces.join('');
    if (how === 'cut') return whole.slice(0, at);
    if (how === 'CRLF') return whole.replaceAll('\n', '\r\n');
    if (how === 'one line') return whole.replaceAll('\n', ' ');
    return how === 'changed' ? `${whole.slice(0, at)}A${whole.slice(at + 1)}` : whole;
  });
const encoded = pem.map((one) => Buffer.from(one).toString('base64'));
const names = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('tls.crt', 'tls.key', 'ca.crt', 'cert.pem', 'key.pem') },
  nastyText,
);

it('the key pair of a webhook', async () => {
  const good = { ...mine };
  const input = fc.record({
    data: fc.oneof(
      fc.dictionary(names, encoded, { maxKeys: 4 }),
      fc.record({ 'tls.crt': encoded, 'tls.key': encoded }),
      fc.record({ 'tls.crt': fc.constant(good['tls.crt']), 'tls.key': encoded }),
      fc.constant<Record<string, string>>(good),
    ),
    caBundle: fc.oneof(encoded, nastyText, fc.constant(good['tls.crt'])),
  });
  const outcomes = { used: 0, refused: 0 };
  await checkAsyncProperty(
    'bad input: certificates and keys',
    { soak: 600, quick: 40, examples: [{ data: good, caBundle: good['tls.crt'] }] },
    fc.asyncProperty(input, async ({ data, caBundle }) => {
      const cluster = clusterOf({ secret: { ...SHOP.secret, object: { ...SHOP.secret.object, data } } });
      const from = { kind: 'ValidatingWebhookConfiguration', name: 'shop' } as const;
      const service = {
        service: SHOP.service.object as Service,
        serverName: 'webhook.shop.svc',
        calls: [{ from, name: 'v', path: '/', port: 443, caBundle, groups: [] }],
        ports: [],
        source: '',
      };
      const target = { services: [service], namespace: 'shop' };
      try {
        await findKeyPair({ api: cluster.api, target, secretName: 'shop/cert' }, service, () => {});
        outcomes.used += 1;
      } catch (error) {
        if (!(error instanceof DevloopError)) throw error;
        expectHelpful(error);
        expect(error.code).toMatch(/^certificate\./);
        outcomes.refused += 1;
      }
    }),
  );
  expect(outcomes.used).toBeGreaterThan(0);
  expect(outcomes.refused).toBeGreaterThan(outcomes.used);
});

it('a Secret full of beginnings of keys is read in one pass', () => {
  const data = {
    'tls.crt': mine['tls.crt'],
    'tls.key': btoa('-----BEGIN PRIVATE KEY-----\n'.repeat(20_000)),
  };
  expect(() => keyPairFromSecret(data, 'Secret shop/cert')).toThrow(/tls\.key/);
});

it('the files of ssh', async () => {
  const key = makeSshKey();
  const pieces = [
    key,
    key.slice(0, 200),
    'ssh-ed25519',
    'AAAA',
    'AAAAC3NzaC1lZDI1NTE5AAAAIA==',
    ' ',
    '\n',
    'PRIVATE KEY',
    '-----BEGIN OPENSSH PRIVATE KEY-----',
  ];
  const file = fc
    .array(fc.oneof(fc.constantFrom(...pieces), nastyText), { maxLength: 4 })
    .map((all) => all.join(' '));
  const host = fc.oneof(
    nastyText,
    fc.constantFrom('host', '*', '*a*b*c*', '!host', '|1|', '|1|a|b', '[host]:22', `${'*a'.repeat(40)}b`),
  );
  const line = fc
    .tuple(fc.constantFrom('', '@revoked ', '@cert-authority ', '@x '), host, file)
    .map(([marker, hosts, rest]) => `${marker}${hosts} ${rest}`);
  const input = fc.record({
    key: file,
    pub: file,
    certificate: file,
    known: fc.array(line, { maxLength: 5 }),
    settings: fc.array(line),
  });
  const blob = Buffer.from('AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f', 'base64');
  await checkAsyncProperty(
    'bad input: files of ssh',
    { soak: 400, quick: 30 },
    fc.asyncProperty(input, async ({ key: content, pub, certificate, known, settings }) => {
      for (const [name, one] of Object.entries({
        id_rsa: content,
        'id_rsa.pub': pub,
        'id_rsa-cert.pub': certificate,
      }))
        writeFileSync(join(home, '.ssh', name), one);
      const lines = parseKnownHosts([...known, knownLine('host', blob)].join('\n'), 'known_hosts');
      expect(judge(lines, ['host', 'a'.repeat(40)], blob).kind).toMatch(/^(?:known|revoked)$/);
      const local = { home, accountHome: home, user: 'ann', uid: 1, hostname: 'desk', env: {} };
      const read = readSettings(settings.join('\n'), { host: 'host' }, local);
      const keyring = { ask: undefined, unlocked: new Map(), signal: new AbortController().signal };
      const { identities } = await findIdentities({ ...read, agent: undefined }, keyring);
      for (const identity of identities) asParsedKey(ssh2, identity.blob);
    }),
  );
});
