/** What others do to the operator while `up` runs. */
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { objectPath, refOf } from '../../src/cluster/api/kinds.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { EndpointSlice, Endpoints, Service } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import { SERVICE_NAME } from '../../src/cluster/takeover/endpoints.ts';
import { filledSlices, isControllerSlice, slicesOf } from '../../src/cluster/takeover/slices.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { hookServer } from '../support/hook-server.ts';
import { loadRelayImage } from '../support/relay-image.ts';
import { createReviewer, type Reviewer } from '../support/reviews.ts';
import {
  type Checkout,
  checkoutSample,
  DEPLOYMENT,
  deploySample,
  NAMESPACE,
  rolledOut,
  SERVICE,
  sampleManifests,
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
let manifests: string;
let reviewer: Reviewer & AsyncDisposable;

beforeAll(async () => {
  cluster = await startCluster({ log: (line) => console.error(line) });
  await loadRelayImage(cluster);
  checkout = await checkoutSample();
  api = await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/'));
  await deploy();
  reviewer = await createReviewer(cluster.kubeconfig);
});

afterAll(async () => {
  await reviewer?.[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await checkout?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

// What a failed test leaves behind would make the next ones fail, too.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await runDevloop(['down'], { cwd: tmpdir(), env: env() });
});

const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });

async function deploy(): Promise<void> {
  await deploySample(cluster, checkout.directory);
  manifests = await changedManifests();
  // From now on, the objects are as `kubectl apply` keeps them: with the last applied configuration.
  await apply();
  await rolledOut(cluster);
}

/** The kinds that devloop changes or reads, of those that `make deploy` applies. */
async function changedManifests(): Promise<string> {
  const all = parseAllDocuments(await sampleManifests(cluster, checkout.directory));
  const kinds = ['Service', 'Deployment', 'ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'];
  return all
    .map((document) => document.toJS() as { kind: string })
    .filter(({ kind }) => kinds.includes(kind))
    .map((one) => stringify(one, { aliasDuplicateObjects: false }))
    .join('---\n');
}

/** As people do who have a manifest. */
const apply = (): Promise<string> => cluster.kubectl(['apply', '-f', '-'], { input: manifests });

async function takenOver(...args: string[]): Promise<DevloopRun> {
  const up = startDevloop(['up', ...args], { cwd: checkout.directory, env: env() });
  await up.waitFor('session.ready', undefined, 300_000);
  return up;
}

const review = (): Promise<string> => reviewer.ask();

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

/** The requests that the API server has answered, by verb, and the number of open watches. Controllers watch the whole cluster. */
async function requestsFor(resource: string): Promise<{ watches: number; calls: number }> {
  const metrics = await cluster.text('/metrics');
  const sum = (pattern: RegExp): number =>
    [...metrics.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0);
  const labels = (verbs: string): string =>
    `\\{(?=[^}]*resource="${resource}")(?=[^}]*scope="(?:namespace|resource)")(?=[^}]*verb="(?:${verbs})")[^}]*\\} (\\d+)$`;
  return {
    watches: sum(new RegExp(`^apiserver_longrunning_requests${labels('WATCH')}`, 'gm')),
    calls: sum(new RegExp(`^apiserver_request_total${labels('GET|LIST|PATCH|WATCH')}`, 'gm')),
  };
}

async function expectWrittenOver(up: DevloopRun): Promise<void> {
  await apply();
  const by = { manager: expect.stringContaining('kubectl'), operation: 'Update' };
  expect(await overwritten(up, 'Service', 'spec.selector')).toMatchObject({ by });
  expect(await overwritten(up, 'Deployment', 'spec.replicas')).toMatchObject({ from: '0', to: '1', by });
  await eventually(async () => expect((await api.get<Workload>(DEPLOYMENT_REF))?.spec.replicas).toBe(0));
  await expectServedHere();
}

