/** What others do to the operator while `up` runs. */
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { objectPath } from '../../src/cluster/api/kinds.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { Service, Workload } from '../../src/cluster/api/objects.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { hookServer } from '../support/hook-server.ts';
import { loadRelayImage } from '../support/relay-image.ts';
import {
  application,
  type Checkout,
  checkoutSample,
  DEPLOYMENT,
  deploySample,
  NAMESPACE,
  rolledOut,
  SERVICE,
} from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';

const SERVER = hookServer('local', '9443');
const HERE = 'local on 9443 says no';
const MESSAGE = 'an Application needs an image';
const SERVICE_REF = { kind: 'Service', namespace: NAMESPACE, name: SERVICE } as const;
const DEPLOYMENT_REF = { kind: 'Deployment', namespace: NAMESPACE, name: DEPLOYMENT } as const;

let cluster: TestCluster;
let api: ClusterApi;
let checkout: Checkout;

beforeAll(async () => {
  cluster = await startCluster({ log: (line) => console.error(line) });
  await loadRelayImage(cluster);
  checkout = await checkoutSample();
  api = await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/'));
  await deploy();
});

afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
  await checkout?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

// What a failed test left would fail the next ones too.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await runDevloop(['down'], { cwd: tmpdir(), env: env() });
});

const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig, CGO_ENABLED: '0' });

async function deploy(): Promise<void> {
  await deploySample(cluster, checkout.directory);
  // From now on as `kubectl apply` keeps it: with the last applied configuration.
  await apply();
  await rolledOut(cluster);
}

/** As `make deploy` does. */
const apply = (): Promise<string> =>
  cluster.kubectl(['apply', '-k', join(checkout.directory, 'config/default')]);

async function takenOver(...args: string[]): Promise<DevloopRun> {
  const up = startDevloop(['up', ...args], { cwd: checkout.directory, env: env() });
  await up.waitFor('session.ready', undefined, 300_000);
  return up;
}

const review = (): Promise<string> =>
  cluster
    .kubectl(['apply', '--dry-run=server', '-f', '-'], { input: application('fail', '') })
    .then(String, (error: Error) => error.message);

async function expectServedHere(): Promise<void> {
  await eventually(async () => expect(await review()).toContain(HERE));
}

async function expectRestored(up: DevloopRun, before: unknown): Promise<void> {
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  expect(await review()).toContain(MESSAGE);
}

const overwritten = (up: DevloopRun, kind: string, field: string) =>
  up.waitFor('guard.overwritten', (event) => event.object.kind === kind && event.field === field);

