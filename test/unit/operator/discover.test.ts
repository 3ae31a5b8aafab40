import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CheckoutFacts } from '../../../src/checkout/facts.ts';
import { refOf } from '../../../src/cluster/api/kinds.ts';
import type { ApiService, Service, WebhookConfiguration } from '../../../src/cluster/api/objects.ts';
import type { Workload } from '../../../src/cluster/api/workloads.ts';
import { deploymentPause } from '../../../src/cluster/takeover/pause/replicas.ts';
import { pointToAddress } from '../../../src/cluster/takeover/service.ts';
import { discover } from '../../../src/operator/discover.ts';
import type { TargetNames } from '../../../src/operator/target.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { type FakeCluster, refusal } from '../../support/fake-cluster.ts';
import { checkoutFacts, clusterWithTable, convert, install } from '../../support/operators.ts';
import { directoryWith } from '../controller/support/places.ts';

let cluster: FakeCluster;
const find = (facts: CheckoutFacts, named: Partial<TargetNames> = {}) =>
  discover({ api: cluster.api, names: { services: [], ...named }, facts, emit: () => {} });
const names = (target: Awaited<ReturnType<typeof find>>) => ({
  services: target.services
    .map(({ service }) => `${service.metadata.namespace}/${service.metadata.name}`)
    .sort(),
  deployment: target.manager?.ref.name,
});

const shop = checkoutFacts(
  ['shop.example.com'],
  ['/mutate-shop-example-com-v1-order', '/validate-shop-example-com-v1-order'],
  ['shop'],
);
const shopWebhooks = [...shop.paths].map((path) => ({ path, group: 'shop.example.com' }));
const certManager = {
  namespace: 'cert-manager',
  service: 'cert-manager-webhook',
  deployment: 'cert-manager-webhook',
  webhooks: [{ path: '/validate', group: 'cert-manager.io' }],
  labels: { app: 'webhook' },
};

const shopOnRoot = {
  namespace: 'shop-system',
  service: 'hooks',
  deployment: 'shop-controller-manager',
  webhooks: [{ path: '/', group: '' }],
};

beforeEach(() => {
  cluster = clusterWithTable();
});