async function expectMarksWrittenAgain(up: DevloopRun, original: Service): Promise<void> {
  const without = (map: string, key: string): Promise<unknown> =>
    api.patch(SERVICE_REF, 'merge', { metadata: { [map]: { [key]: null } } });
  await without('labels', 'devloop.dev/session');
  await overwritten(up, 'Service', 'metadata.labels.devloop.dev/session');
  await without('annotations', 'devloop.dev/undo');
  await overwritten(up, 'Service', 'metadata.annotations.devloop.dev/undo');
  const { resourceVersion: _, managedFields: __, ...metadata } = original.metadata;
  const query = { fieldManager: 'replacer' };
  // A change that arrives while devloop is still writing the object is overwritten, but not reported.
  await eventually(async () => {
    await api.call('PUT', objectPath(SERVICE_REF), { ...original, metadata }, { query });
    await up.waitFor(
      'guard.overwritten',
      ({ by, field }) => field === 'spec.selector' && by.manager === 'replacer',
      5_000,
    );
  });
  await expectServedHere();
}

/** A controller that has not seen that the selector is gone still fills its slices. */
async function expectLateSliceEmptied(up: DevloopRun): Promise<void> {
  const all = await slicesOf(api, { metadata: SERVICE_REF });
  const late = refOf('EndpointSlice', all.find(isControllerSlice)!.metadata);
  const endpoints = [{ addresses: ['10.88.0.99'], conditions: { ready: true } }];
  await api.patch<EndpointSlice>(late, 'merge', { endpoints }, { query: { fieldManager: 'late' } });
  await eventually(async () => expect(await filledSlices(api, { metadata: SERVICE_REF })).toEqual([]));
  expect(up.events.filter(({ type }) => type === 'warning')).toEqual([]);
  await expectServedHere();
}

/** The objects that point the Service to this machine are devloop's own, so only devloop writes them again. */
async function expectEndpointsWrittenAgain(up: DevloopRun): Promise<void> {
  const service = { metadata: SERVICE_REF };
  const all = await slicesOf(api, service);
  const slice = all.find((one) => !isControllerSlice(one));
  // That of Kubernetes stays, but is empty.
  expect(all).toHaveLength(2);
  expect(await filledSlices(api, service)).toEqual([]);
  const { metadata } = slice!;
  const selected = ['-l', `${SERVICE_NAME}=${SERVICE}`, '--now'];
  await cluster.kubectl(['-n', NAMESPACE, 'delete', 'endpointslice', ...selected]);
  await up.waitFor('guard.deleted', ({ object }) => object.name === metadata.name);
  await expectServedHere();
  const [again] = await slicesOf(api, service);
  expect(again).toMatchObject({ metadata: { name: metadata.name }, endpoints: slice!.endpoints });
  const query = { fieldManager: 'meddler' };
  const endpoints = [{ addresses: ['203.0.113.7'] }];
  await api.patch<EndpointSlice>(refOf('EndpointSlice', metadata), 'merge', { endpoints }, { query });
  const by = { manager: 'meddler', operation: 'Update' };
  expect(await overwritten(up, 'EndpointSlice', 'endpoints')).toMatchObject({ by });
  await expectServedHere();
  const ref = { ...SERVICE_REF, kind: 'Endpoints' } as const;
  const { subsets } = (await api.get<Endpoints>(ref))!;
  await api.remove(ref);
  await up.waitFor('guard.deleted', ({ object }) => object.kind === 'Endpoints');
  await eventually(async () => expect((await api.get<Endpoints>(ref))?.subsets).toEqual(subsets));
  // Nothing was mirrored from the Endpoints.
  await eventually(async () =>
    expect(await slicesOf(api, service)).toMatchObject([{ metadata: { name: metadata.name } }]),
  );
  await expectServedHere();
}

it('relay: kubectl apply of the operator is reported and written over, and reviews stay here', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  await using up = await takenOver('--route', 'relay', ...SERVER);
  await expectServedHere();
  await expectWrittenOver(up);
  await expectRestored(up, before);
});

it('direct: the watches see kubectl apply, and marks and endpoints that are removed, which are reported and written over', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const original = (await api.get<Service>(SERVICE_REF))!;
  await using up = await takenOver('--route', 'direct', ...SERVER);
  const resources = ['services', 'deployments', 'endpoints', 'endpointslices'];
  const requests = () => Promise.all(resources.map(requestsFor));
  // Kubernetes' controllers may still send requests about the last change.
  await eventually(async () => {
    const first = await requests();
    // One sees devloop's own slice, and one all slices of the Service.
    expect(first.map(({ watches }) => watches)).toEqual([1, 1, 1, 2]);
    await pause(3_000);
    expect(await requests()).toEqual(first);
  });
  await expectServedHere();
  await expectLateSliceEmptied(up);
  await expectEndpointsWrittenAgain(up);
  await expectWrittenOver(up);
  await expectMarksWrittenAgain(up, original);
  await expectRestored(up, before);
  expect((await requests()).map(({ watches }) => watches)).toEqual([0, 0, 0, 0]);
});

