/**
 * Stands in for what runs Pods, for tests with thousands of Pods or many operators: each Pod is ready as soon as it exists. One real
 * process in the cluster's network answers for all Pods, at their addresses.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { isTransient } from '../../src/cluster/api/errors.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { Pod } from '../../src/cluster/api/workloads.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { run } from '../cluster/run.ts';

const ADDRESSES = Array.from({ length: 30 }, (_, index) => `10.88.0.${index + 1}`);
const NODE = 'hollow';
const LOOK_EVERY_MS = 50;
const BEAT_EVERY_MS = 5_000;
const MERGE = { contentType: 'application/merge-patch+json' };

type Running = Pod & { spec: { schedulingGates?: object[] }; status?: { podIP?: string } };

/** What runs in the Pods. */
export interface HollowPods {
  /** The arguments of Node that run the answering program. */
  program: string[];
  env: Record<string, string>;
  /** Writes the files that are mounted in the Pods, before a Pod becomes ready. */
  mount?(api: ClusterApi): Promise<void>;
}

/** For a cluster with `pods: false` and `aggregatorRouting: true`, since nothing forwards traffic to cluster IPs. */
export async function hollowNode(cluster: TestCluster, pods: HollowPods): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const [enter = '', ...options] = cluster.enter;
  await run(enter, [...options, ...'ip route add local 10.88.0.0/24 dev lo'.split(' ')]);
  const api = stack.use(await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/')));
  const ending = new AbortController();
  const playing = play(api, pods, ending.signal);
  const program = [process.execPath, ...pods.program];
  const server = spawn(enter, [...options, ...program], { env: pods.env, stdio: 'inherit' });
  stack.defer(async () => {
    ending.abort();
    await playing;
    server.kill('SIGKILL');
    await once(server, 'close');
  });
  return stack.move();
}

async function play(api: ClusterApi, pods: HollowPods, signal: AbortSignal): Promise<void> {
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } };
  await api.call('POST', '/api/v1/nodes', node);
  for (let beatAt = 0; !signal.aborted; await sleep(LOOK_EVERY_MS)) {
    const beats = performance.now() - beatAt > BEAT_EVERY_MS;
    try {
      await keepRunning(api, pods, beats);
      if (beats) beatAt = performance.now();
    } catch (error) {
      // A kubelet tries again when kube-apiserver is back.
      if (!isTransient(error)) throw error;
    }
  }
}

async function keepRunning(api: ClusterApi, { mount }: HollowPods, beats: boolean): Promise<void> {
  if (beats) await beat(api);
  // A Pod with a scheduling gate belongs to no node.
  const pods = (await api.list<Running>('Pod', undefined)).filter(
    ({ spec }) => !spec.schedulingGates?.length,
  );
  for (const pod of pods.filter(({ metadata }) => metadata.deletionTimestamp))
    await call(api, 'DELETE', pod, '', { gracePeriodSeconds: 0 });
  const taken = pods.flatMap(({ status }) => status?.podIP ?? []);
  const free = ADDRESSES.filter((address) => !taken.includes(address));
  const waiting = pods.filter(({ status }) => status?.podIP === undefined);
  if (waiting.length > 0) await mount?.(api);
  for (const [index, pod] of waiting.entries())
    if (free[index] !== undefined) await makeReady(api, pod, free[index]);
}

/** The controllers do not treat a Pod as ready if its node does not say that it is ready itself. */
async function beat(api: ClusterApi): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }];
  await api.call('PATCH', `/api/v1/nodes/${NODE}/status`, { status: { conditions } }, MERGE);
}

async function makeReady(api: ClusterApi, pod: Pod, podIP: string): Promise<void> {
  await call(api, 'POST', pod, '/binding', {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: pod.metadata.name },
    target: { kind: 'Node', name: NODE },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { phase: 'Running', podIP, podIPs: [{ ip: podIP }], conditions };
  await call(api, 'PATCH', pod, '/status', { status });
}

/** Writes to a Pod that may be gone by now. */
async function call(
  api: ClusterApi,
  method: string,
  { metadata: { namespace, name } }: Pod,
  part: string,
  body: object,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}${part}`;
  await api.call(method, path, body, method === 'PATCH' ? MERGE : {}).catch(() => undefined);
}
