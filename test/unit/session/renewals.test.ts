import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { issuePair } from '../../../src/certificates/issue.ts';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import type { KeyPairs } from '../../../src/local/key-pairs.ts';
import { ChangedBundles, followRenewals } from '../../../src/session/renewals.ts';
import { settingsOf } from '../../support/settings.ts';

const SERVER = 'web.shop.svc';
const base64 = (text: string) => Buffer.from(text).toString('base64');
const from = { kind: 'ValidatingWebhookConfiguration', name: 'v' };
const trusting = ({ certificate }: KeyPair) => ({
  serverName: SERVER,
  service: { metadata: { name: 'web', namespace: 'shop' } },
  calls: [{ from, caBundle: base64(certificate) }],
});

it('a key pair that the manager has made is presented when its CA comes into a caBundle, without waiting for the next look', async () => {
  const old = await selfSignedPair([SERVER], { days: 1 });
  const made = await selfSignedPair([SERVER], { days: 1 });
  let current = old;
  const said: unknown[] = [];
  const bundles = new ChangedBundles([trusting(old)] as never);
  const presented = Promise.withResolvers<unknown[]>();
  const data = () => ({ 'tls.crt': base64(current.certificate), 'tls.key': base64(current.key) });
  const secret = () => ({
    type: 'kubernetes.io/tls',
    metadata: { name: 'certs', namespace: 'shop' },
    data: data(),
  });
  const webhook = () => ({
    name: 'v.shop.example',
    clientConfig: { service: { name: 'web', namespace: 'shop' }, caBundle: base64(current.certificate) },
  });
  const api = {
    get: async ({ kind }: { kind: string }) =>
      kind === 'Secret' ? secret() : { metadata: { name: 'v' }, webhooks: [webhook()] },
    list: async () => [secret()],
  };
  const session = {
    context: { api, settings: settingsOf() },
    target: { services: [trusting(old)], namespace: 'shop' },
    work: { emit: (event: unknown) => said.push(event), signal: new AbortController().signal },
    called: [trusting(old)],
  };
  const pairs = new Map([[SERVER, { pair: old, secret: { namespace: 'shop', name: 'certs' } }]]);
  await using _following = followRenewals(session as never, {
    pairs: pairs as never as KeyPairs,
    keyPairDirectories: [],
    route: { gateways: { present: (...what: unknown[]) => presented.resolve(what) } } as never,
    next: () => bundles.next,
  });
  bundles.observe([trusting(old)] as never);
  await setImmediate();
  current = made;
  const before = bundles.next;
  bundles.observe([trusting(made)] as never);
  expect(before.aborted).toBe(true);
  expect(await presented.promise).toEqual([SERVER, made]);
  // Another caller, which gets its caBundle a moment later, is no reason for a warning yet.
  expect(said).toEqual([]);
}, 4_000);

it('a caBundle that is as before is no change', async () => {
  const pair = await issuePair({ serverNames: [SERVER], notAfter: new Date(Date.now() + 60_000) });
  const bundles = new ChangedBundles([trusting(pair)] as never);
  const { next } = bundles;
  bundles.observe([trusting(pair)] as never);
  bundles.observe([]);
  expect(next.aborted).toBe(false);
});