it('the selector of a new manifest is what the session restores', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const original = (await api.get<Service>(SERVICE_REF))!;
  const labels = original.spec.selector!;
  const [key] = Object.keys(labels) as [string];
  await using up = await takenOver('--route', 'direct', ...SERVER);
  // With fewer labels, these are still the operator's Pods.
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

it('somebody who does not give in ends the session, with the setting that stops them', async () => {
  const tracking = 'argocd.argoproj.io/tracking-id';
  const annotate = (value: string | null): Promise<unknown> =>
    api.patch(DEPLOYMENT_REF, 'merge', { metadata: { annotations: { [tracking]: value } } });
  await annotate('shop:apps/Deployment:x/y');
  await eventually(async () =>
    expect(JSON.stringify(await snapshot(cluster, NAMESPACE)).split(tracking)).toHaveLength(3),
  );
  const before = await snapshot(cluster, NAMESPACE);
  await using up = await takenOver('--route', 'direct', ...SERVER);
  const fighting = new AbortController();
  const fighter = scaleBack('argocd-controller', fighting.signal);
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
  // The fight replaced Pods until its end, and kube-proxy follows a little later.
  await eventually(async () => expect(await review()).toContain(MESSAGE));
  await annotate(null);
});

it('a parent that scales the manager back is named by up, and again where its fight ends the session', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const parent = { kind: 'ConfigMap', namespace: NAMESPACE, name: 'parent' } as const;
  const { metadata } = await api.create<Service>(parent, { metadata: parent });
  const owner = {
    apiVersion: 'v1',
    kind: parent.kind,
    name: parent.name,
    uid: metadata.uid,
    controller: true,
  };
  const own = (ownerReferences: object[] | null): Promise<unknown> =>
    api.patch(DEPLOYMENT_REF, 'merge', { metadata: { ownerReferences } });
  await own([owner]);
  const up = startDevloop(['up', '--route', 'direct', ...SERVER], { cwd: checkout.directory, env: env() });
  await using _ = up;
  const { values } = await up.waitFor('note', ({ code }) => code === 'pause.may-be-undone');
  expect(values).toMatchObject({ manager: DEPLOYMENT_REF, by: { kind: 'ConfigMap', name: 'parent' } });
  await up.waitFor('session.ready');
  const fighting = new AbortController();
  const fighter = scaleBack('parent-operator', fighting.signal);
  try {
    expect(await up.exited, up.log()).toBe(4);
  } finally {
    fighting.abort();
    await fighter;
  }
  expect(up.events.at(-1)).toMatchObject({
    ...{ type: 'error', code: 'session.overwritten' },
    message: expect.stringContaining('parent-operator'),
    hint: expect.stringContaining('ConfigMap parent'),
  });
  await own(null);
  await api.remove(parent);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
  await rolledOut(cluster);
});

/** Until the signal aborts. */
async function scaleBack(fieldManager: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await api.patch(DEPLOYMENT_REF, 'merge', { spec: { replicas: 1 } }, { query: { fieldManager } });
    await pause(200);
  }
}

it('make deploy of a new version while up runs: its image is followed, its replicas are what the session restores', async () => {
  const { slices, endpoints } = await snapshot(cluster, NAMESPACE);
  const original = (await api.get<Workload>(DEPLOYMENT_REF))!;
  const { image = '' } = original.spec.template.spec.containers[0]!;
  // The same image, by its full name.
  const next = `docker.io/library/${image}`;
  await using up = await takenOver('--route', 'direct', ...SERVER);
  const version = manifests
    .replace(`image: ${image}`, `image: ${next}`)
    .replace('replicas: 1', 'replicas: 2');
  await cluster.kubectl(['apply', '-f', '-'], { input: version });
  expect(await overwritten(up, 'Deployment', 'spec.replicas')).toMatchObject({ from: '0', to: '2' });
  const by = { manager: expect.stringContaining('kubectl'), operation: 'Update' };
  const followed = await up.waitFor('guard.followed');
  expect(followed).toMatchObject({ changes: [`image ${image} -> ${next}`], restart: false, by });
  await eventually(async () => expect((await api.get<Workload>(DEPLOYMENT_REF))?.spec.replicas).toBe(0));
  await expectServedHere();
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  const { spec } = (await api.get<Workload>(DEPLOYMENT_REF))!;
  expect([spec.replicas, spec.template.spec.containers[0]?.image]).toEqual([2, next]);
  expect(await review()).toContain(MESSAGE);
  await apply();
  await rolledOut(cluster);
  const atRest = { slices, endpoints, marked: [] };
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toMatchObject(atRest), 60_000);
});

