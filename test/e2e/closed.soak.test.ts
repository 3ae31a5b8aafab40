/** Operators whose own webhooks fail closed on what devloop changes and restores: Deployments, Services, Pods. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { run } from '../cluster/run.ts';
import { account, type Rule } from '../support/account.ts';
import { STRANGER, startAttack } from '../support/attack.ts';
import {
  CLOSED,
  CLOSED_SERVICE,
  closedAtRest,
  deployClosed,
  deployManager,
  failClosed,
  failOpen,
  type Reviewed,
  webhookFor,
} from '../support/closed-operator.ts';
import type { WorkloadKind } from '../support/cluster-waits.ts';
import { BIN, runDevloop, startDevloop } from '../support/devloop.ts';
import { hookServer } from '../support/hook-server.ts';
import { loadRelayImage } from '../support/relay-image.ts';
import { inSoak } from '../support/repeat.ts';
import { snapshot } from '../support/snapshot.ts';

const ALLOWS = [
  '--',
  process.execPath,
  join(import.meta.dirname, '../fixtures/e2e/allows-all.mjs'),
  '9444',
  STRANGER,
];
const ALL = ['deployments', 'services', 'pods', 'serviceaccounts/token'];

let cluster: TestCluster;
let caBundle: string;
let directory: string;

beforeAll(async () => {
  cluster = await startCluster({ certManager: false, log: (line) => console.error(line) });
  await loadRelayImage(cluster);
  caBundle = await deployClosed(cluster);
  directory = await mkdtemp(join(tmpdir(), 'devloop-closed-'));
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
  await cluster?.[Symbol.asyncDispose]();
});

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  await failOpen(cluster);
  await runDevloop(['down'], elsewhere());
});

const elsewhere = (): { cwd: string; env: Record<string, string> } => ({
  cwd: tmpdir(),
  env: { KUBECONFIG: cluster.kubeconfig },
});

const startUp = (route = 'direct') =>
  startDevloop(['up', '--service', CLOSED_SERVICE, '--route', route, ...ALLOWS], {
    ...elsewhere(),
    cwd: directory,
  });

/** The operator fails closed on these resources; `up` is killed once it has done this. */
async function killedUp(
  resources: string[],
  route: string,
  is: (event: DevloopEvent) => boolean = (event) => event.type === 'session.ready',
  operations: Reviewed['operations'] = ['CREATE', 'UPDATE'],
): Promise<Awaited<ReturnType<typeof snapshot>>> {
  await failClosed(cluster, caBundle, { resources, operations });
  const before = await snapshot(cluster, CLOSED);
  await using up = startUp(route);
  await up.waitForAny(is, 60_000);
  up.signal('SIGKILL');
  await up.exited;
  return before;
}

async function expectRestored(
  before: Awaited<ReturnType<typeof snapshot>>,
  kind?: WorkloadKind,
): Promise<void> {
  await closedAtRest(cluster, kind);
  expect(await snapshot(cluster, CLOSED)).toEqual(before);
}

type Moment = [name: string, is: (event: DevloopEvent) => boolean];

const change = (action: string, kind: string): Moment => [
  `${action} ${kind}`,
  (event) => event.type === 'change' && event.action === action && event.object.kind === kind,
];
const type = (wanted: DevloopEvent['type']): Moment => [wanted, (event) => event.type === wanted];

const UP: Moment[] = [
  type('session.started'),
  change('create', 'Lease'),
  type('route.verified'),
  change('update', 'Service'),
  change('create', 'EndpointSlice'),
  change('update', 'Deployment'),
  type('controller.started'),
  type('session.ready'),
];

it.each(inSoak(UP, 'session.ready'))(
  'kill -9 of up at "%s" is repaired by down from another directory',
  async (_, is) => {
    const before = await killedUp(ALL, 'direct', is);
    const { code, log } = await runDevloop(['down'], elsewhere());
    expect(code, log).toBe(0);
    expect(log).not.toContain('named by you');
    await expectRestored(before);
  },
);

const DOWN: Moment[] = [
  change('restore', 'Deployment'),
  change('restore', 'Service'),
  change('delete', 'EndpointSlice'),
  change('restore', 'Endpoints'),
];

it.each(inSoak(DOWN, 'restore Deployment'))('kill -9 of down at "%s" is repaired by down', async (_, is) => {
  const before = await killedUp(ALL, 'direct');
  await using first = startDevloop(['down'], elsewhere());
  await first.waitForAny(is);
  first.signal('SIGKILL');
  await first.exited;
  const { code, log } = await runDevloop(['down'], elsewhere());
  expect(code, log).toBe(0);
  await expectRestored(before);
});

/** If deletions are reviewed, too, the relay of the dead session has to exit by itself, which takes a minute. */
const OPERATIONS: [string, Reviewed['operations']][] = [
  ['creations and updates', ['CREATE', 'UPDATE']],
  ['deletions, too', ['CREATE', 'UPDATE', 'DELETE']],
];

it.each(inSoak(OPERATIONS, 'creations and updates'))(
  'kill -9 of up with the relay is repaired by down, webhooks review %s',
  async (_, operations) => {
    const before = await killedUp(ALL, 'relay', type('session.ready')[1], operations);
    const { code, log } = await runDevloop(['down'], elsewhere());
    expect(code, log).toBe(0);
    await expectRestored(before);
  },
);

it('up verifies the route where the webhooks review its probes before a controller could allow them', async () => {
  await failClosed(cluster, caBundle, { resources: ['configmaps'], operations: ['CREATE'] });
  const before = await snapshot(cluster, CLOSED);
  await using up = startUp();
  await up.waitFor('session.ready');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await expectRestored(before);
});