describe('the operator of the checkout', () => {
  it.each([
    [
      'kubebuilder v2/v3',
      { namespace: 'shop-system', service: 'shop-webhook-service', deployment: 'shop-controller-manager' },
    ],
    [
      'a renamed prefix and namespace',
      { namespace: 'team-a', service: 'prod-webhook-service', deployment: 'prod-controller-manager' },
    ],
    [
      'a Helm chart',
      {
        namespace: 'default',
        service: 'my-release-shop-chart-webhook-service',
        deployment: 'my-release-shop-chart',
      },
    ],
    [
      'OLM',
      {
        namespace: 'operators',
        service: 'shop-controller-manager-service',
        deployment: 'shop-controller-manager',
        ports: [
          { name: '443', port: 443, targetPort: 9443 },
          { name: '9443', port: 9443, targetPort: 9443 },
        ],
      },
    ],
  ])('is found among others: %s', async (_name, installed) => {
    install(cluster, certManager);
    install(cluster, { ...installed, webhooks: shopWebhooks });
    expect(names(await find(shop))).toEqual({
      services: [`${installed.namespace}/${installed.service}`],
      deployment: installed.deployment,
    });
  });

  it('is all that an API server has which was made for the checkout, whatever its names and paths', async () => {
    const hooks = { namespace: 'default', service: 'hooks', deployment: 'gate' };
    install(cluster, { ...hooks, webhooks: [{ path: '/mutate', group: '' }] });
    const facts = checkoutFacts([], ['/mutate'], ['shop']);
    const found = discover({
      ...{ api: cluster.api, names: { services: [] }, facts },
      ...{ emit() {}, isAlone: true },
    });
    expect(names(await found)).toEqual({ services: ['default/hooks'], deployment: 'gate' });
    await expect(find(facts)).rejects.toMatchObject({ code: 'target.no-webhook' });
    cluster = clusterWithTable();
    install(cluster, { ...hooks, webhooks: [] });
    const alone = discover({
      ...{ api: cluster.api, names: { services: [] }, facts },
      ...{ emit() {}, isAlone: true },
    });
    expect(names(await alone)).toEqual({ services: [], deployment: 'gate' });
    cluster = clusterWithTable();
    const without = discover({
      ...{ api: cluster.api, names: { services: [] }, facts },
      ...{ emit() {}, isAlone: true },
    });
    await expect(without).rejects.not.toMatchObject({ hint: expect.stringContaining('make deploy') });
    await expect(find(facts)).rejects.toMatchObject({ code: 'target.no-webhook' });
  });

  it('is there the workload that is named as the checkout, even if its Service selects other labels', async () => {
    const put = (deployment: string) =>
      install(cluster, {
        namespace: 'a',
        service: deployment,
        deployment,
        labels: { app: 'a' },
        webhooks: [],
      });
    put('shop');
    put('shop-hosted');
    const discovery = { api: cluster.api, names: { services: [] }, facts: shop, emit() {} };
    const alone = async () => names(await discover({ ...discovery, isAlone: true }));
    expect(await alone()).toEqual({ services: [], deployment: 'shop' });
    const labels = { leader: 'yes' };
    install(cluster, { namespace: 'a', service: 'hooks', labels, webhooks: shopWebhooks });
    expect(await alone()).toEqual({ services: ['a/hooks'], deployment: 'shop' });
    expect(names(await discover(discovery)).deployment).toBeUndefined();
  });

  it('is found by paths of a group below x-k8s.io, which is for projects', async () => {
    const webhooks = [{ path: '/mutate-kueue-x-k8s-io-v1beta1-workload', group: 'kueue.x-k8s.io' }];
    install(cluster, {
      namespace: 'kueue-system',
      service: 'webhook-service',
      deployment: 'kueue-controller-manager',
      webhooks,
    });
    expect(
      names(await find(checkoutFacts(['kueue.x-k8s.io'], [webhooks[0]!.path], ['fork']))).deployment,
    ).toBe('kueue-controller-manager');
  });

  it('with 13 webhooks and a conversion on one Service has one Service with one port', async () => {
    const many = Array.from({ length: 13 }, (_, index) => ({
      path: `/validate-shop-example-com-v1-kind${index}`,
      group: 'shop.example.com',
    }));
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      webhooks: many,
    });
    convert(cluster, 'orders', 'shop.example.com', 'shop-system', 'shop-webhook-service');
    const target = await find(checkoutFacts(['shop.example.com'], [], ['shop']));
    expect(target.services).toHaveLength(1);
    expect(target.services[0]!.calls).toHaveLength(14);
    expect(target.services[0]!.ports).toEqual([{ name: '', port: 443, targetPort: 9443 }]);
    expect(target.services[0]!.serverName).toBe('shop-webhook-service.shop-system.svc');
  });

  it.each([
    ['of two versions is called', ['v1', 'v2'], 1],
    ['of one version has nothing to convert', ['v1'], 0],
  ])('is found by its conversion alone; that %s', async (_, versions, calls) => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      webhooks: [],
    });
    convert(cluster, 'orders', 'shop.example.com', 'shop-system', 'shop-webhook-service', versions);
    const target = await find(checkoutFacts(['shop.example.com'], [], ['other']));
    expect(names(target).deployment).toBe('shop-controller-manager');
    expect(target.services[0]!.calls).toHaveLength(calls);
  });

  it('has all its Services, each with its ports', async () => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      webhooks: [shopWebhooks[0]!],
    });
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-validation',
      webhooks: [shopWebhooks[1]!],
      ports: [{ name: 'https', port: 443, targetPort: 'webhook-server' }],
    });
    const target = await find(shop);
    expect(names(target).services).toEqual([
      'shop-system/shop-validation',
      'shop-system/shop-webhook-service',
    ]);
    expect(target.services.map((one) => one.ports[0])).toEqual(
      expect.arrayContaining([{ name: 'https', port: 443, targetPort: 9443 }]),
    );
  });

  it('found by its name has the Service of its webhook, whose path says nothing', async () => {
    install(cluster, certManager);
    install(cluster, { ...shopOnRoot, labels: { app: 'shop' } });
    expect(names(await find(checkoutFacts([], [], ['shop'])))).toEqual({
      services: ['shop-system/hooks'],
      deployment: 'shop-controller-manager',
    });
  });

  it.each([
    ['the image of the checkout', { names: ['hooks-for-shop'], images: [] }, 'shop-system/hooks'],
    ['an image that it builds', { names: ['other'], images: ['hooks-for-shop'] }, 'shop-system/hooks'],
    ['an image of somebody else', { names: ['other'], images: ['more-hooks'] }, undefined],
  ])('is found by a path that many serve, and %s', async (_name, { names: own, images }, service) => {
    const container = { image: 'registry.example.com/acme/hooks-for-shop:v1' };
    const webhooks = [{ path: '/mutate', group: '' }];
    install(cluster, { ...shopOnRoot, deployment: 'injector', webhooks, container });
    const facts = { ...checkoutFacts([], ['/mutate'], own), images: new Set(images) };
    const found = await find({ ...facts, declaresWebhooks: false });
    expect(names(found)).toEqual({
      services: service ? [service] : [],
      deployment: service && 'injector',
    });
    // The same image is not enough without a webhook on a path that its sources serve.
    expect(names(await find({ ...facts, paths: new Set(['/validate']), declaresWebhooks: false }))).toEqual({
      services: [],
      deployment: undefined,
    });
  });

  it('does not have a Service that selects another Deployment as well', async () => {
    install(cluster, shopOnRoot);
    install(cluster, {
      namespace: 'shop-system',
      service: 'other',
      deployment: 'other-controller-manager',
      webhooks: [],
    });
    expect(names(await find(checkoutFacts([], [], ['shop'])))).toEqual({
      services: [],
      deployment: 'shop-controller-manager',
    });
  });

  it('is still found, with its Deployment, after a dead session removed the selector', async () => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      webhooks: shopWebhooks,
    });
    const deployment = cluster.read<Workload>('Deployment', 'shop-controller-manager', 'shop-system')!;
    const { signal } = new AbortController();
    const work = { api: cluster.api, sessionId: 'dead', emit: () => {}, signal };
    const service = cluster.read<Service>('Service', 'shop-webhook-service', 'shop-system')!;
    await pointToAddress(service, '').apply(work, () => ({ address: '10.0.0.9', ports: [] }));
    await deploymentPause
      .pause({ ref: refOf('Deployment', deployment.metadata), object: deployment })
      .apply(work);
    expect(names(await find(shop)).deployment).toBe('shop-controller-manager');
  });
});

