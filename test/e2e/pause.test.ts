import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import {
  deployHooks,
  HOOK_NAMESPACE,
  hooksAtRest,
  hooksIn,
  type WorkloadKind,
} from '../support/hook-operator.ts';
import { snapshot } from '../support/snapshot.ts';

const SERVER = join(import.meta.dirname, '../fixtures/e2e/hook-server.mjs');
const SERVICES = ['--service', `${HOOK_NAMESPACE}/first`, '--service', `${HOOK_NAMESPACE}/second`];

let cluster: TestCluster;
let directory: string;

beforeAll(async () => {
  cluster = await startCluster({ certManager: false, log: (line) => console.error(line) });
  directory = await mkdtemp(join(tmpdir(), 'devloop-pause-'));
  await deployHooks(cluster, 'StatefulSet');
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
  await cluster?.[Symbol.asyncDispose]();
});

const options = (): { cwd: string; env: Record<string, string> } => ({
  cwd: directory,
  env: { KUBECONFIG: cluster.kubeconfig },
});

function up(...flags: string[]): DevloopRun {
  const server = ['--', process.execPath, SERVER, 'local', '9444', '9445'];
  return startDevloop(['up', ...SERVICES, ...flags, ...server], options());
}

const ask = (name: string): Promise<string> =>
  cluster.kubectl(['create', '--dry-run=server', '-f', '-'], {
    input: `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default, labels: {ask: ${name}}}}`,
  });

/** The Pods of the operator that have not been told to end. */
async function runningPods(): Promise<string[]> {
  const { items } = (await cluster.read(
    `/api/v1/namespaces/${HOOK_NAMESPACE}/pods?labelSelector=app%3Dhooks`,
  )) as {
    items: { metadata: { name: string; deletionTimestamp?: string } }[];
  };
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [metadata.name] : []));
}

async function replaceBy(kind: WorkloadKind, replicas: number): Promise<void> {
  await cluster.kubectl([
    '-n',
    HOOK_NAMESPACE,
    'delete',
    'deployment,statefulset,daemonset,pod',
    '-l',
    'app=hooks',
  ]);
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { input: await hooksIn(kind, replicas) });
  await hooksAtRest(cluster, kind, replicas);
}

async function isPausedAndRestored(kind: WorkloadKind, replicas: number): Promise<void> {
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  await using session = up();
  await session.waitFor('session.ready');
  expect(await runningPods()).toEqual([]);
  await expect(ask('first')).rejects.toThrow('local on 9444 says no');
  session.signal('SIGINT');
  expect(await session.exited, session.log()).toBe(130);
  await hooksAtRest(cluster, kind, replicas);
  await eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before));
}

it('a manager in a StatefulSet is paused, and restored', () => isPausedAndRestored('StatefulSet', 2), 60_000);

it('a manager in a DaemonSet is paused, and restored with its history', async () => {
  await replaceBy('DaemonSet', 1);
  await isPausedAndRestored('DaemonSet', 1);
}, 60_000);
