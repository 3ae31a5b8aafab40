import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { KeyPair } from '../../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { type ClusterApi, connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { startCluster, type TestCluster } from '../../cluster/cluster.ts';
import { eventually } from '../eventually.ts';
import { hollowNode } from '../hollow-node.ts';
import { SECRET } from './all.ts';
import { type Layout, makeRepository } from './layout.ts';

const PODS = join(import.meta.dirname, '../../fixtures/e2e/layout-pods.mjs');
export const CLUSTER_ANSWER = 'the cluster says no';

/** A control plane with the operators of some fixture repositories, on a hollow node. */
export interface LayoutCluster extends AsyncDisposable {
  cluster: TestCluster;
  /** The directory in each repository in which the user runs devloop, by the name of the layout. */
  directories: Map<string, string>;
  /** The message of that operator's webhook. */
  ask(name: string): Promise<string>;
}

export async function startLayouts(layouts: Layout[]): Promise<LayoutCluster> {
  await using stack = new AsyncDisposableStack();
  const parts = { pods: false, aggregatorRouting: true, certManager: false };
  const cluster = stack.use(await startCluster({ ...parts, log: (line) => console.error(line) }));
  const base = await realpath(await mkdtemp(join(tmpdir(), 'devloop-layouts-')));
  stack.defer(() => rm(base, { recursive: true, force: true }));
  const pairs = new Map<string, KeyPair>();
  for (const { name } of layouts) {
    const serverName = serverNameOf(name);
    const pair = await selfSignedPair([serverName], { days: 10 });
    pairs.set(name, pair);
    await writeFile(join(base, `${serverName}.crt`), pair.certificate);
    await writeFile(join(base, `${serverName}.key`), pair.key);
  }
  const ports = [...new Set(layouts.map(({ webhook }) => String(webhook.port)))];
  stack.use(await hollowNode(cluster, { program: [PODS, ...ports], env: { KEY_PAIRS: base } }));
  const objects = layouts.flatMap((layout) => objectsOf(layout, pairs.get(layout.name)!));
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  await cluster.kubectl(['create', '-f', '-'], { input });
  const directories = new Map<string, string>();
  for (const layout of layouts) directories.set(layout.name, await makeRepository(layout, base));
  const api = stack.use(await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/')));
  const ask = (name: string): Promise<string> => askLayout(api, name);
  for (const { name } of layouts)
    await eventually(async () => expect(await ask(name)).toContain(CLUSTER_ANSWER));
  const resources = stack.move();
  return { cluster, directories, ask, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

export function serverNameOf(layout: string): string {
  return `${layout}-webhook.${layout}.svc`;
}

/** Creates, as a dry run, a ConfigMap that only this operator reviews. */
export async function askLayout(api: ClusterApi, name: string): Promise<string> {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'asked', labels: { layout: name } },
  };
  return await api
    .call('POST', '/api/v1/namespaces/default/configmaps', object, { query: { dryRun: 'All' } })
    .then(
      () => 'accepted',
      (error: Error) => error.message,
    );
}

/** What makes the operator of a layout run in a cluster. */
export function objectsOf(
  { name, webhook, container, sidecars = [], volumes = [] }: Layout,
  pair: KeyPair,
): object[] {
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const metadata = { name, namespace: name };
  const labels = { app: name };
  const service = { namespace: name, name: `${name}-webhook`, path: webhook.path };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { name: SECRET, namespace: name },
      data: { 'tls.crt': encode(pair.certificate), 'tls.key': encode(pair.key) },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: service.name, namespace: name },
      spec: { selector: labels, ports: [{ port: 443, targetPort: webhook.port }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { serviceAccountName: name, containers: [...sidecars, container], volumes },
        },
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: `${name}.example.com`,
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          objectSelector: { matchLabels: { layout: name } },
          rules: [
            { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
          ],
          clientConfig: { caBundle: encode(pair.certificate), service },
        },
      ],
    },
  ];
}