describe('a Service without a selector', () => {
  const withoutSelector = (name: string): void =>
    cluster.edit<Service>('Service', name, 'shop-system', ({ spec }) => void delete spec.selector);
  const installed = {
    namespace: 'shop-system',
    service: 'shop-webhook-service',
    deployment: 'shop-controller-manager',
    webhooks: shopWebhooks,
  };
  const found = { services: ['shop-system/shop-webhook-service'], deployment: 'shop-controller-manager' };

  beforeEach(() => {
    install(cluster, installed);
    withoutSelector('shop-webhook-service');
  });

  it('belongs to the Deployment in its namespace that looks like its manager', async () => {
    install(cluster, { ...installed, service: 'db', deployment: 'db', webhooks: [], labels: { app: 'db' } });
    expect(names(await find(shop))).toEqual(found);
  });

  it('belongs to the Deployment that is named, in its own namespace', async () => {
    expect(names(await find(shop, { deployment: 'shop-controller-manager' }))).toEqual(found);
    const other = { namespace: 'other', service: 'other', deployment: 'other', webhooks: [] };
    install(cluster, other);
    expect(names(await find(shop, { deployment: 'other/other' })).services).not.toEqual(found.services);
  });

  it('belongs to the Deployment that another Service of the operator selects', async () => {
    const webhooks = [{ path: '/validate-shop-example-com-v2-order', group: 'shop.example.com' }];
    install(cluster, { ...installed, service: 'z-second', webhooks, labels: { app: 'shop' } });
    expect(names(await find(shop))).toEqual({
      ...found,
      services: ['shop-system/shop-webhook-service', 'shop-system/z-second'],
    });
  });
});

