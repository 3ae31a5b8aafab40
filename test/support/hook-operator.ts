import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import type { EndpointSlice, Endpoints } from '../../src/cluster/api/objects.ts';
import { RELAY_IMAGE } from '../../src/cluster/relay/manifest.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { established, rolledOut, type WorkloadKind } from './cluster-waits.ts';
import { eventually } from './eventually.ts';
import { loadRelayImage } from './relay-image.ts';

/**
 * A second kind of operator: two webhook Services on two ports, one of which also serves CRD conversions, with certificates made by hand.
 */
export const HOOK_NAMESPACE = 'hooks';
export const FIRST = `first.${HOOK_NAMESPACE}.svc`;
/** It runs in the relay's image, which contains Node. */
export const PROGRAM = join(import.meta.dirname, '../fixtures/e2e/hooks-pod.mjs');
export const SECOND = `second.${HOOK_NAMESPACE}.svc`;

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Creates or replaces a TLS Secret. Returns the PEM certificate, which is its own CA. */
export async function putSecret(cluster: TestCluster, name: string, serverName: string): Promise<string> {
  const pair = await selfSignedPair([serverName], { days: 10 });
  const data = { 'tls.crt': base64(pair.certificate), 'tls.key': base64(pair.key) };
  const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', data };
  await cluster.apply([{ ...secret, metadata: { name, namespace: HOOK_NAMESPACE } }]);
  return pair.certificate;
}

export async function deployHooks(
  cluster: TestCluster,
  kind?: WorkloadKind,
  replicas?: number,
): Promise<void> {
  await loadRelayImage(cluster);
  await installHooks(cluster, kind, replicas);
}

/** For a cluster that may have no node for an image. */
export async function installHooks(
  cluster: TestCluster,
  kind: WorkloadKind = 'Deployment',
  replicas = 2,
): Promise<void> {
  await cluster.call('POST', '/api/v1/namespaces', { metadata: { name: HOOK_NAMESPACE } });
  const first = base64(await putSecret(cluster, 'first-cert', FIRST));
  const second = base64(await putSecret(cluster, 'second-cert', SECOND));
  await cluster.apply([await hooksIn(kind, replicas), rest(first, second)].join('---\n'));
  await hooksAtRest(cluster, kind, replicas);
  await established(cluster, 'widgets.hooks.example.com');
}

/**
 * Waits until both Pods are behind both Services. The controllers of slices and of Endpoints learn of a Pod after the Deployment's
 * controller, each at its own time, and one whose cache is too old looks again a second later.
 */
export async function hooksAtRest(
  cluster: TestCluster,
  kind: WorkloadKind = 'Deployment',
  replicas = 2,
): Promise<void> {
  await rolledOut(cluster, kind, `${HOOK_NAMESPACE}/hooks`);
  await podsBehindServices(cluster, replicas);
}

export async function podsBehindServices(cluster: TestCluster, replicas: number): Promise<void> {
  const list = async <T>(group: string, plural: string): Promise<T[]> =>
    ((await cluster.read(`/${group}/namespaces/${HOOK_NAMESPACE}/${plural}`)) as { items: T[] }).items;
  const ready = Array.from({ length: replicas }, () => ['Pod', true]);
  await eventually(async () => {
    const slices = await list<EndpointSlice>('apis/discovery.k8s.io/v1', 'endpointslices');
    const behind = slices.map((slice) =>
      (slice.endpoints ?? []).map(({ targetRef, conditions }) => [targetRef?.kind, conditions?.ready]),
    );
    expect(behind).toEqual(slices.map(() => ready));
    // One for each Service and family.
    expect(slices.length).toBeGreaterThanOrEqual(2);
    const endpoints = await list<Endpoints>('api/v1', 'endpoints');
    const addresses = endpoints.map(({ subsets = [] }) =>
      subsets.flatMap((subset) => subset.addresses ?? []),
    );
    expect(addresses.map(({ length }) => length)).toEqual([replicas, replicas]);
  });
}

/** Makes kube-apiserver ask the webhook with this name; rejects with its refusal. */
export function askHook(cluster: TestCluster, name: string): Promise<unknown> {
  const metadata = { name: 'x', labels: { ask: name } };
  return cluster.call('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', { metadata });
}

/** The object that the Pods belong to; the template is the same for each kind. */
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
        - {name: WEBHOOK_PORT, value: "9444"}
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
