import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { KeyPair } from '../../src/certificates/key-pair.ts';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { collectionPath } from '../../src/cluster/api/kinds.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { Pod } from '../../src/cluster/api/objects.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';
import { snapshot } from './snapshot.ts';

const NAMESPACE = 'podless';
const NODE = 'nobody';
const SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.mjs');
const PORT = '9443';
const LOOK_EVERY_MS = 50;
/** A node that is silent for longer than a minute takes its Pods along. */
const HEARTBEAT_EVERY_MS = 10_000;

/**
 * A real control plane and an operator whose Pods nobody runs, so that taking it over and restoring it takes a second: this process
 * speaks for the kubelet, and one server in the node's network stands for the Pods.
 */
export interface PodlessOperator extends AsyncDisposable {
  cluster: TestCluster;
  /** What takes it over, without a build. */
  up: string[];
  /** Where no checkout is. */
  directory: string;
  /** Fails unless the cluster is, or soon will be, as it was before anything was taken over. */
  expectRestored(): Promise<void>;
}

export async function startPodlessOperator(): Promise<PodlessOperator> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(
    await startCluster({
      aggregatorRouting: true,
      pods: false,
      certManager: false,
      log: (line) => console.error(line),
    }),
  );
  const directory = await mkdtemp(join(tmpdir(), 'devloop-podless-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const pair = await selfSignedPair([`webhook.${NAMESPACE}.svc`], { days: 2 });
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: manifests(pair) });
  const server = await serveInNode(cluster, directory, pair);
  stack.defer(() => void server.kill());
  stack.use(await keepPodsReady(cluster));
  const atRest = async () => {
    const now = await snapshot(cluster, NAMESPACE);
    const ready = [{ targets: 'Pod', ready: true }];
    expect(now).toMatchObject({ slices: [{ endpoints: ready }], endpoints: [{ subsets: [{}] }] });
    return now;
  };
  const before = await eventually(atRest);
  const resources = stack.move();
  return {
    cluster,
    directory,
    // Where the API server is reached through a proxy, its address says nothing.
    up: [
      ...['up', '--service', `${NAMESPACE}/webhook`, '--route', 'direct', '--address', cluster.hostIp],
      ...['--', process.execPath, SERVER, 'local', PORT],
    ],
    expectRestored: () => eventually(async () => expect(await atRest()).toEqual(before), 15_000),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Says what a kubelet would say. A Pod that is deleted is gone at once, since it has no time to terminate. */
async function keepPodsReady({ kubeconfig, nodeIp }: TestCluster): Promise<AsyncDisposable> {
  const api = await connect(await loadKubeconfig({ kubeconfig }, {}, '/'));
  const ending = new AbortController();
  const status = {
    phase: 'Running',
    podIP: nodeIp,
    podIPs: [{ ip: nodeIp }],
    conditions: ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'True' })),
  };
  const run = async (): Promise<void> => {
    for (let beatAt = Number.NEGATIVE_INFINITY; !ending.signal.aborted; ) {
      // The snapshot sees what does not work.
      await markReady(api, status).catch(() => undefined);
      if (performance.now() - beatAt > HEARTBEAT_EVERY_MS) {
        beatAt = performance.now();
        await beat(api).catch(() => undefined);
      }
      await sleep(LOOK_EVERY_MS);
    }
  };
  const running = run();
  return {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
      await api[Symbol.asyncDispose]();
    },
  };
}

async function markReady(api: ClusterApi, status: object): Promise<void> {
  const pods = await api.list<Pod>('Pod', NAMESPACE);
  for (const pod of pods.filter((one) => one.status?.phase !== 'Running')) {
    await patchStatus(api, `${collectionPath('Pod', NAMESPACE)}/${pod.metadata.name}`, status);
  }
}

async function beat(api: ClusterApi): Promise<void> {
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Test',
    lastHeartbeatTime: new Date().toISOString(),
  };
  await patchStatus(api, `${collectionPath('Node')}/${NODE}`, { conditions: [ready] });
}

async function patchStatus(api: ClusterApi, path: string, status: object): Promise<void> {
  const contentType = 'application/merge-patch+json';
  await api.call('PATCH', `${path}/status`, { status }, { contentType });
}

/** kube-apiserver calls the Pods' address itself, with endpoint routing. */
async function serveInNode(
  { enter, nodeIp }: TestCluster,
  directory: string,
  pair: KeyPair,
): Promise<ChildProcess> {
  const certificates = join(directory, 'in-cluster');
  await mkdir(certificates);
  await writeFile(join(certificates, 'tls.crt'), pair.certificate);
  await writeFile(join(certificates, 'tls.key'), pair.key);
  const [program, ...args] = [...enter, process.execPath, SERVER, 'in-cluster', PORT];
  return spawn(program!, args, {
    stdio: 'ignore',
    env: { ...process.env, CERTIFICATES: certificates, ADDRESS: nodeIp },
  });
}

function manifests({ certificate, key }: KeyPair): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return `
apiVersion: v1
kind: Node
metadata: {name: ${NODE}}
---
apiVersion: v1
kind: Namespace
metadata: {name: ${NAMESPACE}}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {name: webhook-cert, namespace: ${NAMESPACE}}
data: {tls.crt: ${base64(certificate)}, tls.key: ${base64(key)}}
---
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: ${NAMESPACE}}
spec:
  selector: {app: manager}
  ports: [{port: 443, targetPort: ${PORT}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: ${NAMESPACE}}
spec:
  replicas: 1
  selector: {matchLabels: {app: manager}}
  template:
    metadata: {labels: {app: manager}}
    spec:
      nodeName: ${NODE}
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: none
        ports: [{containerPort: ${PORT}}]
        volumeMounts: [{name: cert, mountPath: /tmp/k8s-webhook-server/serving-certs}]
      volumes: [{name: cert, secret: {secretName: webhook-cert}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: podless}
webhooks:
- name: asks.podless.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  objectSelector: {matchLabels: {ask: podless}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  clientConfig: {caBundle: ${base64(certificate)}, service: {namespace: ${NAMESPACE}, name: webhook, path: /ask}}
`;
}
