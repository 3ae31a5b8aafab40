import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type BuildOptions, build } from 'esbuild';
import { relayProgram } from '../../../scripts/build-relay.ts';
import { ensureClusterBinaries } from '../../cluster/build.ts';
import type { TestCluster } from '../../cluster/cluster.ts';
import { end } from '../../support/sshd/network.ts';
import type { Enter, Load } from '../tunnel/load.ts';

/** A route through the API server, with a server at its end. */
export interface Subject extends AsyncDisposable {
  name: string;
  /** The address of the requests, and the network that they come from. */
  enter: Enter;
  address: string;
  ports: readonly [tls: number, bulk: number];
  /** The process on this machine. */
  pid: number;
}

export interface Ours extends Subject {
  pod: string;
  /** How many port-forwards have been opened so far. */
  readonly dialled: number;
}

export const OURS = 'devloop relay';
export const KUBECTL = 'kubectl port-forward';
export const KUBECTL_AGAIN = 'kubectl port-forward, again';
export const NAMESPACE = 'relay-bench';

/** The ports in the Pods: a webhook's usual port, and another one. */
const POD_PORTS = [9443, 9444] as const;
const SERVER_IMAGE = 'devloop.test/tunnel-bench:1';
const SERVER_POD = 'server';
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;

/** Starts the Pod with the load's server, to which `kubectl port-forward` connects. */
export async function startServerPod(cluster: TestCluster, { program }: Load): Promise<void> {
  await cluster.loadImage(SERVER_IMAGE, program);
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  const container = {
    name: 'server',
    image: SERVER_IMAGE,
    args: ['serve', '127.0.0.1', ...POD_PORTS.map(String)],
    // It serves until its stdin ends.
    stdin: true,
  };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: SERVER_POD, namespace: NAMESPACE },
    spec: { containers: [container], terminationGracePeriodSeconds: 0 },
  };
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify(pod) });
  const ready = ['wait', '--for=condition=Ready', `pod/${SERVER_POD}`, '--timeout=60s'];
  await cluster.kubectl(['-n', NAMESPACE, ...ready]);
}

export async function startKubectl(
  name: string,
  cluster: TestCluster,
  kubeconfig = cluster.kubeconfig,
): Promise<Subject> {
  const { cluster: binary } = await ensureClusterBinaries({ log: console.error });
  const args = ['kubectl', '--kubeconfig', kubeconfig, '-n', NAMESPACE];
  const forward = [
    'port-forward',
    '--address=127.0.0.1',
    `pod/${SERVER_POD}`,
    ...POD_PORTS.map((port) => `:${port}`),
  ];
  // It complains on stderr about connections that clients close.
  const child = spawn(binary, [...args, ...forward], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ports: number[] = [];
  const lines = createInterface({ input: child.stdout });
  // It prints a line for each port, and later one for each connection.
  lines.on('line', (line) =>
    ports.push(...[/127\.0\.0\.1:(\d+) ->/.exec(line)?.[1]].filter(Boolean).map(Number)),
  );
  while (ports.length < POD_PORTS.length) await once(lines, 'line', { signal: AbortSignal.timeout(30_000) });
  return {
    name,
    enter: [],
    address: '127.0.0.1',
    ports: [ports[0]!, ports[1]!],
    pid: child.pid!,
    [Symbol.asyncDispose]: () => end(child),
  };
}

/** Each call starts another session. `kubeconfig` may name another address of the cluster; `flags` are flags of Node. */
export async function startOurs(
  cluster: TestCluster,
  load: Load,
  { kubeconfig = cluster.kubeconfig, flags = [] }: { kubeconfig?: string; flags?: string[] } = {},
): Promise<Ours> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'devloop-relay-bench-'));
  stack.defer(() => rm(dir, { recursive: true }));
  const [here, program] = [join(dir, 'ours.mjs'), join(dir, 'relay.cjs')];
  await Promise.all([build(processHere(here)), build(relayProgram(program))]);
  const pairs = POD_PORTS.map((port, index) => `${load.here[index]}:${port}`);
  const session = `bench${Date.now().toString(36)}`;
  const args = [...flags, here, kubeconfig, NAMESPACE, session, program, ...pairs];
  let pod: string | undefined;
  stack.defer(async () => {
    if (pod !== undefined) await cluster.kubectl(['-n', NAMESPACE, 'delete', 'pod', pod, '--wait=false']);
  });
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  stack.defer(() => end(child));
  let dialled = 0;
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    if (line === 'dialled') dialled++;
    else if (line.startsWith('ready ')) pod = line.slice('ready '.length);
    else if (/"(route\.|warning)/.test(line)) console.error(line);
  });
  const limit = AbortSignal.timeout(60_000);
  while (pod === undefined) await once(lines, 'line', { signal: limit });
  const name = pod;
  const address = await cluster.kubectl([
    '-n',
    NAMESPACE,
    'get',
    'pod',
    name,
    '-o',
    'jsonpath={.status.podIP}',
  ]);
  const owned = stack.move();
  return {
    name: OURS,
    // The addresses of Pods can be reached only from there.
    enter: cluster.enter,
    address,
    ports: POD_PORTS,
    pid: child.pid!,
    pod,
    get dialled() {
      return dialled;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** In one file, as in the published package. */
function processHere(outfile: string): BuildOptions {
  return {
    entryPoints: [join(import.meta.dirname, 'ours.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Bundled CommonJS packages call require() for Node's own modules, which an ES module does not have.
    banner: {
      js: "import { createRequire as createRequire_ } from 'node:module'; const require = createRequire_(import.meta.url); const __dirname = import.meta.dirname;",
    },
    logLevel: 'warning',
  };
}
