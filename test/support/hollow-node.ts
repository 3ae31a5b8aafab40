/**
 * A stand-in for what runs Pods, where a test makes thousands of them: each Pod of the operator with two Services is ready as soon
 * as it exists. One real process in the network of the cluster answers for all, at the addresses that the Pods get.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { Pod } from '../../src/cluster/api/objects.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { run } from '../cluster/run.ts';
import { HOOK_NAMESPACE, PROGRAM } from './hook-operator.ts';

const ADDRESSES = ['10.88.0.1', '10.88.0.2', '10.88.0.3', '10.88.0.4'];
const NODE = 'hollow';
const LOOK_EVERY_MS = 50;
const BEAT_EVERY_MS = 5_000;
const MERGE = { contentType: 'application/merge-patch+json' };

type Running = Pod & { status?: { podIP?: string } };

/** For a cluster with `pods: false` and `aggregatorRouting: true`, since nothing carries traffic to cluster IPs either. */
export async function hollowNode(cluster: TestCluster): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const [enter = '', ...options] = cluster.enter;
  for (const address of ADDRESSES)
    await run(enter, [...options, 'ip', 'address', 'add', `${address}/32`, 'dev', 'lo']);
  const mounts = await mkdtemp(join(tmpdir(), 'mounts-'));
  stack.defer(() => rm(mounts, { recursive: true }));
  const api = stack.use(await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/')));
  const ending = new AbortController();
  const playing = play(api, mounts, ending.signal);
  const program = [process.execPath, PROGRAM];
  const server = spawn(enter, [...options, ...program], { env: { MOUNTS: mounts }, stdio: 'inherit' });
  stack.defer(async () => {
    ending.abort();
    await playing;
    server.kill('SIGKILL');
    await once(server, 'close');
  });
  return stack.move();
}

async function play(api: ClusterApi, mounts: string, signal: AbortSignal): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } };
  await api.call('POST', '/api/v1/nodes', node);
  for (let beatAt = 0; !signal.aborted; await sleep(LOOK_EVERY_MS)) {
    if (performance.now() - beatAt > BEAT_EVERY_MS) {
      await beat(api);
      beatAt = performance.now();
    }
    const pods = await api.list<Running>('Pod', HOOK_NAMESPACE);
    for (const { metadata } of pods.filter((pod) => pod.metadata.deletionTimestamp))
      await call(api, 'DELETE', metadata.name, '', { gracePeriodSeconds: 0 });
    const taken = pods.flatMap(({ status }) => status?.podIP ?? []);
    const free = ADDRESSES.filter((address) => !taken.includes(address));
    const waiting = pods.filter(({ status }) => status?.podIP === undefined);
    if (waiting.length > 0) await mount(api, mounts);
    for (const [index, { metadata }] of waiting.entries())
      if (free[index] !== undefined) await makeReady(api, metadata.name, free[index]);
  }
}

/** The controllers take no Pod for ready whose node does not say that it is. */
async function beat(api: ClusterApi): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }];
  await api.call('PATCH', `/api/v1/nodes/${NODE}/status`, { status: { conditions } }, MERGE);
}

async function makeReady(api: ClusterApi, name: string, podIP: string): Promise<void> {
  await call(api, 'POST', name, '/binding', {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name },
    target: { kind: 'Node', name: NODE },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
  await call(api, 'PATCH', name, '/status', { status });
}

/** To a Pod that may be gone by now. */
async function call(api: ClusterApi, method: string, pod: string, part: string, body: object): Promise<void> {
  const path = `/api/v1/namespaces/${HOOK_NAMESPACE}/pods/${pod}${part}`;
  await api.call(method, path, body, method === 'PATCH' ? MERGE : {}).catch(() => undefined);
}

async function mount(api: ClusterApi, mounts: string): Promise<void> {
  for (const [directory, name] of [
    ['certs', 'first-cert'],
    ['second', 'second-cert'],
  ] as const) {
    await mkdir(join(mounts, directory), { recursive: true });
    const { data } = await api.call<{ data: Record<string, string> }>(
      'GET',
      `/api/v1/namespaces/${HOOK_NAMESPACE}/secrets/${name}`,
    );
    for (const [file, content] of Object.entries(data))
      await writeFile(join(mounts, directory, file), Buffer.from(content, 'base64'));
  }
}