describe('a foreign operator', () => {
  const refused = { code: 'target.no-webhook' };

  it('is not matched to a checkout whose own operator is not deployed', async () => {
    install(cluster, certManager);
    await expect(find(shop)).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('cert-manager/cert-manager-webhook'),
    });
  });

  it('is named by the hint where the sources register its webhooks, and taken over only by that name', async () => {
    install(cluster, shopOnRoot);
    install(cluster, certManager);
    const quoted = new Set(['hooks', 'shop-system-hooks', 'cert-manager-webhook']);
    const facts = { ...checkoutFacts([], [], ['other']), quoted };
    const hint = await find(facts).catch(({ hint }) => hint);
    expect(hint.match(/--service (\S+)/g)).toEqual(['--service shop-system/hooks']);
    expect(names(await find(facts, { services: ['shop-system/hooks'] })).deployment).toBe(
      'shop-controller-manager',
    );
  });

  it('is taken over if the sources register webhooks for a kind that they define', async () => {
    install(cluster, { ...shopOnRoot, webhooks: [{ path: '/', group: 'shop.example.com' }] });
    const quoted = new Set(['hooks', 'shop-system-hooks']);
    const facts = { ...checkoutFacts(['shop.example.com'], [], ['other']), quoted };
    expect(names(await find(facts)).deployment).toBe('shop-controller-manager');
    const named = { ...facts, quoted: new Set(['hooks']) };
    await expect(find(named)).rejects.toMatchObject(refused);
  });

  it('is taken over by the name of its configuration alone if that is named after a group of the checkout', async () => {
    const configuration = 'validation.webhook.shop.example.com';
    install(cluster, { ...shopOnRoot, configuration, webhooks: [{ path: '/', group: 'shop.example.com' }] });
    const quoted = new Set([configuration]);
    const facts = { ...checkoutFacts(['shop.example.com'], [], ['other']), quoted };
    expect(names(await find(facts)).deployment).toBe('shop-controller-manager');
    const ofOthers = { ...checkoutFacts(['example.org'], [], ['other']), quoted };
    await expect(find(ofOthers)).rejects.toMatchObject(refused);
    const unnamed = { ...facts, quoted: new Set<string>() };
    await expect(find(unnamed)).rejects.toMatchObject(refused);
  });

  it.each([
    ['the Pod example of the kubebuilder book', '/mutate-v1-pod'],
    ['a core kind', '/mutate--v1-pod'],
    ['a Deployment', '/validate-apps-v1-deployment'],
    ['a NetworkPolicy', '/validate-networking-k8s-io-v1-networkpolicy'],
    ["knative's defaulting", '/defaulting'],
    ["knative's validation", '/resource-validation'],
    ["knative's configuration", '/config-validation'],
    ['an injector', '/inject'],
    ['Pods', '/mutate-pods'],
  ])('is not matched by a path that many operators serve: %s', async (_name, path) => {
    install(cluster, {
      namespace: 'observability',
      service: 'otel-webhook',
      deployment: 'otel',
      webhooks: [{ path, group: '' }],
    });
    await expect(find(checkoutFacts(['shop.example.com'], [path], ['shop']))).rejects.toMatchObject(refused);
  });

  it('is matched by such a path if its name also matches the checkout', async () => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'webhook',
      deployment: 'shop',
      webhooks: [{ path: '/mutate-v1-pod', group: '' }],
    });
    expect(names(await find(checkoutFacts([], ['/mutate-v1-pod'], ['shop']))).deployment).toBe('shop');
  });

  it('is not matched by a rule for a group of this checkout', async () => {
    install(cluster, {
      namespace: 'kyverno',
      service: 'kyverno-svc',
      deployment: 'kyverno',
      webhooks: [{ path: '/validate/fail', group: 'shop.example.com' }],
    });
    await expect(find(shop)).rejects.toMatchObject(refused);
  });

  it('of the same family in the same namespace is not matched', async () => {
    const labels = (app: string) => ({ app });
    install(cluster, {
      namespace: 'tekton',
      service: 'tekton-pipelines-webhook',
      deployment: 'tekton-pipelines-webhook',
      labels: labels('p'),
      webhooks: [{ path: '/defaulting', group: 'tekton.dev' }],
    });
    install(cluster, {
      namespace: 'tekton',
      service: 'tekton-triggers-webhook',
      deployment: 'tekton-triggers-webhook',
      labels: labels('t'),
      webhooks: [{ path: '/defaulting', group: 'triggers.tekton.dev' }],
    });
    expect(names(await find(checkoutFacts(['triggers.tekton.dev'], ['/defaulting'], ['triggers'])))).toEqual({
      services: ['tekton/tekton-triggers-webhook'],
      deployment: 'tekton-triggers-webhook',
    });
  });

  it('of the same checkout, but with another Deployment, is left out, since a session takes over one manager', async () => {
    install(cluster, {
      namespace: 'platform',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      labels: { app: 'shop' },
      webhooks: shopWebhooks,
    });
    install(cluster, {
      namespace: 'platform',
      service: 'billing-webhook-service',
      deployment: 'billing-controller-manager',
      labels: { app: 'billing' },
      webhooks: [{ path: '/validate-billing-example-com-v1-invoice', group: 'billing.example.com' }],
    });
    const both = checkoutFacts(
      ['shop.example.com', 'billing.example.com'],
      [...shop.paths, '/validate-billing-example-com-v1-invoice'],
      ['platform'],
    );
    expect(names(await find(both))).toEqual({
      services: ['platform/shop-webhook-service'],
      deployment: 'shop-controller-manager',
    });
  });

  it('that is installed twice is ambiguous, even if one installation has the name of the checkout', async () => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      webhooks: shopWebhooks,
    });
    install(cluster, {
      namespace: 'team-b',
      service: 'webhook-service',
      deployment: 'controller-manager',
      webhooks: shopWebhooks,
    });
    await expect(find(shop)).rejects.toMatchObject({
      code: 'target.ambiguous',
      message: expect.stringMatching(/shop-system.*team-b/s),
    });
    expect(names(await find(shop, { namespace: 'team-b' })).deployment).toBe('controller-manager');
    expect(names(await find(shop, { services: ['team-b/webhook-service'] })).deployment).toBe(
      'controller-manager',
    );
  });

  it('is that of the directory in which devloop was started, in a repository of several', async () => {
    const billing = { path: '/validate-billing-example-com-v1-invoice', group: 'billing.example.com' };
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'shop-controller-manager',
      webhooks: shopWebhooks,
    });
    install(cluster, {
      namespace: 'billing-system',
      service: 'billing-webhook-service',
      deployment: 'billing-controller-manager',
      webhooks: [billing],
    });
    const paths = [...shop.paths, billing.path];
    const both = checkoutFacts(['shop.example.com', 'billing.example.com'], paths, ['platform']);
    const register = (path: string): string => `package webhooks\n\nvar path = "${path}"\n`;
    const root = await directoryWith({
      'billing/webhooks/invoice.go': register(billing.path),
      'shop/webhooks/order.go': register([...shop.paths][0]!),
      'docs/README.md': '',
    });
    const startedIn = (directory: string) => find({ ...both, startedIn: join(root, directory) });
    expect(names(await startedIn('billing/webhooks')).deployment).toBe('billing-controller-manager');
    expect(names(await startedIn('shop')).deployment).toBe('shop-controller-manager');
    await expect(startedIn('docs')).rejects.toMatchObject({ code: 'target.ambiguous' });
    await expect(startedIn('.')).rejects.toMatchObject({ code: 'target.ambiguous' });
  });

  describe('beside one that shares kinds with it', () => {
    const queue = checkoutFacts(
      ['queue.example.com'],
      ['/validate-queue-example-com-v1-queue', '/validate-shop-example-com-v1-order'],
      ['queue'],
    );
    const queueSystem = {
      namespace: 'queue-system',
      service: 'queue-webhook-service',
      deployment: 'queue-controller-manager',
      webhooks: [...queue.paths].map((path) => ({
        path,
        group: path.includes('shop') ? 'shop.example.com' : 'queue.example.com',
      })),
    };

    beforeEach(() => {
      install(cluster, {
        namespace: 'shop-system',
        service: 'shop-webhook-service',
        deployment: 'shop-controller-manager',
        webhooks: shopWebhooks,
      });
      install(cluster, queueSystem);
    });

    it('is found where it reviews kinds of the other', async () => {
      expect(names(await find(queue)).deployment).toBe('queue-controller-manager');
    });

    it('is found where the other reviews its kinds', async () => {
      expect(names(await find(shop)).deployment).toBe('shop-controller-manager');
    });

    it('is ambiguous where it is installed twice', async () => {
      install(cluster, { ...queueSystem, namespace: 'team-b' });
      await expect(find(queue)).rejects.toMatchObject({
        code: 'target.ambiguous',
        message: expect.stringMatching(/^(?!.*shop-system).*queue-system.*team-b/s),
      });
    });

    it('is ambiguous where its second installation reviews more kinds of Kubernetes', async () => {
      const pods = { path: '/pods', group: '' };
      install(cluster, { ...queueSystem, namespace: 'team-b', webhooks: [...queueSystem.webhooks, pods] });
      await expect(find(queue)).rejects.toMatchObject({ code: 'target.ambiguous' });
    });
  });
});

