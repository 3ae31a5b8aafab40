import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import type { EndpointSlice, Endpoints } from '../../src/cluster/api/objects.ts';
import { RELAY_IMAGE } from '../../src/cluster/relay/manifest.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { STRANGER } from './attack.ts';
import { rolledOut, type WorkloadKind } from './cluster-waits.ts';
import { eventually } from './eventually.ts';

/** An operator whose own webhooks review what devloop has to restore, and admit nothing while nobody answers them. */
export const CLOSED = 'closed';
export const CLOSED_SERVICE = `${CLOSED}/webhook`;
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const VALIDATING = 'validatingwebhookconfigurations';
const MUTATING = 'mutatingwebhookconfigurations';
const SERVER_NAME = `webhook.${CLOSED}.svc`;
/** The manager allows everything, and runs in the relay's image, which contains Node. */
const PROGRAM = join(import.meta.dirname, '../fixtures/e2e/hooks-pod.mjs');

/** The API group and the resource that such a webhook can review. */
const GROUPS: Record<string, string> = {
  deployments: 'apps',
  'deployments/scale': 'apps',
  replicasets: 'apps',
  statefulsets: 'apps',
  daemonsets: 'apps',
  controllerrevisions: 'apps',
  services: '',
  pods: '',
  secrets: '',
  configmaps: '',
  'serviceaccounts/token': '',
  endpoints: '',
  endpointslices: 'discovery.k8s.io',
};

/** What the operator's webhooks review. */
export interface Reviewed {
  resources: string[];
  operations: ('CREATE' | 'UPDATE' | 'DELETE')[];
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Deploys the manager without its webhook configuration, since nothing could answer reviews before it is ready. Returns its caBundle. */
export async function deployClosed(cluster: TestCluster): Promise<string> {
  const pair = await selfSignedPair([SERVER_NAME], { days: 10 });
  const data = { 'tls.crt': base64(pair.certificate), 'tls.key': base64(pair.key) };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data };
  await cluster.call('POST', '/api/v1/namespaces', { metadata: { name: CLOSED } });
  await cluster.apply([{ ...secret, metadata: { name: 'webhook-cert', namespace: CLOSED } }]);
  await cluster.apply(service());
  await deployManager(cluster, 'Deployment');
  return base64(pair.certificate);
}

/** Replaces the manager, if there is one, by one in an object of this kind. Nothing may review it. */
export async function deployManager(cluster: TestCluster, kind: WorkloadKind): Promise<void> {
  const kinds = 'deployment,statefulset,daemonset';
  await cluster.kubectl([
    '-n',
    CLOSED,
    'delete',
    kinds,
    'manager',
    '--ignore-not-found',
    '--cascade=foreground',
  ]);
  await cluster.apply(manager(kind, await readFile(PROGRAM, 'utf8')));
  await closedAtRest(cluster, kind);
}

/** kube-proxy follows the endpoints within a second; after that, no review is refused. */
const SETTLED_MS = 1_500;
const ASK_EVERY_MS = 100;
const ANSWERING_LIMIT_MS = 30_000;

async function answering(cluster: TestCluster, caBundle: string): Promise<void> {
  await review(cluster, caBundle, { resources: ['services'], operations: ['CREATE'] });
  const services = `/api/v1/namespaces/${CLOSED}/services?dryRun=All`;
  const deadline = Date.now() + ANSWERING_LIMIT_MS;
  let refusedAt = Date.now();
  while (Date.now() - refusedAt < SETTLED_MS) {
    await cluster
      .call('POST', services, { metadata: { name: 'asked' }, spec: { ports: [{ port: 1 }] } })
      .catch((error) => {
        if (Date.now() > deadline) throw error;
        refusedAt = Date.now();
      });
    await sleep(ASK_EVERY_MS);
  }
  await failOpen(cluster);
}

/** Waits until the Pod is ready, and until the Endpoints and the slice list it. */
export async function closedAtRest(cluster: TestCluster, kind: WorkloadKind = 'Deployment'): Promise<void> {
  await rolledOut(cluster, kind, `${CLOSED}/manager`);
  await eventually(async () => {
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${CLOSED}/endpointslices`;
    const { items } = (await cluster.read(slices)) as { items: EndpointSlice[] };
    const ready = items.flatMap((one) => (one.endpoints ?? []).map(({ conditions }) => conditions?.ready));
    const { subsets = [] } = (await cluster.read(
      `/api/v1/namespaces/${CLOSED}/endpoints/webhook`,
    )) as Endpoints;
    const addresses = subsets.flatMap((subset) => subset.addresses ?? []);
    if (ready.length !== 1 || !ready[0] || addresses.length !== 1)
      throw new Error(`not at rest: ${ready}, ${JSON.stringify(addresses)}`);
  });
}

export function webhookFor(resource: string): string {
  return `${resource.replace('/', '-')}.closed.example.com`;
}

/** From now on, the operator, which has to answer, reviews these resources in its own namespace. Each has a webhook; the first one is mutating. */
export async function failClosed(cluster: TestCluster, caBundle: string, reviewed: Reviewed): Promise<void> {
  await failOpen(cluster);
  await answering(cluster, caBundle);
  await review(cluster, caBundle, reviewed);
}

async function review(
  cluster: TestCluster,
  caBundle: string,
  { resources, operations }: Reviewed,
): Promise<void> {
  const webhooks = resources.map((resource) => ({
    name: webhookFor(resource),
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
  const [first, ...others] = webhooks;
  await cluster.call('POST', `${ADMISSION}/${VALIDATING}`, { metadata: { name: CLOSED }, webhooks: others });
  await cluster.call('POST', `${ADMISSION}/${MUTATING}`, { metadata: { name: CLOSED }, webhooks: [first!] });
}

export async function failOpen(cluster: TestCluster): Promise<void> {
  for (const kind of [VALIDATING, MUTATING])
    await cluster.call('DELETE', `${ADMISSION}/${kind}?fieldSelector=metadata.name%3D${CLOSED}`);
}

function manager(kind: WorkloadKind, program: string): string {
  return `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: manager, namespace: ${CLOSED}}
spec:
  ${kind === 'DaemonSet' ? '' : 'replicas: 1'}
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
        env: [{name: CLOSES_CONNECTIONS, value: 'true'}, {name: DENIES, value: ${STRANGER}}]
        ports: [{name: webhook, containerPort: 9444}]
        volumeMounts: [{name: cert, mountPath: /certs}]
      volumes: [{name: cert, secret: {secretName: webhook-cert}}]
`;
}

function service(): string {
  return `
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: ${CLOSED}}
spec:
  selector: {app: closed}
  ports: [{port: 443, targetPort: webhook}]
`;
}
