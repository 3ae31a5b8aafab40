import { type CheckoutFacts, noCheckoutFacts } from '../../src/checkout/facts.ts';
import type {
  CustomResourceDefinition,
  Service,
  WebhookConfiguration,
} from '../../src/cluster/api/objects.ts';
import type { PodTemplate, Workload } from '../../src/cluster/api/workloads.ts';
import { type FakeCluster, fakeCluster } from './fake-cluster.ts';

/** An installed operator, as its manifests created it in the cluster. */
export interface Installed {
  namespace: string;
  service: string;
  /** By default, it has the names of the namespace and of the Service. */
  configuration?: string;
  /** The paths of webhooks, with their API groups. */
  webhooks: { path: string; group: string }[];
  deployment?: string | undefined;
  labels?: Record<string, string>;
  ports?: Service['spec']['ports'];
  container?: Partial<PodTemplate['spec']['containers'][number]>;
  volumes?: PodTemplate['spec']['volumes'];
}

export function install(
  cluster: FakeCluster,
  {
    namespace,
    service,
    webhooks,
    deployment,
    labels = { 'control-plane': 'controller-manager' },
    ...rest
  }: Installed,
): void {
  cluster.put<Service>('Service', {
    metadata: { name: service, namespace },
    spec: { selector: labels, clusterIP: '10.0.0.1', ports: rest.ports ?? [{ port: 443, targetPort: 9443 }] },
  });
  if (deployment !== undefined) {
    const container = {
      name: 'manager',
      ports: [{ name: 'webhook-server', containerPort: 9443 }],
      ...rest.container,
    };
    const template: PodTemplate = {
      metadata: { labels },
      spec: {
        containers: [container],
        serviceAccountName: `${deployment}-sa`,
        ...(rest.volumes ? { volumes: rest.volumes } : {}),
      },
    };
    cluster.put<Workload>('Deployment', {
      metadata: { name: deployment, namespace },
      spec: { replicas: 1, selector: { matchLabels: labels }, template },
    });
  }
  cluster.put<WebhookConfiguration>('ValidatingWebhookConfiguration', {
    metadata: { name: rest.configuration ?? `${namespace}-${service}` },
    webhooks: webhooks.map(({ path, group }, index) => ({
      name: `w${index}.example.com`,
      clientConfig: { caBundle: 'Q0E=', service: { namespace, name: service, path } },
      rules: [{ apiGroups: [group] }],
    })),
  });
}

export function convert(
  cluster: FakeCluster,
  plural: string,
  group: string,
  namespace: string,
  service: string,
  versions = ['v1', 'v2'],
): void {
  cluster.put<CustomResourceDefinition>('CustomResourceDefinition', {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      versions: versions.map((name) => ({ name })),
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { service: { namespace, name: service, path: '/convert' } } },
      },
    },
  });
}

/** A cluster that also returns its CRDs as a Table. */
export function clusterWithTable(): FakeCluster {
  const cluster: FakeCluster = fakeCluster((_method, path) => {
    if (!path.endsWith('/customresourcedefinitions')) return {};
    return {
      rows: cluster
        .names('CustomResourceDefinition')
        .map((name) => ({ cells: [name, '2026-01-01T00:00:00Z'] })),
    };
  });
  return cluster;
}

export function checkoutFacts(groups: string[], paths: string[], names: string[]): CheckoutFacts {
  return {
    ...noCheckoutFacts(),
    groups: new Set(groups),
    paths: new Set(paths),
    names: new Set(names),
    declaresWebhooks: true,
  };
}