describe('a Service that is called, but not installed', () => {
  const prod = {
    namespace: 'prod',
    service: 'shop-webhook-service',
    deployment: 'shop-controller-manager',
    webhooks: shopWebhooks,
  };

  it('is no second installation', async () => {
    install(cluster, prod);
    convert(cluster, 'orders', 'shop.example.com', 'system', 'webhook-service');
    expect(names(await find(shop)).services).toEqual(['prod/shop-webhook-service']);
  });

  it('is named in the error where it is the only one', async () => {
    convert(cluster, 'orders', 'shop.example.com', 'system', 'webhook-service');
    await expect(find(shop)).rejects.toMatchObject({ code: 'target.not-found' });
  });
});

it('a path without a group, of a version that the core group does not have, belongs to the operator', async () => {
  const path = '/mutate-v1alpha1-order';
  install(cluster, {
    ...{ namespace: 'orders', service: 'connect-injector', deployment: 'connect-injector' },
    webhooks: [{ path, group: 'shop.example.com' }],
  });
  expect(names(await find(checkoutFacts(['shop.example.com'], [path], ['control-plane']))).deployment).toBe(
    'connect-injector',
  );
});

describe('the Deployment behind a Service', () => {
  const twoManagers = (first: object, second: object): void => {
    install(cluster, {
      namespace: 'ops',
      service: 'db-webhook-service',
      deployment: 'db-controller-manager',
      webhooks: shopWebhooks,
      ...first,
    });
    install(cluster, {
      namespace: 'ops',
      service: 'mq-webhook-service',
      deployment: 'mq-controller-manager',
      webhooks: [],
      ...second,
    });
  };
  const mounting = {
    container: { volumeMounts: [{ name: 'cert', mountPath: '/tmp/k8s-webhook-server/serving-certs' }] },
    volumes: [{ name: 'cert', secret: { secretName: 'webhook-server-cert' } }],
  };

  it('has the same prefix when the old scaffold label selects two', async () => {
    twoManagers(mounting, mounting);
    expect(names(await find(shop)).deployment).toBe('db-controller-manager');
  });

  it('has the same prefix, even if only the other one mounts a Secret', async () => {
    twoManagers({}, mounting);
    expect(names(await find(shop)).deployment).toBe('db-controller-manager');
  });

  it('is the one that mounts a Secret when the names do not differ', async () => {
    install(cluster, {
      namespace: 'ops',
      service: 'webhook-service',
      deployment: 'controller-manager',
      webhooks: shopWebhooks,
      ...mounting,
    });
    install(cluster, { namespace: 'ops', service: 'metrics', deployment: 'exporter', webhooks: [] });
    expect(names(await find(shop)).deployment).toBe('controller-manager');
  });

  it('is ambiguous when nothing distinguishes two', async () => {
    install(cluster, {
      namespace: 'ops',
      service: 'webhook-service',
      deployment: 'a-controller',
      webhooks: shopWebhooks,
      ...mounting,
    });
    install(cluster, {
      namespace: 'ops',
      service: 'metrics',
      deployment: 'b-controller',
      webhooks: [],
      ...mounting,
    });
    await expect(find(shop)).rejects.toMatchObject({ code: 'target.ambiguous' });
    expect(names(await find(shop, { deployment: 'b-controller' })).deployment).toBe('b-controller');
  });

  it('has the container of its manager, not the metrics proxy on the same Service', async () => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop',
      webhooks: shopWebhooks,
      ports: [
        { name: 'https', port: 8443, targetPort: 'https' },
        { name: 'webhook', port: 443, targetPort: 'webhook-server' },
      ],
    });
    const labels = { 'control-plane': 'controller-manager' };
    const containers = [
      { name: 'kube-rbac-proxy', ports: [{ name: 'https', containerPort: 8443 }] },
      { name: 'manager', ports: [{ name: 'webhook-server', containerPort: 9443 }] },
    ];
    cluster.put<Workload>('Deployment', {
      metadata: { name: 'shop', namespace: 'shop-system' },
      spec: { selector: {}, template: { metadata: { labels }, spec: { containers } } },
    });
    const target = await find(shop);
    expect(target.manager?.container.name).toBe('manager');
    expect(target.services[0]!.ports).toEqual([{ name: 'webhook', port: 443, targetPort: 9443 }]);
  });
});

