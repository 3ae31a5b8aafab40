/** Which workload is the manager if no Service shows it, and what discovery reports about the other workloads. */
import { expect, it, test } from 'vitest';
import type { Kind } from '../../../src/cluster/api/kinds.ts';
import type { Container, Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { discover } from '../../../src/operator/discover.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { fakeCluster } from '../../support/fake-cluster.ts';
import { checkoutFacts, clusterWithTable, install } from '../../support/operators.ts';

const NAMESPACE = 'shop-system';
const PATH = '/validate-shop-example-com-v1-order';
const shop = checkoutFacts(['shop.example.com'], [PATH], ['shop']);
const bare = { ...checkoutFacts([], [], ['shop']), declaresWebhooks: false };

function workload(name: string, containers: Container[]): Workload {
  const labels = { app: name };
  const spec = { containers, serviceAccountName: `${name}-sa` };
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

/** Two Deployments with the same image, of which only the first has webhooks. */
function webhooksAndAudit() {
  const cluster = clusterWithTable();
  install(cluster, {
    namespace: NAMESPACE,
    service: 'shop-webhook',
    webhooks: [{ path: PATH, group: 'shop.example.com' }],
    labels: { app: 'shop-webhook' },
  });
  const image = 'ghcr.io/acme/shop:v1';
  for (const name of ['shop-webhook', 'shop-audit'])
    cluster.put<Workload>('Deployment', workload(name, [{ name: 'manager', image }]));
  return cluster;
}

async function found(cluster: ReturnType<typeof fakeCluster>, facts = shop, names = {}) {
  const events: DevloopEvent[] = [];
  const emit = (event: DevloopEvent): void => void events.push(event);
  const target = await discover({ api: cluster.api, names: { services: [], ...names }, facts, emit });
  const notes = events.filter(({ type }) => type === 'note');
  return { manager: target.manager?.ref, notes };
}

it.each<Kind>(['StatefulSet', 'DaemonSet'])('a manager in a %s is found by its name', async (kind) => {
  const cluster = fakeCluster();
  cluster.put<Workload>(kind, workload('shop', [{ name: 'manager', image: 'ghcr.io/acme/shop:v1' }]));
  expect((await found(cluster, bare)).manager).toEqual({ kind, namespace: NAMESPACE, name: 'shop' });
});

test('the Deployment that serves the webhooks is taken, and a note names those that keep running', async () => {
  const { manager, notes } = await found(webhooksAndAudit());
  expect(manager?.name).toBe('shop-webhook');
  const [webhook, audit] = ['shop-webhook', 'shop-audit'].map((name) => ({
    ...{ kind: 'Deployment', namespace: NAMESPACE, name },
  }));
  expect(notes).toMatchObject([
    { code: 'operator.siblings', values: { siblings: [audit], together: [webhook, audit] } },
  ]);
});

test.each(['shop-audit', `${NAMESPACE}/shop-audit`])('not those that run here as well: %s', async (other) => {
  const names = { deployment: `${NAMESPACE}/shop-webhook`, deployments: ['shop-webhook', other] };
  expect((await found(webhooksAndAudit(), shop, names)).notes).toEqual([]);
});

test('a note names the containers beside the manager, which do not run here', async () => {
  const cluster = fakeCluster();
  const proxy = { name: 'kube-rbac-proxy', image: 'quay.io/brancz/kube-rbac-proxy:v0.18.0' };
  const main = { name: 'shop', image: 'ghcr.io/acme/shop:v1' };
  cluster.put<Workload>('Deployment', workload('shop', [proxy, main]));
  expect((await found(cluster, bare)).notes).toMatchObject([
    { code: 'manager.other-containers', values: { container: 'shop', others: ['kube-rbac-proxy'] } },
  ]);
});

test.each<[string, string, Kind, Record<string, string>]>([
  ['ReplicaSet', 'shop-5d8f9c7b6d', 'Deployment', { 'pod-template-hash': '5d8f9c7b6d' }],
  ['StatefulSet', 'shop', 'StatefulSet', {}],
  ['DaemonSet', 'shop', 'DaemonSet', {}],
])(
  'a manager that labels its own Pod for the Service is found by the %s that owns it',
  async (owner, name, kind, generated) => {
    const cluster = clusterWithTable();
    const own = { app: 'shop', 'shop.example.com/webhook': 'serving' };
    const webhooks = [{ path: PATH, group: 'shop.example.com' }];
    install(cluster, { namespace: NAMESPACE, service: 'shop-webhook', webhooks, labels: own });
    cluster.put<Workload>(kind, workload('shop', [{ name: 'manager' }]));
    cluster.put<Pod>('Pod', {
      metadata: {
        ...{ name: 'shop-0', namespace: NAMESPACE, labels: { ...own, ...generated } },
        ownerReferences: [{ kind: owner, name, uid: '1', controller: true }],
      },
      spec: { containers: [{ name: 'manager' }] },
    });
    const target = await discover({ api: cluster.api, names: { services: [] }, facts: shop, emit: () => {} });
    expect(target.manager?.ref).toEqual({ kind, namespace: NAMESPACE, name: 'shop' });
    expect(target.services.map(({ service }) => service.metadata.name)).toEqual(['shop-webhook']);
  },
);
