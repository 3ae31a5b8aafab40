import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { RELAY_IMAGE } from '../../src/cluster/relay/manifest.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';

/** An operator whose own webhooks decide on what devloop has to restore, and let nothing pass while nobody answers them. */
export const CLOSED = 'closed';
export const CLOSED_SERVICE = `${CLOSED}/webhook`;
const SERVER_NAME = `webhook.${CLOSED}.svc`;
/** It allows everything, and runs on the relay's image, which contains Node. */
const PROGRAM = join(import.meta.dirname, '../fixtures/e2e/hooks-pod.mjs');

/** API group and resource of what such a webhook can review. */
const GROUPS: Record<string, string> = {
  deployments: 'apps',
  'deployments/scale': 'apps',
  replicasets: 'apps',
  services: '',
  pods: '',
  endpoints: '',
  endpointslices: 'discovery.k8s.io',
};

/** What the operator's webhooks review. */
export interface Reviewed {
  resources: string[];
  operations: ('CREATE' | 'UPDATE' | 'DELETE')[];
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The manager alone: as long as it was never ready, nobody could answer for it. Returns its caBundle. */
export async function deployClosed(cluster: TestCluster): Promise<string> {
  const pair = await selfSignedPair([SERVER_NAME], { days: 10 });
  const data = { 'tls.crt': base64(pair.certificate), 'tls.key': base64(pair.key) };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data };
  await cluster.kubectl(['create', 'namespace', CLOSED]);
  await cluster.kubectl(['create', '-f', '-'], {
    input: JSON.stringify({ ...secret, metadata: { name: 'webhook-cert', namespace: CLOSED } }),
  });
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
    input: manifests(await readFile(PROGRAM, 'utf8')),
  });
  await closedAtRest(cluster);
  return base64(pair.certificate);
}

/** The Pod is ready, and Endpoints and slice both list it. */
export async function closedAtRest(cluster: TestCluster): Promise<void> {
  await cluster.kubectl(['-n', CLOSED, 'rollout', 'status', 'deployment/manager', '--timeout=60s']);
  const addresses = (path: string, selector: string[] = []): Promise<string> =>
    cluster.kubectl(['-n', CLOSED, 'get', ...selector, '-o', `jsonpath=${path}`]);
  await eventually(async () => {
    const slices = await addresses('{.items[*].endpoints[*].conditions.ready}', ['endpointslices']);
    const endpoints = await addresses('{.subsets[*].addresses[*].ip}', ['endpoints', 'webhook']);
    if (slices !== 'true' || endpoints.split(' ').length !== 1 || endpoints === '')
      throw new Error(`not at rest: ${slices}, ${endpoints}`);
  });
}

/** From now on the operator decides on these resources of its own namespace: one webhook for each, the first one mutating. */
export async function failClosed(
  cluster: TestCluster,
  caBundle: string,
  { resources, operations }: Reviewed,
): Promise<void> {
  await failOpen(cluster);
  const webhooks = resources.map((resource) => ({
    name: `${resource.replace('/', '-')}.closed.example.com`,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    timeoutSeconds: 5,
    clientConfig: { caBundle, service: { namespace: CLOSED, name: 'webhook', path: '/hooks-closed' } },
    rules: [
      {
        operations,
        apiGroups: [GROUPS[resource]],
        apiVersions: ['v1'],
        resources: [resource],
      },
    ],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': CLOSED } },
  }));
  const configuration = (kind: string, some: object[]): object => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: CLOSED },
    webhooks: some,
  });
  const [first, ...others] = webhooks;
  const items = [
    configuration('ValidatingWebhookConfiguration', others),
    configuration('MutatingWebhookConfiguration', [first!]),
  ];
  await cluster.kubectl(['create', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}

export async function failOpen(cluster: TestCluster): Promise<void> {
  const kinds = 'validatingwebhookconfiguration,mutatingwebhookconfiguration';
  await cluster.kubectl(['delete', kinds, CLOSED, '--ignore-not-found']);
}

function manifests(program: string): string {
  return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: ${CLOSED}}
spec:
  replicas: 1
  selector: {matchLabels: {app: closed}}
  template:
    metadata: {labels: {app: closed}}
    spec:
      dnsPolicy: Default
      terminationGracePeriodSeconds: 2
      containers:
      - name: manager
        image: ${RELAY_IMAGE}
        command: [node, --input-type=module, --eval, ${JSON.stringify(program)}]
        ports: [{name: webhook, containerPort: 9444}]
        volumeMounts: [{name: cert, mountPath: /certs}]
      volumes: [{name: cert, secret: {secretName: webhook-cert}}]
---
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: ${CLOSED}}
spec:
  selector: {app: closed}
  ports: [{port: 443, targetPort: webhook}]
`;
}