describe('an operator without webhooks', () => {
  const bare = (...names: string[]) => ({ ...checkoutFacts([], [], names), declaresWebhooks: false });
  const deploy = (
    name: string,
    namespace: string,
    image: string,
    labels: Record<string, string> = {},
    account = 'sa',
  ): void => {
    const spec = {
      containers: [{ name: 'manager', image }],
      ...(account ? { serviceAccountName: account } : {}),
    };
    cluster.put<Workload>('Deployment', {
      metadata: { name, namespace, labels },
      spec: { replicas: 1, selector: {}, template: { spec } },
    });
  };

  it.each([
    ['kubebuilder', 'shop-controller-manager', 'shop-system', 'controller:latest', {}],
    ['a Helm chart', 'shop', 'default', 'ghcr.io/acme/shop:v1', { 'app.kubernetes.io/name': 'shop' }],
    ['a registry with a port', 'shop', 'tools', 'localhost:5000/acme/shop@sha256:abc', {}],
  ])('is found by its name and another sign: %s', async (_layout, name, namespace, image, labels) => {
    deploy('web', 'prod', 'nginx');
    deploy(name, namespace, image, labels);
    expect(names(await find(bare('shop'))).deployment).toBe(name);
  });

  it.each([
    ['whose name only begins the same way', 'shop-frontend', 'prod', 'acme/frontend'],
    ['that has the same name and no other sign', 'shop', 'prod', 'acme/storefront'],
    ['that only has a matching namespace', 'postgres', 'shop-system', 'postgres'],
  ])('is not a Deployment %s', async (_name, deployment, namespace, image) => {
    deploy(deployment, namespace, image);
    expect((await find(bare('shop'))).manager).toBeUndefined();
  });

  it('whose webhooks nothing calls is found all the same, and a note names them', async () => {
    install(cluster, certManager);
    deploy('shop-controller-manager', 'shop-system', 'controller:latest');
    const paths = [...shop.paths].sort();
    const facts = { ...shop, markerPaths: new Set([...paths].reverse()) };
    const notes: DevloopEvent[] = [];
    const emit = (event: DevloopEvent): void => {
      if (event.type === 'note') notes.push(event);
    };
    const discovery = { api: cluster.api, names: { services: [] }, facts, emit };
    expect(names(await discover(discovery))).toEqual({
      services: [],
      deployment: 'shop-controller-manager',
    });
    expect(notes).toMatchObject([{ code: 'webhooks.off', values: { paths, areAll: true } }]);
    notes.length = 0;
    const [called] = shopWebhooks;
    install(cluster, { namespace: 'shop-system', service: 'x', webhooks: [called!], labels: {} });
    expect(names(await discover(discovery)).services).toEqual(['shop-system/x']);
    const off = paths.filter((path) => path !== called!.path);
    expect(notes).toMatchObject([{ code: 'webhooks.off', values: { paths: off, areAll: false } }]);
  });

  it('whose webhooks another manager answers is not said to have webhooks that are off', async () => {
    const labels = { app: 'hooks' };
    install(cluster, { ...shopOnRoot, webhooks: shopWebhooks, deployment: 'shop-hooks', labels });
    deploy('shop-reports', 'shop-system', 'controller:latest');
    const notes: DevloopEvent[] = [];
    const emit = (event: DevloopEvent): void => {
      if (event.type === 'note') notes.push(event);
    };
    const names = { services: [], deployment: 'shop-system/shop-reports' };
    const facts = { ...shop, declaresWebhooks: true };
    const { services } = await discover({ api: cluster.api, names, facts, emit });
    expect(services).toEqual([]);
    expect(notes).toMatchObject([
      { code: 'service.of-another', values: { service: { namespace: 'shop-system', name: 'hooks' } } },
      { code: 'operator.siblings' },
    ]);
  });

  it('whose webhooks are called by URL is warned about, or refused with the URL', async () => {
    const [path = ''] = shop.paths;
    const url = `https://shop-hooks.shop-system.svc:443${path}`;
    cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', {
      metadata: { name: 'by-url' },
      webhooks: [{ name: 'w.example.com', clientConfig: { url } }],
    });
    const said = expect.stringMatching(/by URL.*by-url .*shop-hooks\.shop-system\.svc\//);
    await expect(find(shop)).rejects.toMatchObject({ code: 'target.no-webhook', message: said });
    deploy('shop-controller-manager', 'shop-system', 'controller:latest');
    const events: DevloopEvent[] = [];
    const emit = (event: DevloopEvent): void => void events.push(event);
    await discover({ api: cluster.api, names: { services: [] }, facts: shop, emit });
    const calls = [expect.objectContaining({ url: expect.stringContaining('shop-hooks.shop-system.svc/') })];
    expect(events).toContainEqual(
      expect.objectContaining({ code: 'webhooks.by-url', values: expect.objectContaining({ calls }) }),
    );
    expect(JSON.stringify(events)).not.toContain('are off');
  });

  it('is not looked for by name where Deployments cannot be listed, if the checkout declares webhooks', async () => {
    cluster.hook.before = (verb, what) => {
      if (verb === 'list' && what.startsWith('Deployment')) throw refusal(403, 'Forbidden');
    };
    await expect(find(shop)).rejects.toMatchObject({ code: 'target.no-webhook' });
    await expect(find(bare('shop'))).rejects.toMatchObject({ status: 403 });
  });

  it('is not a workload that it manages, which has no ServiceAccount of its own', async () => {
    deploy('redis', 'prod', 'redis:8', { 'app.kubernetes.io/name': 'redis' }, '');
    expect((await find(bare('redis'))).manager).toBeUndefined();
  });
});

