import { expect, test } from 'vitest';
import type { Declared } from '../../../../src/session/embedded/declared.ts';
import { OWN_PAIR } from '../../../../src/session/embedded/key-pair-secrets.ts';
import { serverNames, toInstall } from '../../../../src/session/embedded/to-install.ts';

const PAIR = { certificate: 'CERT', key: 'KEY' } as never;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const object = (kind: string, name: string, more: object = {}, apiVersion = 'v1'): Declared =>
  ({ apiVersion, kind, metadata: { name, namespace: 'shop' }, ...more }) as Declared;
const called = { clientConfig: { service: { name: 'hooks', namespace: 'shop', path: '/v' } } };
const byUrl = { clientConfig: { url: 'https://example.com', caBundle: 'own' } };
const MANIFESTS = [
  object('ValidatingWebhookConfiguration', 'v', { webhooks: [called, byUrl] }),
  object('Deployment', 'manager', {
    spec: {
      template: {
        spec: {
          volumes: [
            { secret: { secretName: 'webhook-server-cert' } },
            { secret: { secretName: 'metrics-cert', optional: true } },
            { secret: { secretName: 'database' } },
          ],
        },
      },
    },
  }),
  object('CustomResourceDefinition', 'shops', {
    spec: { conversion: { webhook: { clientConfig: { service: { name: 'convert', namespace: 'shop' } } } } },
  }),
  object('Certificate', 'serving', { spec: { secretName: 'issued' } }, 'cert-manager.io/v1'),
  object('Issuer', 'self', {}, 'cert-manager.io/v1'),
  object('Service', 'hooks'),
  object('Service', 'convert'),
  object('Job', 'migrate'),
  object('Namespace', 'shop'),
];

test('one key pair serves all Services that are called, and nobody else is trusted', () => {
  expect(serverNames(MANIFESTS)).toEqual(['convert.shop.svc', 'hooks.shop.svc']);
  const { objects } = toInstall(MANIFESTS, PAIR);
  const all = objects.flat();
  const find = (kind: string) => all.find((one) => one.kind === kind) as never as Record<string, never>;
  expect(find('ValidatingWebhookConfiguration')).toMatchObject({
    webhooks: [{ clientConfig: { caBundle: base64('CERT') } }, byUrl],
  });
  expect(find('CustomResourceDefinition')).toMatchObject({
    spec: { conversion: { webhook: { clientConfig: { caBundle: base64('CERT') } } } },
  });
  const secrets = all.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata);
  const [issued, mounted] = ['issued', 'webhook-server-cert'].map((name) => ({ name, namespace: 'shop' }));
  expect(secrets).toEqual([issued, mounted]);
  expect(MANIFESTS[0]).toMatchObject({ webhooks: [{ clientConfig: { service: { name: 'hooks' } } }, byUrl] });
});

test('what others need comes before them, and what cannot be here is named', () => {
  const { objects, leftOut } = toInstall(MANIFESTS, PAIR);
  expect(objects.map((stage) => stage.map(({ kind }) => kind))).toEqual([
    ['Namespace'],
    ['CustomResourceDefinition'],
    ['Deployment', 'Service', 'Service', 'ServiceAccount', 'Secret', 'Secret'],
    ['ValidatingWebhookConfiguration'],
  ]);
  expect(leftOut).toMatchObject([{ object: { kind: 'Job' }, why: 'nothing runs Pods here' }]);
});

test('what needs something that nothing here has is left out, and a namespace that is only used is created', () => {
  const shops = { group: 'example.com', names: { kind: 'Shop' } };
  const unset = object('ConfigMap', 'settings');
  const variable = '$' + '{NAMESPACE}';
  unset.metadata.namespace = variable;
  const hook = object('ServiceAccount', 'migrate');
  Object.assign(hook.metadata, { annotations: { 'helm.sh/hook': 'pre-install' } });
  const { objects, leftOut } = toInstall(
    [
      object('CustomResourceDefinition', 'shops.example.com', { spec: shops }),
      object('Shop', 'first', {}, 'example.com/v1'),
      object('ValidatingWebhookConfiguration', 'v', { webhooks: [called] }),
      unset,
      hook,
    ],
    PAIR,
  );
  expect(leftOut.map(({ why }) => why)).toEqual([
    'apply it when the controller runs',
    'no manifest has its Service shop/hooks',
    `its name needs a value for ${variable}`,
    'it is a hook of Helm',
  ]);
  expect(objects.flat().map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'Namespace shop',
    'CustomResourceDefinition shops.example.com',
  ]);
});

