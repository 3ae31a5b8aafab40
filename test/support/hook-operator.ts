import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { RELAY_IMAGE } from '../../src/cluster/relay/manifest.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';
import { loadRelayImage } from './relay-image.ts';
import { snapshot } from './snapshot.ts';

/** A second kind of operator: two webhook Services on two ports, one of them shared with CRD conversion, certificates by hand. */
export const HOOK_NAMESPACE = 'hooks';
export const FIRST = `first.${HOOK_NAMESPACE}.svc`;
/** Runs on the relay's image, which has Node in it. */
export const PROGRAM = join(import.meta.dirname, '../fixtures/e2e/hooks-pod.mjs');
export const SECOND = `second.${HOOK_NAMESPACE}.svc`;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Makes or replaces a TLS Secret; returns the PEM certificate, which is its own CA. */
export async function putSecret(cluster: TestCluster, name: string, serverName: string): Promise<string> {
  const pair = await selfSignedPair([serverName], { days: 10 });
  const data = { 'tls.crt': base64(pair.certificate), 'tls.key': base64(pair.key) };
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name, namespace: HOOK_NAMESPACE },
    data,
  };
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
    input: JSON.stringify(secret),
  });
  return pair.certificate;
}

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet';

export async function deployHooks(
  cluster: TestCluster,
  kind?: WorkloadKind,
  replicas?: number,
): Promise<void> {
  await loadRelayImage(cluster);
  await installHooks(cluster, kind, replicas);
}

/** For a cluster that may have no node to load an image into. */
export async function installHooks(
  cluster: TestCluster,
  kind: WorkloadKind = 'Deployment',
  replicas = 2,
): Promise<void> {
  await cluster.kubectl(['create', 'namespace', HOOK_NAMESPACE]);
  const first = base64(await putSecret(cluster, 'first-cert', FIRST));
  const second = base64(await putSecret(cluster, 'second-cert', SECOND));
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
    input: [await hooksIn(kind, replicas), rest(first, second)].join('---\n'),
  });
  await hooksAtRest(cluster, kind, replicas);
  await cluster.kubectl([
    'wait',
    '--for=condition=Established',
    'crd/widgets.hooks.example.com',
    '--timeout=30s',
  ]);
}

/**
 * Waits until both Pods stand behind both Services. The controllers of slices and Endpoints hear of a Pod after the Deployment's,
 * each at its own time, and one that finds its own view too old looks again a second later.
 */
export async function hooksAtRest(
  cluster: TestCluster,
  kind: WorkloadKind = 'Deployment',
  replicas = 2,
): Promise<void> {
  await cluster.kubectl(['-n', HOOK_NAMESPACE, 'rollout', 'status', `${kind}/hooks`, '--timeout=60s']);
  await podsBehindServices(cluster, replicas);
}

export async function podsBehindServices(cluster: TestCluster, replicas: number): Promise<void> {
  const pods = Array.from({ length: replicas }, () => ({ targets: 'Pod', ready: true }));
  await eventually(async () => {
    const { slices, endpoints } = (await snapshot(cluster, HOOK_NAMESPACE)) as {
      slices: { endpoints: unknown[] }[];
      endpoints: { subsets: { addresses: unknown[] }[] }[];
    };
    expect(slices.map((slice) => slice.endpoints)).toEqual(slices.map(() => pods));
    expect(endpoints.length).toBe(2);
    // One of each Service and family.
    expect(slices.length).toBeGreaterThanOrEqual(2);
    const addresses = endpoints.map(({ subsets }) => subsets.flatMap((subset) => subset.addresses));
    expect(addresses).toEqual(endpoints.map(() => pods.map(({ targets }) => targets)));
  });
}

/** Has the webhook of this name asked; rejects with its refusal. */
export function askHook(cluster: TestCluster, name: string): Promise<string> {
  return cluster.kubectl(['create', '--dry-run=server', '-f', '-'], {
    input: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default, labels: {ask: ${name}}}}`,
  });
}

/** What the Pods run in; the template is the same in each kind. */
export async function hooksIn(kind: WorkloadKind, replicas = 2): Promise<string> {
  const program = await readFile(PROGRAM, 'utf8');
  return `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: hooks, namespace: ${HOOK_NAMESPACE}, labels: {app: hooks}}
spec:
  ${kind === 'DaemonSet' ? '' : `replicas: ${replicas}`}
  selector: {matchLabels: {app: hooks}}
  template:
    metadata: {labels: {app: hooks}}
    spec:
      dnsPolicy: Default
      containers:
      - name: main
        image: ${RELAY_IMAGE}
        command: [node, --input-type=module, --eval, ${JSON.stringify(program)}]
        ports: [{name: admission, containerPort: 9444}, {name: other, containerPort: 9445}]
        env:
        - {name: GREETING, value: hello}
        - {name: SPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        ${kind === 'Deployment' ? '' : '- {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}'}
        volumeMounts:
        - {name: second, mountPath: /second}
        - {name: first, mountPath: /certs}
      volumes:
      - {name: first, secret: {secretName: first-cert}}
      - {name: second, secret: {secretName: second-cert}}
`;
}

function rest(first: string, second: string): string {
  return `
apiVersion: v1
kind: Service
metadata: {name: first, namespace: ${HOOK_NAMESPACE}}
spec:
  selector: {app: hooks}
  ports:
  - {name: https, port: 443, targetPort: admission}
  - {name: other, port: 8443, targetPort: other}
---
apiVersion: v1
kind: Service
metadata: {name: second, namespace: ${HOOK_NAMESPACE}}
spec:
  selector: {app: hooks}
  ports: [{port: 9000, targetPort: 9445}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
${webhook('first', 443, 'first', first)}
${webhook('first', 8443, 'third', first)}
${webhook('second', 9000, 'second', second)}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.hooks.example.com}
spec:
  group: hooks.example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {caBundle: ${first}, service: {namespace: ${HOOK_NAMESPACE}, name: first, path: /convert}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`;
}

/** Concerns ConfigMaps with the label \`ask: <name>\` only. */
function webhook(service: string, port: number, name: string, caBundle: string): string {
  return `- name: ${name}.hooks.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 10
  objectSelector: {matchLabels: {ask: ${name}}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  clientConfig: {caBundle: ${caBundle}, service: {namespace: ${HOOK_NAMESPACE}, name: ${service}, port: ${port}, path: /hooks-${name}}}`;
}