it('a Service that only a CRD calls, and that does not exist, is left out beside one that does', async () => {
  const [namespace, service] = ['shop-system', 'shop-webhook-service'];
  install(cluster, { namespace, service, deployment: 'm', webhooks: shopWebhooks });
  convert(cluster, 'orders', 'shop.example.com', namespace, 'webhook-service');
  const warnings: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => {
    if (event.type === 'warning') warnings.push(event);
  };
  const named = (services: string[]) =>
    discover({ api: cluster.api, names: { services }, facts: shop, emit });
  expect(names(await named([])).services).toEqual([`${namespace}/${service}`]);
  const missing = {
    service: { namespace, name: 'webhook-service' },
    caller: { name: 'orders.shop.example.com' },
  };
  expect(warnings).toMatchObject([{ code: 'service.missing', values: missing }]);
  await expect(named([`${namespace}/${service}`, `${namespace}/webhook-service`])).rejects.toMatchObject({
    code: 'target.not-found',
  });
});

describe('what the user named', () => {
  it('is not found if it does not exist; the error names the configuration that calls it', async () => {
    install(cluster, { namespace: 'shop-system', service: 'shop-webhook-service', webhooks: shopWebhooks });
    cluster.drop('Service', 'shop-webhook-service', 'shop-system');
    await expect(find(shop)).rejects.toMatchObject({
      code: 'target.not-found',
      message: expect.stringContaining('ValidatingWebhookConfiguration'),
    });
    await expect(find(shop, { services: ['nowhere/x'] })).rejects.toMatchObject({ code: 'target.not-found' });
    await expect(find(shop, { deployment: 'nowhere/x', services: [] })).rejects.toMatchObject({
      code: 'target.not-found',
    });
  });

  it('can be a Service that no webhook calls yet: its first port counts', async () => {
    install(cluster, { namespace: 'new', service: 'webhook-service', deployment: 'manager', webhooks: [] });
    const target = await find(shop, { services: ['new/webhook-service'] });
    expect(target.services[0]).toMatchObject({ calls: [], ports: [{ port: 443, targetPort: 9443 }] });
  });

  it('can be a bare name in another namespace if only one Service has it', async () => {
    install(cluster, {
      namespace: 'shop-system',
      service: 'shop-webhook-service',
      deployment: 'm',
      webhooks: shopWebhooks,
    });
    expect(names(await find(shop, { services: ['shop-webhook-service'] })).services).toEqual([
      'shop-system/shop-webhook-service',
    ]);
  });
});