test('a Secret that the checkout has is its own, and without calls nothing is signed', () => {
  const own = object('Secret', 'webhook-server-cert', { data: { 'tls.crt': 'own' } });
  const secrets = toInstall([...MANIFESTS, own], PAIR)
    .objects.flat()
    .filter(({ kind }) => kind === 'Secret');
  expect(secrets.find(({ metadata }) => metadata.name === 'webhook-server-cert')).toEqual(own);
  expect(
    toInstall(
      [object('Certificate', 'c', { spec: { secretName: 's' } }, 'cert-manager.io/v1')],
      undefined,
    ).objects.flat(),
  ).toEqual([]);
});

test('a Secret without content is for the manager to fill, and exists with a key pair where it is mounted', () => {
  const empty = object('Secret', 'webhook-server-cert', { stringData: {}, type: 'Opaque' });
  empty.metadata.labels = { app: 'shop' };
  const unmounted = object('Secret', 'other-certs');
  const secrets = toInstall([...MANIFESTS, empty, unmounted], PAIR)
    .objects.flat()
    .filter(({ kind }) => kind === 'Secret');
  const named = (name: string) => secrets.filter(({ metadata }) => metadata.name === name);
  expect(named('webhook-server-cert')).toMatchObject([{ ...empty, data: { 'tls.crt': base64('CERT') } }]);
  expect(named('other-certs')).toEqual([unmounted]);
});

test('a conversion whose Service the operator creates when it runs is left out, and its CRD is not', () => {
  const without = MANIFESTS.filter(({ metadata }) => metadata.name !== 'convert');
  const { objects, leftOut } = toInstall(without, PAIR);
  expect(objects[1]).toMatchObject([{ spec: { conversion: { strategy: 'None' } } }]);
  expect(JSON.stringify(objects[1])).not.toContain('clientConfig');
  expect(leftOut[0]).toMatchObject({ part: 'conversion', why: 'no manifest has its Service shop/convert' });
});

test('a workload without an account of its own has that of its namespace, which a cluster would create', () => {
  const workload = (spec: object) => object('Deployment', 'manager', { spec: { template: { spec } } });
  const accounts = (...declared: Declared[]) =>
    toInstall(declared, undefined)
      .objects.flat()
      .filter(({ kind }) => kind === 'ServiceAccount')
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  expect(accounts(workload({}))).toEqual(['shop/default']);
  expect(accounts(workload({}), object('ServiceAccount', 'default'))).toEqual(['shop/default']);
  expect(accounts(workload({ serviceAccountName: 'own' }))).toEqual([]);
});

test('a committed key pair that is mounted becomes that of the session, whatever its entries are called', () => {
  const certificate = '-----BEGIN CERTIFICATE-----\nold';
  const key = '-----BEGIN RSA PRIVATE KEY-----\nold';
  const data = { 'cert.pem': base64(certificate), 'key.pem': base64(key), note: base64('mine') };
  const secrets = [
    object('Secret', 'webhook-server-cert', { data }),
    object('Secret', 'database', { stringData: { 'tls.crt': certificate } }),
    object('Secret', 'unmounted', { data }),
  ];
  const all = toInstall([...MANIFESTS, ...secrets], PAIR).objects.flat();
  const dataOf = (name: string) => all.find(({ metadata }) => metadata.name === name)?.data;
  const ours = { 'cert.pem': base64('CERT'), 'key.pem': base64('KEY'), note: base64('mine') };
  expect(dataOf('webhook-server-cert')).toEqual(ours);
  expect(dataOf('database')).toBeUndefined();
  expect(dataOf('unmounted')).toEqual(data);
});

test('where no manifest has a key pair, an optional one or one of devloop serves until the manager has made its own', () => {
  const deployment = (name: string, optional: boolean) =>
    object('Deployment', 'manager', {
      spec: { template: { spec: { volumes: [{ secret: { secretName: name, optional } }] } } },
    });
  const secretsOf = (...more: Declared[]) =>
    toInstall([MANIFESTS[0]!, object('Service', 'hooks'), ...more], PAIR)
      .objects.flat()
      .flatMap(({ kind, metadata }) => (kind === 'Secret' ? metadata : []));
  expect(secretsOf(deployment('webhook-cert', true))).toEqual([{ name: 'webhook-cert', namespace: 'shop' }]);
  expect(secretsOf(deployment('database', false))).toEqual([{ name: OWN_PAIR, namespace: 'shop' }]);
  expect(secretsOf(deployment('webhook-cert', false))).toEqual([{ name: 'webhook-cert', namespace: 'shop' }]);
});

test('a webhook that is called through an APIService is left out with that reason', () => {
  const service = { name: 'kubernetes', namespace: 'default', path: '/apis/admission.shop/v1/reviews' };
  const hook = object('MutatingWebhookConfiguration', 'hook', { webhooks: [{ clientConfig: { service } }] });
  const [left] = toInstall([hook], PAIR).leftOut;
  expect(left?.why).toContain('APIService');
});
