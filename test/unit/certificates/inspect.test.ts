import { expect, test } from 'vitest';
import { inspect, type Problem, unusable } from '../../../src/certificates/inspect.ts';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { EC, ED25519, issue, NAME, RSA } from './openssl.ts';

const now = new Date('2026-06-01T00:00:00Z');
const ca = issue({ ca: true, subject: '/CN=ca', key: RSA });
const other = issue({ ca: true, subject: '/CN=other' });
const pair = issue({ issuer: ca });

function problems(made: KeyPair, caBundle = ca.certificate, serverNames = [NAME]): Problem[] {
  return inspect(made, { serverNames, caBundle, now }).problems;
}

function error(message: string): Problem[] {
  return [{ severity: 'error', message: expect.stringContaining(message) }];
}

test('a good certificate has no problems, and its facts are told', () => {
  const made = issue({ issuer: ca, names: ['a.test', NAME, '10.0.0.1'] });
  expect(inspect(made, { serverNames: [NAME], caBundle: ca.certificate, now })).toEqual({
    facts: {
      names: ['a.test', NAME],
      notBefore: new Date('2020-01-01T00:00:00Z'),
      notAfter: new Date('2099-01-01T00:00:00Z'),
      issuer: 'CN=ca',
    },
    problems: [],
  });
});

test('dates are looked at', () => {
  const issuer = ca;
  expect(problems(issue({ issuer, to: '20260531235959Z' }))).toEqual(
    error('it expired at 2026-05-31T23:59:59.000Z'),
  );
  expect(problems(issue({ issuer, from: '20260601000001Z' }))).toEqual(
    error('not valid before 2026-06-01T00:00:01'),
  );
  expect(problems(issue({ issuer, to: '20260601230000Z' }))).toEqual([
    { severity: 'warning', message: 'it expires soon, at 2026-06-01T23:00:00.000Z' },
  ]);
});

test.each([
  [['webhook.test.svc'], 'webhook.test.svc', true],
  [['WEBHOOK.test.svc'], 'webhook.test.svc', true],
  [['*.test.svc'], 'webhook.test.svc', true],
  [['*.svc'], 'webhook.test.svc', false],
  [['web*.test.svc'], 'webhook.test.svc', false],
  [['*.test.svc'], 'test.svc', false],
  [['webhook.test.svc.cluster.local', 'webhook'], 'webhook.test.svc', false],
  [['10.0.0.1'], 'webhook.test.svc', false],
])('a certificate for %j covers %s: %s', (names, wanted, covered) => {
  expect(problems(issue({ issuer: ca, names }), ca.certificate, [wanted])).toHaveLength(covered ? 0 : 1);
});

test('a common name does not count, and all missing names are told', () => {
  const made = issue({ issuer: ca, names: [], subject: `/CN=${NAME}` });
  expect(problems(made, ca.certificate, [NAME, 'b.test.svc'])).toEqual(
    error(`it is not for ${NAME}, b.test.svc; it names no DNS names (a common name does not count)`),
  );
});

test('a certificate for clients only is told', () => {
  expect(problems(issue({ issuer: ca, usage: 'clientAuth' }))).toEqual(error('lacks "server auth"'));
  expect(problems(issue({ issuer: ca, usage: 'clientAuth,serverAuth' }))).toEqual([]);
});

test.each([
  ['RSA', RSA],
  ['ECDSA', EC],
  ['Ed25519', ED25519],
])('an %s certificate chains over one in between, in any order, to a bundle of several', (_, key) => {
  const root = issue({ ca: true, subject: '/CN=root', key });
  const first = issue({ ca: true, subject: '/CN=first', issuer: root, key });
  const second = issue({ ca: true, subject: '/CN=second', issuer: first, key });
  const leaf = issue({ issuer: second, key });
  for (const chain of [
    [leaf, second, first],
    [leaf, first, second],
    [leaf, second, first, root],
  ]) {
    const certificate = chain.map((one) => one.certificate).join('');
    expect(problems({ ...leaf, certificate }, other.certificate + root.certificate)).toEqual([]);
  }
  expect(problems({ ...leaf, certificate: leaf.certificate + second.certificate }, root.certificate)).toEqual(
    error('it does not chain to the caBundle: its issuer is CN=second; the caBundle contains CN=root'),
  );
  expect(problems(leaf, second.certificate)).toEqual([]);
});

test('a bundle of the same name but another key is told apart', () => {
  const renewed = issue({ ca: true, subject: '/CN=ca', key: RSA });
  expect(problems(pair, renewed.certificate)).toEqual(error('with that name but another key'));
  expect(problems(pair, renewed.certificate + ca.certificate)).toEqual([]);
});

test('an authority that has expired does not count', () => {
  const old = issue({ ca: true, subject: '/CN=old', issuer: other, to: '20260101000000Z' });
  const leaf = issue({ issuer: old });
  expect(problems(leaf, old.certificate)).toEqual(
    error('only through a certificate authority that has expired'),
  );
});

test('a self-signed certificate in its own bundle is fine, also without any name', () => {
  const plain = issue();
  expect(problems(plain, plain.certificate)).toEqual([]);
  const nameless = issue({ subject: '/' });
  expect(problems(nameless, ca.certificate + nameless.certificate)).toEqual([]);
  expect(inspect(nameless, { serverNames: [], now }).facts.issuer).toBe('(no name)');
  expect(problems(nameless, issue({ subject: '/' }).certificate)[0]?.severity).toBe('error');
});

test('a bundle that is empty is a warning, one that cannot be read an error, a damaged part of one nothing', () => {
  expect(problems(pair, '')).toEqual([
    { severity: 'warning', message: expect.stringContaining('system roots') },
  ]);
  expect(problems(pair, '\n')).toEqual(error('a placeholder'));
  const damaged = other.certificate.replace('MII', 'AAA');
  expect(problems(pair, damaged)).toEqual(error('contains no readable certificate'));
  expect(problems(pair, damaged + ca.certificate)).toEqual([]);
});

test('all errors become one, with the next step; warnings alone become none', () => {
  const made = issue({ issuer: ca, names: ['a.test'], to: '20260101000000Z' });
  const source = { namespace: 'ns', secret: 'webhook-server-cert', certificate: 'serving-cert' };
  const found = problems(made, other.certificate);
  expect(found).toHaveLength(3);
  const refusal = unusable(source, found);
  expect(refusal?.code).toBe('certificate.unusable');
  expect(refusal?.message.split('\n')).toEqual([
    expect.stringContaining('Secret ns/webhook-server-cert'),
    ...found.map(({ message }) => `  - ${message}`),
  ]);
  expect(refusal?.hint).toContain('kubectl -n ns describe certificate serving-cert');
  expect(unusable({ namespace: 'ns', secret: 's' }, problems(made))?.hint).toContain(
    'kubectl -n ns describe secret s',
  );
  expect(unusable(source, problems(pair, ''))).toBeUndefined();
});
