import { hostname } from 'node:os';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import type { Kind } from '../../src/cluster/api/kinds.ts';
import { startTimeOf } from '../../src/machine/system.ts';
import { type FakeCluster, fakeCluster } from './fake-cluster.ts';

const NAMESPACE = 'shop';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const pair = await selfSignedPair(['webhook.shop.svc'], { days: 30 });

interface Placed {
  kind: Kind;
  object: {
    metadata: { name: string; namespace?: string; labels?: object; annotations?: object };
    [field: string]: unknown;
  };
}
type Objects = Record<string, Placed>;

/** The objects of an operator with one webhook, as an API server returns them. */
export const SHOP = {
  service: {
    kind: 'Service',
    object: {
      metadata: { name: 'webhook', namespace: NAMESPACE, labels: { app: 'shop' }, annotations: { a: 'b' } },
      spec: {
        type: 'ClusterIP',
        selector: { app: 'shop' },
        ports: [{ name: 'https', port: 443, targetPort: 'webhook', protocol: 'TCP' }],
        clusterIP: '10.0.0.7',
        ipFamilies: ['IPv4'],
        internalTrafficPolicy: 'Cluster',
      },
    },
  },
  deployment: {
    kind: 'Deployment',
    object: {
      metadata: { name: 'manager', namespace: NAMESPACE, labels: { app: 'shop' }, annotations: { a: 'b' } },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'shop' } },
        template: {
          metadata: { labels: { app: 'shop' }, annotations: { a: 'b' } },
          spec: {
            serviceAccountName: 'shop',
            containers: [
              {
                name: 'manager',
                image: 'shop:1',
                command: ['/manager'],
                args: [
                  '--webhook-cert-path=/certs',
                  '--config=/etc/shop/config.yaml',
                  '--id=$(ID)',
                  '--bind=:8081',
                ],
                env: [
                  { name: 'ID', value: '$(NAME)-x' },
                  { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
                  {
                    name: 'TOKEN',
                    valueFrom: { secretKeyRef: { name: 'token', key: 'token', optional: true } },
                  },
                  { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'config', key: 'mode' } } },
                ],
                envFrom: [{ prefix: 'SHOP_', configMapRef: { name: 'config', optional: true } }],
                ports: [{ name: 'webhook', containerPort: 9443 }],
                volumeMounts: [
                  { name: 'certs', mountPath: '/certs' },
                  { name: 'config', mountPath: '/etc/shop/config.yaml', subPath: 'config.yaml' },
                ],
              },
            ],
            volumes: [
              {
                name: 'certs',
                secret: {
                  secretName: 'cert',
                  items: [
                    { key: 'tls.crt', path: 'tls.crt' },
                    { key: 'tls.key', path: 'tls.key' },
                  ],
                },
              },
              {
                name: 'config',
                configMap: { name: 'config', items: [{ key: 'config.yaml', path: 'config.yaml' }] },
              },
            ],
            nodeSelector: { a: 'b' },
          },
        },
      },
      status: { replicas: 1, readyReplicas: 1, observedGeneration: 1 },
    },
  },
  webhooks: {
    kind: 'ValidatingWebhookConfiguration',
    object: {
      metadata: { name: 'shop', labels: { app: 'shop' } },
      webhooks: [
        {
          name: 'items.shop.example.com',
          clientConfig: {
            caBundle: base64(pair.certificate),
            service: { namespace: NAMESPACE, name: 'webhook', path: '/validate', port: 443 },
          },
          failurePolicy: 'Fail',
          timeoutSeconds: 10,
          rules: [
            {
              apiGroups: ['shop.example.com'],
              apiVersions: ['v1'],
              resources: ['items'],
              operations: ['CREATE'],
            },
          ],
          namespaceSelector: { matchLabels: { a: 'b' } },
          objectSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        },
      ],
    },
  },
  secret: {
    kind: 'Secret',
    object: {
      metadata: {
        name: 'cert',
        namespace: NAMESPACE,
        annotations: { 'cert-manager.io/certificate-name': 'cert' },
      },
      type: 'kubernetes.io/tls',
      data: {
        'tls.crt': base64(pair.certificate),
        'tls.key': base64(pair.key),
        'ca.crt': base64(pair.certificate),
      },
    },
  },
  token: {
    kind: 'Secret',
    object: { metadata: { name: 'token', namespace: NAMESPACE }, data: { token: base64('secret') } },
  },
  config: {
    kind: 'ConfigMap',
    object: {
      metadata: { name: 'config', namespace: NAMESPACE },
      data: { 'config.yaml': 'a: b', mode: 'fast' },
      binaryData: { blob: 'AAEC' },
    },
  },
  apiService: {
    kind: 'APIService',
    object: {
      metadata: { name: 'v1.shop.example.com' },
      spec: { service: { namespace: NAMESPACE, name: 'webhook' } },
    },
  },
} satisfies Objects;

const SESSION = { 'devloop.dev/session': 's1' };
const started = startTimeOf(process.pid) ?? '';

/** What a session on this machine left behind when it was killed. */
export const DEAD_SESSION = {
  service: {
    kind: 'Service',
    object: {
      metadata: {
        name: 'webhook',
        namespace: NAMESPACE,
        labels: SESSION,
        annotations: {
          'devloop.dev/undo': '{"v":1,"fields":[{"path":["spec","selector"],"before":{"app":"shop"}}]}',
        },
      },
      spec: { ports: [{ port: 443, targetPort: 9443 }] },
    },
  },
  deployment: {
    kind: 'Deployment',
    object: {
      ...SHOP.deployment.object,
      metadata: {
        name: 'manager',
        namespace: NAMESPACE,
        labels: { ...SESSION, 'devloop.dev/replicas': '2' },
      },
      spec: { ...SHOP.deployment.object.spec, replicas: 0 },
    },
  },
  slice: {
    kind: 'EndpointSlice',
    object: {
      metadata: {
        name: 'webhook-devloop-s1',
        namespace: NAMESPACE,
        labels: {
          ...SESSION,
          'kubernetes.io/service-name': 'webhook',
          'endpointslice.kubernetes.io/managed-by': 'devloop.dev',
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port: 30_000, protocol: 'TCP' }],
    },
  },
  lease: {
    kind: 'Lease',
    object: {
      metadata: {
        name: 'devloop.service.webhook',
        namespace: NAMESPACE,
        labels: SESSION,
        annotations: {
          'devloop.dev/holder': JSON.stringify({
            user: 'ann',
            host: hostname(),
            pid: 4_194_304,
            processStart: `${started.slice(0, started.lastIndexOf('/'))}/1`,
            since: '2026-01-01T00:00:00Z',
            route: 'direct',
            targets: [{ kind: 'Service', namespace: NAMESPACE, name: 'webhook' }],
            health: 'serving',
          }),
        },
      },
      spec: {
        holderIdentity: 'ann@desk (pid 4194304)',
        leaseDurationSeconds: 3_600,
        acquireTime: '2026-01-01T00:00:00.000000Z',
        // If its holder cannot be read, `status` takes the session to be alive, and does not wait.
        renewTime: new Date().toISOString().replace('Z', '000Z'),
      },
    },
  },
} satisfies Objects;

/** A cluster with these objects. Each is served at the path where it was asked for, even if its own name has changed. */
export function clusterOf(objects: Objects): FakeCluster {
  const cluster = fakeCluster();
  for (const { kind, object } of Object.values(objects)) cluster.put(kind, object as never);
  return cluster;
}