it('the manager of a dead session is the one that its Service selected before; an undo that names more is refused', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const bystander = { kind: 'Deployment', namespace: NAMESPACE, name: 'bystander' } as const;
  const labels = { app: 'bystander' };
  const { spec } = (await api.get<Workload>(DEPLOYMENT_REF))!;
  const template = { metadata: { labels }, spec: spec.template.spec };
  await api.create(bystander, {
    metadata: bystander,
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  });
  await using up = await takenOver('--route', 'direct', ...SERVER);
  up.signal('SIGKILL');
  await up.exited;
  const plan = async () => {
    const args = ['up', '--dry-run', '--service', `${NAMESPACE}/${SERVICE}`, ...SERVER];
    return await runDevloop(args, { cwd: tmpdir(), env: env() });
  };
  const { code, events, log } = await plan();
  expect(code, log).toBe(0);
  const managers = events.flatMap((event) =>
    event.type === 'change' && event.object.kind === 'Deployment' ? [event.object.name] : [],
  );
  expect(managers, log).toEqual([DEPLOYMENT]);
  const { metadata } = (await api.get<Service>(SERVICE_REF))!;
  const undo = JSON.parse(metadata.annotations!['devloop.dev/undo']!);
  const write = (value: object): Promise<unknown> =>
    api.patch(SERVICE_REF, 'merge', {
      metadata: { annotations: { 'devloop.dev/undo': JSON.stringify(value) } },
    });
  await write({ ...undo, fields: [...undo.fields, { path: ['spec', 'type'], before: 'NodePort' }] });
  const marked = await snapshot(cluster, NAMESPACE);
  const refused = await runDevloop(['up', ...SERVER], { cwd: checkout.directory, env: env() });
  for (const run of [refused, await plan()]) {
    expect(run.code, run.log).toBe(4);
    const message = expect.stringMatching(/^Service .* devloop.dev\/undo names spec\.type/);
    expect(run.events.at(-1)).toMatchObject({ type: 'error', code: 'undo.incomplete', message });
  }
  expect(await snapshot(cluster, NAMESPACE)).toEqual(marked);
  await write(undo);
  await using again = await takenOver('--route', 'direct', ...SERVER);
  await api.remove(bystander);
  await expectRestored(again, before);
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

it('new arguments are reported, and used when the controller is restarted next', async () => {
  await using up = await takenOver('--route', 'direct');
  const add = [{ op: 'add' as const, path: '/spec/template/spec/containers/0/args/-', value: '--zap-devel' }];
  await api.patch(DEPLOYMENT_REF, 'json', add);
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
  await api.remove({ kind: 'MutatingWebhookConfiguration', name: configuration });
  const gone = await up.waitFor('warning', ({ code }) => code === 'guard.caller-gone');
  expect(gone.values).toMatchObject({
    caller: { kind: 'MutatingWebhookConfiguration', name: configuration },
  });
  await api.remove(DEPLOYMENT_REF);
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
  await api.remove({ kind: 'Namespace', name: NAMESPACE });
  expect(await up.exited, up.log()).toBe(4);
  const message = expect.stringContaining(`Namespace ${NAMESPACE} `);
  expect(up.events.at(-1)).toMatchObject({ type: 'error', code: 'target.gone', message });
  await eventually(
    async () => expect(await api.get({ kind: 'Namespace', name: NAMESPACE })).toBeUndefined(),
    120_000,
  );
  const { marked } = await snapshot(cluster, NAMESPACE);
  expect(marked).toEqual([]);
});
