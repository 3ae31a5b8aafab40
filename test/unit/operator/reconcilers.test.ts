import { expect, test } from 'vitest';
import type { Service } from '../../../src/cluster/api/objects.ts';
import type { Container, Workload } from '../../../src/cluster/api/workloads.ts';
import { discover } from '../../../src/operator/discover.ts';
import { checkoutFacts, clusterWithTable, install } from '../../support/operators.ts';

const NAMESPACE = 'shop-system';
const PATH = '/validate-shop-example-com-v1-order';
const shop = { ...checkoutFacts(['shop.example.com'], [PATH], ['shop']), images: new Set(['shop']) };
const SELECTOR = { 'f:spec': { 'f:selector': {} } };
const OPERATOR: Container = { name: 'operator', command: ['/bin/shop-operator'] };

/** The Service `hooks` of the Deployment `shop-hooks`, whose selector this program wrote. */
function webhooksWrittenBy(writer: string, ownedBy?: string) {
  const cluster = clusterWithTable();
  const webhooks = [{ path: PATH, group: 'shop.example.com' }];
  const container = { command: ['/bin/shop-webhook'] };
  install(cluster, {
    ...{ namespace: NAMESPACE, service: 'hooks', deployment: 'shop-hooks', webhooks, container },
  });
  const [ref, seen] = [{ kind: 'Service', namespace: NAMESPACE, name: 'hooks' } as const, Date.now()];
  cluster.put<Service>('Service', {
    metadata: {
      ...ref,
      managedFields: [{ manager: writer, operation: 'Update', fieldsV1: SELECTOR }],
      ...(ownedBy && {
        ownerReferences: [{ apiVersion: 'v1', kind: ownedBy, name: 'x', uid: `${seen}`, controller: true }],
      }),
    },
    spec: { selector: { 'control-plane': 'controller-manager' }, ports: [{ port: 443, targetPort: 9443 }] },
  });
  return {
    ...cluster,
    deploy(name: string, container: Container, replicas = 1, namespace = NAMESPACE): void {
      const labels = { app: name };
      const template = { metadata: { labels }, spec: { containers: [container] } };
      cluster.put<Workload>('Deployment', {
        metadata: { name, namespace },
        spec: { replicas, selector: { matchLabels: labels }, template },
      });
    },
  };
}

async function reconcilersIn({ api }: ReturnType<typeof webhooksWrittenBy>, deployments?: string[]) {
  const names = { services: [], ...(deployments && { deployments, deployment: deployments[0] }) };
  const { reconcilers = [] } = await discover({ api, names, facts: shop, emit: () => {} });
  return reconcilers.map(({ ref }) => ref.name);
}

test.each<[string, Container]>([
  ['command', OPERATOR],
  ['image', { name: 'main', image: 'ghcr.io/acme/shop-operator:v1' }],
  ['container', { name: 'shop-operator', image: 'ghcr.io/acme/all:v1' }],
])('the Deployment whose %s has the name that wrote the Service is its reconciler', async (_, container) => {
  const cluster = webhooksWrittenBy('shop-operator');
  cluster.deploy('operator', container);
  cluster.deploy('other', { name: 'other', command: ['/bin/other'] });
  expect(await reconcilersIn(cluster)).toEqual(['operator']);
});

test.each([
  ['whose name the checkout knows', 'shop', ['operator']],
  ['that has nothing to do with the checkout', 'gitops', []],
])('in another namespace, only a program counts %s', async (_, writer, expected) => {
  const cluster = webhooksWrittenBy(writer);
  cluster.deploy('operator', { name: 'x', args: [`/${writer}`, 'hub'] }, 1, 'elsewhere');
  expect(await reconcilersIn(cluster)).toEqual(expected);
});

test('a Deployment that does not run, or that the user also runs here, is none', async () => {
  const cluster = webhooksWrittenBy('shop-operator');
  cluster.deploy('operator', OPERATOR);
  expect(await reconcilersIn(cluster, ['shop-system/shop-hooks', 'shop-system/operator'])).toEqual([]);
  cluster.deploy('operator', OPERATOR, 0);
  expect(await reconcilersIn(cluster)).toEqual([]);
});

test('a usual name identifies the writer only if an object controls the Service, and the image is one of the checkout', async () => {
  const manager = { name: 'manager', image: 'ghcr.io/acme/shop:v1', command: ['/manager'] };
  for (const [owner, expected] of [
    [undefined, []],
    ['Shop', ['operator']],
  ] as const) {
    const cluster = webhooksWrittenBy('manager', owner);
    cluster.deploy('operator', manager);
    expect(await reconcilersIn(cluster)).toEqual(expected);
  }
});

test('of two Deployments with the same program, neither is certain', async () => {
  const cluster = webhooksWrittenBy('shop-operator');
  cluster.deploy('operator', OPERATOR);
  cluster.deploy('operator-too', OPERATOR);
  expect(await reconcilersIn(cluster)).toEqual([]);
});

test('a manager that creates its own Service has no reconciler', async () => {
  const cluster = webhooksWrittenBy('shop-webhook');
  cluster.deploy('second', { name: 'second', command: ['/bin/shop-webhook'] });
  expect(await reconcilersIn(cluster)).toEqual([]);
});

test.each(['olm', 'kustomize-controller', 'helm-controller'])(
  '%s, which deploys operators, is never paused',
  async (tool) => {
    const cluster = webhooksWrittenBy(tool);
    cluster.deploy(tool, { name: tool, command: [`/${tool}`] });
    expect(await reconcilersIn(cluster)).toEqual([]);
  },
);

test('a program that creates a second Deployment of itself is the reconciler of that one', async () => {
  const cluster = webhooksWrittenBy('shop-webhook');
  const ref = { kind: 'Deployment', namespace: NAMESPACE, name: 'shop-hooks' } as const;
  const hooks = (await cluster.api.get<Workload>(ref))!;
  const managedFields = [{ manager: 'shop-webhook', operation: 'Update', fieldsV1: SELECTOR }];
  cluster.put<Workload>('Deployment', { ...hooks, metadata: { ...hooks.metadata, managedFields } });
  cluster.deploy('shop', { name: 'shop', command: ['/bin/shop-webhook'] });
  expect(await reconcilersIn(cluster)).toEqual(['shop']);
});

test('a Deployment that answers other webhooks goes on running', async () => {
  const cluster = webhooksWrittenBy('shop-operator');
  cluster.deploy('operator', OPERATOR);
  install(cluster, {
    ...{ namespace: NAMESPACE, service: 'operators-own', labels: { app: 'operator' } },
    webhooks: [{ path: '/of-the-operator', group: 'operator.example.com' }],
  });
  expect(await reconcilersIn(cluster)).toEqual([]);
});