describe('ports', () => {
  it('that the Service lacks, or names that no container declares, are errors', async () => {
    install(cluster, {
      namespace: 's',
      service: 'x',
      deployment: 'x',
      webhooks: shopWebhooks,
      ports: [{ port: 8443, targetPort: 9443 }],
    });
    await expect(find(shop)).rejects.toMatchObject({
      code: 'service.unsupported',
      message: expect.stringContaining('no port 443'),
    });
    cluster.edit<Service>(
      'Service',
      'x',
      's',
      (object) => (object.spec.ports = [{ port: 443, targetPort: 'https' }]),
    );
    await expect(find(shop)).rejects.toMatchObject({
      code: 'service.unsupported',
      message: expect.stringContaining('"https"'),
    });
  });
});

it('goes on without an unusable port if the caller handles the error', async () => {
  const ports = [{ port: 8443, targetPort: 9443 }];
  install(cluster, { namespace: 's', service: 'x', deployment: 'x', webhooks: shopWebhooks, ports });
  const refused: string[] = [];
  const refuse = (error: Error): void => void refused.push(error.message);
  const target = await discover({
    api: cluster.api,
    names: { services: [] },
    facts: shop,
    emit: () => {},
    onUnusablePort: refuse,
  });
  expect(refused).toEqual([expect.stringContaining('no port 443')]);
  expect(names(target)).toEqual({ services: ['s/x'], deployment: 'x' });
  expect(target.services[0]!.ports).toEqual([]);
});

describe('an API of the cluster', () => {
  const admission = {
    metadata: { name: 'orders' },
    webhooks: [
      {
        name: 'o.example.com',
        clientConfig: {
          service: { namespace: 'default', name: 'kubernetes', path: '/apis/a.example.com/v1/orders' },
        },
        rules: [{ apiGroups: ['shop.example.com'] }],
      },
    ],
  };

  it('that the Pods of the manager serve is known, and no other', async () => {
    install(cluster, { namespace: 's', service: 'x', deployment: 'x', webhooks: shopWebhooks });
    install(cluster, { namespace: 's', service: 'y', deployment: 'y', webhooks: [], labels: { app: 'y' } });
    const apis = [
      ['v1.own', { namespace: 's', name: 'x' }],
      ['v1.neighbour', { namespace: 's', name: 'y' }],
      ['v1.elsewhere', { namespace: 't', name: 'x' }],
      ['v1.built-in', undefined],
    ] as const;
    for (const [name, service] of apis)
      cluster.put<ApiService>('APIService', { metadata: { name }, spec: service ? { service } : {} });
    expect((await find(shop)).apis).toEqual([{ name: 'v1.own', service: 'x', calls: [] }]);
    cluster.hook.before = (verb, what) => {
      if (verb === 'list' && what.startsWith('APIService')) throw refusal(403, 'Forbidden');
    };
    expect((await find(shop)).apis).toEqual([]);
  });

  it('that carries the webhooks of a checkout whose manager is not found is in the error', async () => {
    cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', admission);
    const spec = { service: { namespace: 'x', name: 'y' } };
    cluster.put<ApiService>('APIService', { metadata: { name: 'v1.a.example.com' }, spec });
    await expect(find(shop)).rejects.toMatchObject({
      code: 'target.no-webhook',
      message: expect.stringContaining('through APIService v1.a.example.com'),
    });
  });

  it.each([
    ['the manager', 'shop', ['orders'], []],
    ['another Deployment', 'y', [], ['v1.a.example.com']],
  ])('carries webhooks to %s: they are not called off', async (_, service, callers, noted) => {
    const names = { namespace: 'shop-system', webhooks: [] };
    install(cluster, { ...names, service: 'shop', deployment: 'shop-controller-manager' });
    install(cluster, { ...names, service: 'y', deployment: 'y', labels: { app: 'y' } });
    cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', admission);
    const spec = { service: { namespace: 'shop-system', name: service } };
    cluster.put<ApiService>('APIService', { metadata: { name: 'v1.a.example.com' }, spec });
    const notes: DevloopEvent[] = [];
    const emit = (event: DevloopEvent): void => {
      if (event.type === 'note') notes.push(event);
    };
    const target = await discover({ api: cluster.api, names: { services: [] }, facts: shop, emit });
    expect(target.services).toEqual([]);
    expect(target.manager?.ref.name).toBe('shop-controller-manager');
    const calls = target.apis!.flatMap((one) => one.calls);
    expect(calls.map(({ from }) => from.name)).toEqual(callers);
    expect(notes).toMatchObject(
      noted.map((name) => ({ code: 'webhooks.through-api', values: { api: { name } } })),
    );
  });
});

it('ignores the webhook configuration of a probe, and webhooks that are configured by URL', async () => {
  cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', {
    metadata: { name: 'devloop-probe-s1-1', labels: { 'devloop.dev/session': 's1' } },
    webhooks: [
      { name: 'p', clientConfig: { service: { namespace: 'a', name: 'b', path: [...shop.paths][0]! } } },
    ],
  });
  cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', {
    metadata: { name: 'url' },
    webhooks: [{ name: 'u', clientConfig: { url: 'https://x/y' } }],
  });
  await expect(find(shop)).rejects.toMatchObject({
    code: 'target.no-webhook',
    message: expect.not.stringContaining('a/b'),
  });
});