/** Requests that the API server has answered, by verb, and the watches that are open; controllers watch the whole cluster. */
async function requestsFor(resource: string): Promise<{ watches: number; calls: number }> {
  const metrics = await cluster.kubectl(['get', '--raw', '/metrics']);
  const sum = (pattern: RegExp): number =>
    [...metrics.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
  const labels = (verbs: string): string =>
    `\\{(?=[^}]*resource="${resource}")(?=[^}]*scope="(?:namespace|resource)")(?=[^}]*verb="(?:${verbs})")[^}]*\\} (\\d+)$`;
  return {
    watches: sum(new RegExp(`^apiserver_longrunning_requests${labels('WATCH')}`, 'gm')),
    calls: sum(new RegExp(`^apiserver_request_total${labels('GET|LIST|PATCH|WATCH')}`, 'gm')),
  };
}

it.each(['direct', 'relay'])(
  '%s: kubectl apply of the operator is reported and written over, and reviews stay here',
  async (route) => {
    const before = await snapshot(cluster, NAMESPACE);
    await using up = await takenOver('--route', route, ...SERVER);
    await expectServedHere();
    await apply();
    const by = { manager: expect.stringContaining('kubectl'), operation: 'Update' };
    expect(await overwritten(up, 'Service', 'spec.selector')).toMatchObject({ by });
    expect(await overwritten(up, 'Deployment', 'spec.replicas')).toMatchObject({ from: '0', to: '1', by });
    await eventually(async () => expect((await api.get<Workload>(DEPLOYMENT_REF))?.spec.replicas).toBe(0));
    await expectServedHere();
    await expectRestored(up, before);
  },
);

it('costs one watch for each object, and no polling', async () => {
  await using up = await takenOver('--route', 'direct', ...SERVER);
  for (const resource of ['services', 'deployments']) {
    const first = await requestsFor(resource);
    expect(first.watches).toBe(1);
    await pause(3_000);
    expect(await requestsFor(resource)).toEqual(first);
  }
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  for (const resource of ['services', 'deployments']) expect((await requestsFor(resource)).watches).toBe(0);
});

it('the selector of a new manifest is what the session restores', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const original = (await api.get<Service>(SERVICE_REF))!;
  const labels = original.spec.selector!;
  const [key] = Object.keys(labels) as [string];
  await using up = await takenOver('--route', 'direct', ...SERVER);
  // Fewer labels: still the operator's Pods.
  const selector = { [key]: labels[key] };
  await api.patch(SERVICE_REF, 'merge', { spec: { selector } });
  expect(await overwritten(up, 'Service', 'spec.selector')).toMatchObject({ to: JSON.stringify(selector) });
  await expectServedHere();
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  expect((await api.get<Service>(SERVICE_REF))?.spec.selector).toEqual(selector);
  await api.patch(SERVICE_REF, 'merge', { spec: { selector: labels } });
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});

it('a mark that is removed is written again', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const original = (await api.get<Service>(SERVICE_REF))!;
  await using up = await takenOver('--route', 'direct', ...SERVER);
  await cluster.kubectl(['-n', NAMESPACE, 'label', 'service', SERVICE, 'devloop.dev/session-']);
  await overwritten(up, 'Service', 'metadata.labels.devloop.dev/session');
  await cluster.kubectl(['-n', NAMESPACE, 'annotate', 'service', SERVICE, 'devloop.dev/undo-']);
  await overwritten(up, 'Service', 'metadata.annotations.devloop.dev/undo');
  const { resourceVersion: _, managedFields: __, ...metadata } = original.metadata;
  const query = { fieldManager: 'replacer' };
  await api.call('PUT', objectPath(SERVICE_REF), { ...original, metadata }, { query });
  expect(await overwritten(up, 'Service', 'spec.selector')).toMatchObject({ by: { manager: 'replacer' } });
  await expectServedHere();
  await expectRestored(up, before);
});

it('somebody who does not give in ends the session, with the setting that stops them', async () => {
  const tracking = 'argocd.argoproj.io/tracking-id';
  await cluster.kubectl([
    '-n',
    NAMESPACE,
    'annotate',
    'deployment',
    DEPLOYMENT,
    `${tracking}=shop:apps/Deployment:x/y`,
  ]);
  await eventually(async () =>
    expect(JSON.stringify(await snapshot(cluster, NAMESPACE)).split(tracking)).toHaveLength(3),
  );
  const before = await snapshot(cluster, NAMESPACE);
  await using up = await takenOver('--route', 'direct', ...SERVER);
  const fighting = new AbortController();
  const fighter = (async () => {
    while (!fighting.signal.aborted) {
      const query = { fieldManager: 'argocd-controller' };
      await api.patch(DEPLOYMENT_REF, 'merge', { spec: { replicas: 1 } }, { query });
      await pause(200);
    }
  })();
  try {
    expect(await up.exited, up.log()).toBe(4);
  } finally {
    fighting.abort();
    await fighter;
  }
  const error = up.events.at(-1);
  expect(error).toMatchObject({ type: 'error', code: 'session.overwritten', exitCode: 4 });
  expect(error).toMatchObject({ message: expect.stringContaining('argocd-controller (Update') });
  expect(error).toMatchObject({
    hint: expect.stringMatching(/patch application shop .*"enabled":false(?:.|\n)*\["\/spec\/replicas"\]/),
  });
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  await rolledOut(cluster);
  expect(await review()).toContain(MESSAGE);
  await cluster.kubectl(['-n', NAMESPACE, 'annotate', 'deployment', DEPLOYMENT, `${tracking}-`]);
});

