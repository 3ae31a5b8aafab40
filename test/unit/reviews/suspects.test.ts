import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPath } from '../../../src/config/json-path.ts';
import { suspectsIn } from '../../../src/reviews/suspects.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const certificate = `-----BEGIN CERTIFICATE-----\n${base64('x'.repeat(90))}\n-----END CERTIFICATE-----\n`;
const places = (value: object, ...allowed: string[]) =>
  suspectsIn(
    value,
    allowed.map((path) => jsonPath(path)!),
  ).map(({ path }) => path);

describe('a text that may be a secret', () => {
  it.each([
    ['a known token', `use ghp_${'a1B2'.repeat(9)} here`],
    ['another one', 'AKIAIOSFODNN7EXAMPLE'],
    ['random characters', 'bXkgc2VjcmV0IHZhbHVlIDEyMzQ1Ng'],
    ['hexadecimal digits', 'd41d8cd98f00b204e9800998ecf8427e'],
    ['a user with a password', 'sync ann:hunter2@files.example.com now'],
    ['a private key', 'BEGIN PRIVATE KEY-----'],
    ['a key with slashes', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['a key with slashes as the value of a setting', 'K=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
    ['a key of one case', 'use q8x2m5v7n1k4c9z3b6t0 here'],
    ['a user with a password in a command', 'curl -su admin:hunter2 https://shop.example.com'],
    ['a password in a command', 'sshpass -p x ssh files.example.com'],
    ['a password right after its flag', 'mysqldump -h db -phunter2 shop'],
  ])('is found: %s', (_, text) => {
    expect(places({ spec: { note: text } })).toEqual(['.spec.note']);
    expect(places({ spec: { lists: [['a', text]] } })).toEqual(['.spec.lists[0][1]']);
  });

  it('is found by a name that often means one', () => {
    const env = [
      { name: 'CARD_PIN', value: 'abc' },
      { name: 'MODE', value: 'abc' },
    ];
    const metadata = { annotations: { 'shop.example.com/db-auth': 'abc' } };
    expect(places({ env, metadata, basicAuth: '<redacted 3 bytes>', authMode: 'x' })).toEqual([
      '.env[0].value',
      ".metadata.annotations['shop.example.com/db-auth']",
    ]);
  });

  it.each(['PGPASS', 'DB_PW', 'smtpPass'])('is found by the name %s', (name) => {
    expect(places({ env: [{ name, value: 'x' }], [name]: 'x' })).toEqual(['.env[0].value', `.${name}`]);
  });

  it('is found in the arguments of a command, of which each alone shows nothing', () => {
    const containers = [{ args: ['-u', 'ann:hunter2'] }, { args: ['-u', '1000:1000', '-p', 'x'] }];
    expect(places({ containers })).toEqual(['.containers[0].args']);
    expect(places({ containers }, '.containers[0].args')).toEqual([]);
  });

  it('is found among the keys, and its place does not show it', () => {
    const users = { ann: 1, [`ghp_${'a1B2'.repeat(9)}`]: { pin: 'abc' } };
    expect(places({ users })).toEqual(['.users[*]', '.users[*].pin']);
    expect(places({ users }, '.users[*]')).toEqual([]);
  });

  it('has a place of one line that is not long and can be allowed, whatever the keys are', () => {
    const nested = (key: string, depth: number): object =>
      depth === 0 ? { [key]: 'abc', pin: 'abc' } : { [key]: nested(key, depth - 1) };
    for (const [key, depth] of [
      ['a\nb ', 150],
      ['\u2028', 20],
      ['it\'s "', 20],
      ['long '.repeat(20_000), 3],
      [`${'x'.repeat(80)}-`, 150],
    ] as const) {
      const value = { [`${key}pin`]: 'abc', nested: nested(`${key}pin`, depth) };
      const found = suspectsIn(value);
      expect(found).toHaveLength(3);
      for (const { path, looksLike } of found) {
        expect(`${path}${looksLike}`).not.toMatch(/[\n\u2028]/);
        expect(`${path}${looksLike}`.length).toBeLessThan(1_000);
        expect(places(value, path).length).toBeLessThan(3);
      }
    }
  });

  it('is not one where the user allows it, or all that is below', () => {
    const value = { spec: { pin: 'abc', list: [{ pin: 'abc' }, { pin: 'abc' }], 'a.b/c': { pin: 'abc' } } };
    expect(places(value)).toHaveLength(4);
    for (const path of places(value)) expect(places(value, path)).toHaveLength(3);
    expect(places(value, '.spec.list')).toHaveLength(2);
    expect(places(value, '.spec.list[*].pin', "['spec']['a.b/c']")).toEqual(['.spec.pin']);
    expect(places(value, '..pin')).toEqual([]);
  });

  it.each([
    'registry.example.com/shop/web:v1@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'X509SHA256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '0f3c1c52-6c4e-4a53-9d8e-7d0c8f5a1b2c',
    'web-7d9f8b6c5d-x2x1z',
    'system:serviceaccount:shop-system:controller-manager',
    'admissionregistration.k8s.io/v1, HorizontalPodAutoscalerV2Beta2Status',
    'git@github.com:example/shop.git',
    'shop-7d9f8b6c5d-x2v9k on ip-10-0-17-234.eu-west-1.compute.internal',
    'example.com/shop v0.0.0-20261128060000-abcdef123456',
    'com/GoogleCloudPlatform/K8sFoo',
    '/Users/Ann/Code/V2/Foo/Bar1/Baz',
    'manager -url=http://web -upstream=host:80 -u 1000:1000',
    'curl -u $USER:$PASS https://shop.example.com',
    '2026-11-28T06:00:00.000Z 3f2a91c 10:14:58 +dirty',
    '<redacted 12 bytes>',
    'spec.image: Required value: the image of a container, such as nginx:1.27',
    certificate,
    base64(certificate + certificate),
  ])('is not %j', (text) => {
    expect(places({ spec: { text } })).toEqual([]);
  });
});

it('finds random keys, and no names', () => {
  const keys = Array.from({ length: 500 }, (_, seed) =>
    createHash('sha256').update(`${seed}`).digest('base64url'),
  );
  // Always the same ones. A few of them could be names.
  expect(keys.filter((note) => places({ note }).length === 1).length).toBeGreaterThan(490);
  const word = fc
    .stringMatching(/^[a-z]{2,9}$/)
    .filter((one) => !/auth|pin|otp|salt|seed|dsn|login/.test(one));
  const name = fc.array(word, { minLength: 2, maxLength: 6 }).map((words) => words.join('-'));
  fc.assert(
    fc.property(name, (text) => {
      expect(places({ note: text, other: `${text}.svc` })).toEqual([]);
    }),
  );
});

it.each([
  ['base64 of 16 bytes', 16, 'base64'],
  ['base64 of 18 bytes', 18, 'base64'],
  ['base64 of 32 bytes', 32, 'base64'],
  ['32 characters of one case', 32, 'one case'],
] as const)('finds nearly all keys: %s', (_, bytes, form) => {
  const digits = 'abcdefghijklmnopqrstuvwxyz0123456789';
  const key = (seed: number) => {
    const random = createHash('sha256').update(`${seed}`).digest();
    return form === 'base64'
      ? random.subarray(0, bytes).toString('base64')
      : Array.from(random, (byte) => digits[byte % 36]).join('');
  };
  const keys = Array.from({ length: 500 }, (_, seed) => key(seed));
  expect(keys.filter((note) => places({ note }).length === 1).length).toBeGreaterThan(450);
});

it('reads each text once, however strange it is', () => {
  for (const part of [
    'a',
    'a:',
    'a:b@',
    '=',
    'sha256:',
    'A1b',
    '-----BEGIN A',
    'eyJ',
    '<redacted',
    '0',
    '-u a',
    'mysql ',
    'sshpass -p',
    'login ',
  ])
    expect(suspectsIn({ text: part.repeat(2 ** 20 / part.length) }).length).toBeLessThan(2);
});