it('down resumes a manager at once whose Pods were refused while nothing answered', async () => {
  const before = await killedUp(ALL, 'direct');
  await cluster.kubectl(['-n', CLOSED, 'scale', 'deployment', 'manager', '--replicas=1']);
  const refused = ['wait', '--for=condition=ReplicaFailure', 'deployment/manager', '--timeout=30s'];
  await cluster.kubectl(['-n', CLOSED, ...refused]);
  const { code, log } = await runDevloop(['down'], elsewhere());
  expect(code, log).toBe(0);
  await expectRestored(before);
});

it('up answers for the dead session, restores it, takes over, and neither the guard nor Ctrl-C needs a controller that allows it', async () => {
  const before = await killedUp(ALL, 'direct');
  const refuses = hookServer('local', '9444');
  await using up = startDevloop(['up', '--service', CLOSED_SERVICE, ...refuses], {
    ...elsewhere(),
    cwd: directory,
  });
  await up.waitFor('session.ready', undefined, 120_000);
  // What the guard writes is reviewed; a change of the scale is not.
  await cluster.kubectl(['-n', CLOSED, 'scale', 'deployment', 'manager', '--replicas=1']);
  await up.waitFor('guard.overwritten', ({ field }) => field === 'spec.replicas');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await expectRestored(before);
});

it('nobody else changes the operator while devloop takes it over, restores it, and restores it after a crash', async () => {
  const operations: Reviewed['operations'] = ['CREATE', 'UPDATE', 'DELETE'];
  await failClosed(cluster, caBundle, { resources: [...ALL, 'replicasets', 'secrets'], operations });
  const before = await snapshot(cluster, CLOSED);
  {
    await using attack = await startAttack(cluster, CLOSED);
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      await using up = startUp();
      const { session } = await up.waitFor('session.started', undefined, 60_000);
      await attack.label(session);
      await up.waitFor('session.ready', undefined, 60_000);
      up.signal(signal);
      expect(await up.exited, up.log()).toBe(signal === 'SIGINT' ? 130 : 137);
    }
    const { code, log } = await runDevloop(['down'], elsewhere());
    expect(code, log).toBe(0);
    const { admitted, refused } = await attack.end();
    expect(admitted).toEqual([]);
    expect(refused).toBeGreaterThan(10);
  }
  await expectRestored(before);
});

it('where only Deployments are reviewed, the replicas come back by the scale subresource, the mark goes last', async () => {
  const before = await killedUp(['deployments'], 'direct');
  const { code, log, events } = await runDevloop(['down'], elsewhere());
  expect(code, log).toBe(0);
  const restored = events.flatMap((event) =>
    event.type === 'change' && event.action === 'restore' ? [`${event.object.kind}: ${event.detail}`] : [],
  );
  expect(restored.at(0)).toBe('Deployment: replicas 0 -> 1');
  expect(restored.at(-1)).toBe('Deployment: as it was');
  await expectRestored(before);
});

it('where the scale subresource is reviewed, too, devloop answers in place of the dead session', async () => {
  const before = await killedUp(['deployments', 'deployments/scale'], 'direct');
  const { code, log, events } = await runDevloop(['down'], elsewhere());
  expect(code, log).toBe(0);
  const values = { webhooks: expect.stringContaining('deployments-scale.closed') };
  expect(events).toContainEqual(expect.objectContaining({ code: 'restore.answers-instead', values }));
  await expectRestored(before);
});

it('where nobody can answer, one error names every webhook, nothing is changed, and its one command restores everything', async () => {
  const before = await killedUp(ALL, 'direct');
  const killed = await snapshot(cluster, CLOSED);
  const core = (resources: string[], verbs: string[]): Rule => ({
    apiGroups: ['', 'apps'],
    resources,
    verbs,
  });
  const kubeconfig = await account(cluster, 'restorer', [
    { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] },
    core(['services', 'deployments', 'deployments/scale'], ['patch']),
  ]);
  const refused = await runDevloop(['down'], { ...elsewhere(), env: { KUBECONFIG: kubeconfig } });
  const error = refused.events.at(-1);
  expect(error, refused.log).toMatchObject({ type: 'error', code: 'restore.blocked' });
  const { message, hint = '' } = error as Extract<DevloopEvent, { type: 'error' }>;
  for (const resource of ALL) expect(message).toContain(webhookFor(resource));
  expect(await snapshot(cluster, CLOSED)).toEqual(killed);
  const { cluster: binary } = await ensureClusterBinaries({ log: () => {} });
  const tools = `kubectl() { ${binary} kubectl "$@"; }; devloop() { ${process.execPath} ${BIN} "$@"; };`;
  await run('bash', ['-c', `${tools} ${hint}`], { env: { KUBECONFIG: cluster.kubeconfig } });
  await expectRestored(before);
});

const KINDS: [WorkloadKind][] = [['StatefulSet'], ['DaemonSet']];

it.each(inSoak(KINDS, 'DaemonSet'))(
  'a manager in a %s, whose new Pods and revisions are reviewed, too, is restored by down',
  async (kind) => {
    await failOpen(cluster);
    await deployManager(cluster, kind);
    const before = await killedUp([...ALL, `${kind.toLowerCase()}s`, 'controllerrevisions'], 'direct');
    const { code, log } = await runDevloop(['down'], elsewhere());
    expect(code, log).toBe(0);
    await expectRestored(before, kind);
  },
);