it('devloop down elsewhere ends the session, which does not fight it', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  await using up = await takenOver('--route', 'direct', ...SERVER);
  const down = await runDevloop(['down', '--take-over'], { cwd: tmpdir(), env: env() });
  expect(down.code, down.log).toBe(0);
  expect(await up.exited, up.log()).toBe(4);
  expect(up.events.at(-1)).toMatchObject({ type: 'error', code: 'session.lost' });
  expect(up.events).not.toContainEqual(expect.objectContaining({ type: 'guard.overwritten' }));
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});

it('a review that nothing can answer is refused at once when the session ends', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  await using up = await takenOver('--route', 'direct', '--no-controller');
  const waiting = review();
  await pause(500);
  up.signal('SIGINT');
  expect(await waiting).toContain('the session is ending');
  expect(await up.exited, up.log()).toBe(130);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});

it('new arguments are reported, and used when the controller is restarted next', async () => {
  await using up = await takenOver('--route', 'direct');
  const add = [{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--zap-devel' }];
  await cluster.kubectl([
    '-n',
    NAMESPACE,
    'patch',
    'deployment',
    DEPLOYMENT,
    '--type',
    'json',
    '-p',
    JSON.stringify(add),
  ]);
  const followed = await up.waitFor('guard.followed');
  expect(followed).toMatchObject({ changes: ['args: --zap-devel added'], restart: true });
  const main = join(checkout.directory, 'cmd/main.go');
  await writeFile(main, `${await readFile(main, 'utf8')}\n// The program stays the same.\n`);
  const started = await up.waitFor(
    'controller.started',
    ({ command }) => command.includes('--zap-devel'),
    120_000,
  );
  expect(started.command.filter((word) => word.includes(':8081'))).toEqual([
    '--health-probe-bind-address=:8081',
  ]);
  await up.waitFor('controller.replaced');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await rolledOut(cluster);
});

it('an operator that is uninstalled ends the session with that cause', async () => {
  await using up = await takenOver('--route', 'direct', ...SERVER);
  const configuration = 'application-operator-mutating-webhook-configuration';
  await cluster.kubectl(['delete', 'mutatingwebhookconfiguration', configuration]);
  await up.waitFor('warning', ({ message }) =>
    message.startsWith(`MutatingWebhookConfiguration ${configuration}`),
  );
  await cluster.kubectl(['-n', NAMESPACE, 'delete', 'deployment', DEPLOYMENT]);
  expect(await up.exited, up.log()).toBe(4);
  const message = expect.stringContaining(`Deployment ${NAMESPACE}/${DEPLOYMENT} was deleted`);
  expect(up.events.at(-1)).toMatchObject({ type: 'error', code: 'target.gone', message });
  const { marked, leases } = await snapshot(cluster, NAMESPACE);
  expect({ marked, leases }).toEqual({ marked: [], leases: [] });
  expect((await api.get<Service>(SERVICE_REF))?.spec.selector).toBeDefined();
  await apply();
});

it('a namespace that is deleted ends the session with that cause', async () => {
  await using up = await takenOver('--route', 'relay', ...SERVER);
  await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  expect(await up.exited, up.log()).toBe(4);
  const message = expect.stringContaining(`Namespace ${NAMESPACE} is being deleted`);
  expect(up.events.at(-1)).toMatchObject({ type: 'error', code: 'target.gone', message });
  await cluster.kubectl(['wait', '--for=delete', `namespace/${NAMESPACE}`, '--timeout=120s']);
  const { marked } = await snapshot(cluster, NAMESPACE);
  expect(marked).toEqual([]);
});
