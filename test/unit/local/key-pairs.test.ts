import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { useRenewed } from '../../../src/local/follow-key-pairs.ts';
import { type FoundPair, findKeyPair, mountPointsOf } from '../../../src/local/key-pairs.ts';
import { distrustWarnings } from '../../../src/local/trust.ts';
import type { TargetService } from '../../../src/operator/target.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { issue, RSA } from '../certificates/openssl.ts';

const pairOf = (content: string): FoundPair =>
  ({ pair: { certificate: content, key: '' } }) as Partial<FoundPair> as FoundPair;

/** One look at a Secret with this content, while the pair `first` is in use. */
async function look(content: string, abort = false) {
  const session = new AbortController();
  const used: FoundPair[] = [];
  const find = async (): Promise<FoundPair> => {
    if (abort) session.abort();
    return pairOf(content);
  };
  const current = await useRenewed('first', find, async (found) => used.push(found), session.signal);
  return { current, used };
}

it('uses a renewed key pair, once', async () => {
  expect(await look('renewed')).toEqual({ current: 'renewed', used: [pairOf('renewed')] });
  expect(await look('first')).toEqual({ current: 'first', used: [] });
});

it('does not use a renewal that is found after the session was aborted', async () => {
  expect(await look('renewed', true)).toEqual({ current: 'first', used: [] });
});

it('names each mount point once, and none for a Secret that is not mounted', () => {
  const mounted = (...directories: string[]): FoundPair => {
    return { ...pairOf(''), secret: { namespace: 'n', name: 's', files: {}, directories, exists: true } };
  };
  const pairs = new Map(
    [mounted('/a', '/c'), mounted('/b'), mounted('/a'), mounted()].map((one, i) => [`${i}`, one]),
  );
  expect(mountPointsOf(pairs)).toEqual(['/a', '/c', '/b']);
});

it('takes what an init container writes for a key pair that is mounted nowhere', () => {
  const found = {
    ...pairOf(''),
    secret: { namespace: 'n', name: 's', files: {}, directories: [], exists: true },
  };
  const mounts = [
    { name: 'tls', mountPath: '/etc/tls/' },
    { name: 'cache', mountPath: '/cache' },
    { name: 'own', mountPath: '/certs' },
  ];
  const container = { name: 'webhook', volumeMounts: mounts };
  const installer = { name: 'installer', volumeMounts: mounts.slice(0, 2) };
  const volumes = mounts.map(({ name }) => ({ name, emptyDir: {} }));
  const metadata = { name: 'webhook', namespace: 'n' };
  const template = { spec: { containers: [container], initContainers: [installer], volumes } };
  const object = { metadata, spec: { selector: {}, template } };
  const manager = { ref: { kind: 'Deployment' as const, ...metadata }, object, container, source: '' };
  expect(mountPointsOf(new Map([['a', found]]), manager)).toEqual(['/etc/tls']);
  const mounted = { ...found, secret: { ...found.secret, directories: ['/a'] } };
  expect(
    mountPointsOf(
      new Map([
        ['a', found],
        ['b', mounted],
      ]),
      manager,
    ),
  ).toEqual(['/a']);
  expect(mountPointsOf(new Map(), manager)).toEqual([]);
});

it.each([
  ['a Secret that the Pod needs', {}, expect.not.stringContaining('its own key pair')],
  [
    'one without which the manager makes its own key pair',
    { optional: true },
    expect.stringContaining('its own key pair'),
  ],
])('what to do about %s, and that does not exist', async (_, volume, hint) => {
  const container = { name: 'manager', volumeMounts: [{ name: 'cert', mountPath: '/certs' }] };
  const volumes = [{ name: 'cert', secret: { secretName: 'webhook-cert', ...volume } }];
  const metadata = { name: 'manager', namespace: 'shop' };
  const object = {
    metadata,
    spec: { selector: {}, template: { spec: { containers: [container], volumes } } },
  };
  const manager = { ref: { kind: 'Deployment' as const, ...metadata }, object, container, source: '' };
  const target = { services: [], namespace: 'shop', manager };
  const service: TargetService = {
    service: { metadata: { name: 'webhook', namespace: 'shop' }, spec: {} },
    ...{ serverName: 'webhook.shop.svc', calls: [], ports: [], source: '' },
  };
  await expect(findKeyPair({ api: fakeCluster().api, target }, service, () => {})).rejects.toMatchObject({
    code: 'certificate.not-found',
    message: expect.stringContaining('Secret shop/webhook-cert'),
    hint,
  });
});

