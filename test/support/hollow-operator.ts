import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ClusterApi } from '../../src/cluster/api/client.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { eventually } from './eventually.ts';
import { hollowNode } from './hollow-node.ts';
import { HOOK_NAMESPACE, installHooks, PROGRAM } from './hook-operator.ts';
import { hookServer } from './hook-server.ts';
import { snapshot } from './snapshot.ts';

const SERVICES = ['first', 'second'].flatMap((name) => ['--service', `${HOOK_NAMESPACE}/${name}`]);

/** A real control plane with an operator on a hollow node, so that a take-over and a restore take a second or two. */
export interface HollowOperator extends AsyncDisposable {
  cluster: TestCluster;
  /** The arguments of a take-over without a build. */
  up: string[];
  /** A directory without a checkout. */
  directory: string;
  /** Fails unless the cluster is, or soon becomes, as it was before the first take-over. */
  expectRestored(limitMs?: number): Promise<void>;
}

let shared: Promise<HollowOperator> | undefined;

/** One for all suites in this process. It ends together with the machine of their file. */
export function sharedHollowOperator(): Promise<HollowOperator> {
  shared ??= startHollowOperator();
  return shared;
}

async function startHollowOperator(): Promise<HollowOperator> {
  await using stack = new AsyncDisposableStack();
  const parts = { pods: false, aggregatorRouting: true, certManager: false };
  const cluster = stack.use(await startCluster({ ...parts, log: (line) => console.error(line) }));
  const mounts = await mkdtemp(join(tmpdir(), 'mounts-'));
  stack.defer(() => rm(mounts, { recursive: true }));
  stack.use(
    await hollowNode(cluster, {
      program: [PROGRAM],
      env: { MOUNTS: mounts },
      mount: (api) => mount(api, mounts),
    }),
  );
  await installHooks(cluster);
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  const directory = await mkdtemp(join(tmpdir(), 'devloop-hollow-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const resources = stack.move();
  // If the API server is reached through a proxy, its address says nothing about the address of this machine.
  const route = ['--route', 'direct', '--address', cluster.hostIp];
  return {
    cluster,
    directory,
    up: ['up', ...SERVICES, ...route, ...hookServer('local', '9444', '9445')],
    expectRestored: (limitMs = 15_000) =>
      eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before), limitMs),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
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