it.each([
  ['no Pod is ready', {}, true],
  ['one is', { readyReplicas: 1 }, false],
  ['one of a DaemonSet is', { numberReady: 1 }, false],
])('a Secret that the manager may make when it starts: %s', async (_, status, expected) => {
  const metadata = { name: 'manager', namespace: 'shop' };
  const container = { name: 'manager' };
  const template = { spec: { containers: [container] } };
  const object = { metadata, spec: { selector: {}, template }, status };
  const manager = { ref: { kind: 'Deployment' as const, ...metadata }, object, container, source: '' };
  const service: TargetService = {
    service: { metadata: { name: 'webhook', namespace: 'shop' }, spec: {} },
    ...{ serverName: 'webhook.shop.svc', calls: [], ports: [], source: '' },
  };
  const target = { services: [service], namespace: 'shop', manager };
  const finding = findKeyPair({ api: fakeCluster().api, target }, service, () => {});
  const { hint } = await finding.catch((error) => error);
  expect(hint).toContain('certificates: {secret: …}');
  expect(hint.includes('No Pod of Deployment manager is ready')).toBe(expected);
});

describe('a manager that keeps only its CA in a Secret', () => {
  const serverName = 'webhook.shop.svc';
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const ca = issue({ key: RSA, ca: true, subject: '/O=shop/CN=shop CA', names: [] });
  const service = (caBundle: string): TargetService => ({
    service: { metadata: { name: 'webhook', namespace: 'shop' }, spec: {} },
    serverName,
    calls: [
      {
        from: { kind: 'ValidatingWebhookConfiguration', name: 'shop' },
        ...{ name: 'a.shop', path: '/validate', port: 443, groups: [], caBundle: base64(caBundle) },
      },
    ],
    ports: [],
    source: '',
  });
  function find(secrets: Record<string, Record<string, string>>, caBundle = ca.certificate) {
    const cluster = fakeCluster();
    for (const [name, files] of Object.entries(secrets)) {
      const data = Object.fromEntries(Object.entries(files).map(([file, text]) => [file, base64(text)]));
      cluster.put('Secret', { metadata: { name, namespace: 'shop' }, data } as never);
    }
    const search = { api: cluster.api, target: { services: [], namespace: 'shop' } };
    return findKeyPair(search, service(caBundle), () => {});
  }

  it.each([
    ['tls.crt', 'tls.key'],
    ['ca-cert.pem', 'ca-key.pem'],
    ['ca.crt', 'ca.key'],
  ])('a CA in %s and %s that the caBundle trusts issues the certificate', async (certificate, key) => {
    const { pair, secret, facts } = await find({ ca: { [certificate]: ca.certificate, [key]: ca.key } });
    expect(secret).toMatchObject({ name: 'ca', files: {}, directories: [] });
    expect(facts.names).toEqual([serverName]);
    const leaf = new X509Certificate(pair.certificate);
    expect(leaf.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true);
  });

  it('of two CAs whose usage is that of a server, the one that the caBundle trusts issues the certificate', async () => {
    const usage = 'clientAuth,serverAuth';
    const one = issue({ ca: true, subject: '/O=shop', usage });
    const two = issue({ ca: true, subject: '/O=shop too', usage });
    const files = {
      ...{ 'cacert1.pem': one.certificate, 'cakey1.pem': one.key },
      ...{ 'cacert2.pem': two.certificate, 'cakey2.pem': two.key },
    };
    const cases = [
      { caBundle: one.certificate + two.certificate, expected: one },
      { caBundle: one.certificate, expected: one },
      { caBundle: two.certificate, expected: two },
    ];
    for (const { caBundle, expected } of cases) {
      const { facts, issuer } = await find({ cas: files }, caBundle);
      expect(facts.names).toEqual([serverName]);
      expect(issuer).toEqual(expected);
    }
  });

  it('a key pair for the Service comes first, even if it is unusable', async () => {
    const secrets = { ca: { 'tls.crt': ca.certificate, 'tls.key': ca.key } };
    const own = issue({ names: [serverName], issuer: ca });
    const found = await find({ ...secrets, pair: { 'tls.crt': own.certificate, 'tls.key': own.key } });
    expect(found.pair).toEqual(own);
    const expired = issue({ names: [serverName], issuer: ca, to: '20210101000000Z' });
    const unusable = find({ ...secrets, pair: { 'tls.crt': expired.certificate, 'tls.key': expired.key } });
    await expect(unusable).rejects.toMatchObject({ code: 'certificate.unusable' });
  });

  it('no CA issues one that the caBundle does not trust', async () => {
    const other = issue({ ca: true, subject: '/O=shop/CN=shop CA', names: [] });
    const secrets = { other: { 'tls.crt': other.certificate, 'tls.key': other.key } };
    await expect(find(secrets)).rejects.toMatchObject({
      code: 'certificate.not-found',
      message: expect.stringMatching(/ValidatingWebhookConfiguration shop .*shop CA/),
    });
    await expect(find(secrets, '')).rejects.toMatchObject({
      code: 'certificate.not-found',
      message: expect.not.stringContaining('caBundle'),
    });
    // It is in the caBundle, but is not a CA.
    const leaf = issue({ names: ['other.shop.svc'] });
    const files = { 'tls.crt': leaf.certificate, 'tls.key': leaf.key };
    await expect(find({ leaf: files }, leaf.certificate)).rejects.toMatchObject({
      code: 'certificate.not-found',
    });
  });

  it('each caller whose caBundle does not trust the certificate is named', async () => {
    const pair = issue({ names: [serverName], issuer: ca });
    const other = issue({ ca: true, subject: '/CN=made at the start', names: [] });
    const { calls, ...rest } = service(ca.certificate);
    const mutating = { kind: 'MutatingWebhookConfiguration', name: 'shop' } as const;
    const patched = [...calls, { ...calls[0]!, from: mutating, caBundle: base64(other.certificate) }];
    const secret = { namespace: 'shop', name: 'pair' };
    const warnings = (some: typeof calls) =>
      distrustWarnings({ ...rest, calls: some }, { pair, secret }, new Date());
    expect(warnings(calls)).toEqual([]);
    expect(warnings(patched)).toMatchObject([
      {
        code: 'certificate.distrusted',
        values: { caller: mutating, secret, cause: expect.stringContaining('CN=made at the start') },
      },
    ]);
  });

  it('a serving certificate for another name that is its own CA issues none', async () => {
    const { certificate, key } = await selfSignedPair(['other.shop.svc'], { days: 1 });
    const files = { 'tls.crt': certificate, 'tls.key': key };
    await expect(find({ other: files }, certificate)).rejects.toMatchObject({
      code: 'certificate.not-found',
    });
  });

  it('another look finds the same, until the CA is another one', async () => {
    const first = await find({ ca: { 'tls.crt': ca.certificate, 'tls.key': ca.key } });
    const used: FoundPair[] = [];
    const use = async (found: FoundPair) => used.push(found);
    const { signal } = new AbortController();
    const again = () => find({ ca: { 'tls.crt': ca.certificate, 'tls.key': ca.key } });
    const current = await useRenewed(first.issuer!.certificate + first.issuer!.key, again, use, signal);
    expect(used).toEqual([]);
    const next = issue({ ca: true, subject: '/CN=next', names: [] });
    const renewed = () =>
      find({ ca: { 'tls.crt': next.certificate, 'tls.key': next.key } }, next.certificate);
    await useRenewed(current, renewed, use, signal);
    expect(used).toMatchObject([{ issuer: next }]);
  });
});
