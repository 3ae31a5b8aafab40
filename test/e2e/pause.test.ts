import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import {
  type Lease,
  microTime,
  type Service,
  type WebhookConfiguration,
} from '../../src/cluster/api/objects.ts';
import { CATALOGUE } from '../../src/errors.ts';
import type { DevloopEvent } from '../../src/report/events.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { established, rolledOut as isRolledOut, type WorkloadKind } from '../support/cluster-waits.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { checkoutElecting, deployElecting, editMain, leader } from '../support/electing-operator.ts';
import { eventually } from '../support/eventually.ts';
import {
  askHook,
  deployHooks,
  HOOK_NAMESPACE,
  hooksAtRest,
  hooksIn,
  podsBehindServices,
} from '../support/hook-operator.ts';
import { hookServer } from '../support/hook-server.ts';
import { startOlm } from '../support/olm-stand-in.ts';
import { dryRun, expectAsPlanned } from '../support/planned-changes.ts';
import { startReconciler } from '../support/reconciler-stand-in.ts';
import { revocableLogin } from '../support/revocable-login.ts';
import { application, DEPLOYMENT, NAMESPACE, rolledOut, SAMPLE } from '../support/sample-operator.ts';
import { checkoutShop, shopInStatefulSet } from '../support/shop-settings.ts';
import { fieldOwners, snapshot } from '../support/snapshot.ts';

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
  const server = hookServer('local', '9444', '9445');
  return startDevloop(['up', ...SERVICES, ...flags, ...server], options());
}

/** What the dry run of `up()` prints. */
const plannedUp = (): Promise<DevloopEvent[]> =>
  dryRun([...SERVICES, ...hookServer('local', '9444', '9445')], options());

const ask = (name: string): Promise<unknown> => askHook(cluster, name);

/** The operator's Pods that are not terminating. */
async function runningPods(): Promise<string[]> {
  const { items } = (await cluster.read(
    `/api/v1/namespaces/${HOOK_NAMESPACE}/pods?labelSelector=app%3Dhooks`,
  )) as {
    items: { metadata: { name: string; deletionTimestamp?: string } }[];
  };
  return items.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [metadata.name] : []));
}

/** They stay as long as the session, whatever the controllers of the real Pods do. */
async function standIns(): Promise<object[]> {
  const path = `/api/v1/namespaces/${HOOK_NAMESPACE}/pods?labelSelector=devloop.dev/session`;
  return ((await cluster.read(path)) as { items: object[] }).items;
}

async function replaceBy(kind: WorkloadKind | 'Job', replicas: number): Promise<void> {
  const kinds = 'deployment,statefulset,daemonset,job,pod';
  await cluster.kubectl(['-n', HOOK_NAMESPACE, 'delete', kinds, '-l', 'app=hooks']);
  const input = kind === 'Job' ? await hooksInJob() : await hooksIn(kind, replicas);
  await cluster.apply(input);
  if (kind === 'Job') await podsBehindServices(cluster, replicas);
  else await hooksAtRest(cluster, kind, replicas);
}

async function hooksInJob(): Promise<string> {
  const { metadata, spec } = parse(await hooksIn('DaemonSet'));
  const template = { ...spec.template, spec: { ...spec.template.spec, restartPolicy: 'Never' } };
  return stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { template } });
}

const atRest = (kind: WorkloadKind, replicas: number, before: object) =>
  eventually(async () => {
    await hooksAtRest(cluster, kind, replicas);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

const overwritten = (session: DevloopRun, kind: WorkloadKind) =>
  session.waitFor('guard.overwritten', ({ object }) => object.kind === kind);

it('a manager in a StatefulSet is paused, and again when somebody scales it, with the login that the kubeconfig has since then, and restored', async () => {
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  await using login = await revocableLogin(cluster);
  const planned = await plannedUp();
  await using session = up('--kubeconfig', login.kubeconfig);
  await session.waitFor('session.ready');
  expectAsPlanned(session.events, planned, 'direct');
  expect(await runningPods()).toEqual([]);
  const owned = [{ kind: 'StatefulSet', name: 'hooks' }];
  const name = expect.stringMatching(/^hooks-devloop-[0-9a-f]{8}-0$/);
  expect(await standIns()).toMatchObject([{ metadata: { name, ownerReferences: owned } }]);
  await expect(ask('first')).rejects.toThrow('local on 9444 says no');
  await login.revoke();
  // As `aws eks update-kubeconfig` does: the context gets another user, who logs in differently.
  await copyFile(cluster.kubeconfig, login.kubeconfig);
  await cluster.kubectl(['-n', HOOK_NAMESPACE, 'scale', 'statefulset', 'hooks', '--replicas=2']);
  const by = { manager: expect.stringContaining('kubectl'), operation: 'Update' };
  expect(await overwritten(session, 'StatefulSet')).toMatchObject({ field: 'spec.replicas', by });
  await eventually(async () => expect(await runningPods()).toEqual([]));
  session.signal('SIGINT');
  expect(await session.exited, session.log()).toBe(130);
  await atRest('StatefulSet', 2, before);
});

/** From now on, the operator reviews deletions of ControllerRevisions, and none is admitted while nobody answers. */
async function reviewHistory(): Promise<void> {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks';
  const { webhooks } = (await cluster.read(path)) as WebhookConfiguration;
  const name = 'history.hooks.example.com';
  const rules = [
    { operations: ['DELETE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['controllerrevisions'] },
  ];
  const { objectSelector: _, ...webhook } = webhooks![0]!;
  const metadata = { name: 'history' };
  const configuration = {
    kind: 'ValidatingWebhookConfiguration',
    metadata,
    webhooks: [{ ...webhook, name, rules }],
  };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  await cluster.kubectl(['create', '-f', '-'], { input: JSON.stringify({ apiVersion, ...configuration }) });
}

/** The pause adds a key to the node selector of somebody else, who owns it as a whole. */
async function applyNodeSelector(): Promise<void> {
  const spec = { template: { spec: { nodeSelector: { 'kubernetes.io/os': 'linux' } } } };
  const metadata = { name: 'hooks', namespace: HOOK_NAMESPACE, labels: { team: 'hooks' } };
  await cluster.apply([{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata, spec }], 'team');
  await eventually(() => hooksAtRest(cluster, 'DaemonSet', 1));
}

describe('a manager in a DaemonSet', () => {
  beforeAll(() => replaceBy('DaemonSet', 1));

  it('is paused, and restored with its history after a crash, which its webhook reviews', async () => {
    await applyNodeSelector();
    await reviewHistory();
    const before = await snapshot(cluster, HOOK_NAMESPACE);
    const owners = await fieldOwners(cluster, HOOK_NAMESPACE);
    const planned = await plannedUp();
    await using session = up();
    await session.waitFor('session.ready');
    expectAsPlanned(session.events, planned, 'direct');
    expect(await runningPods()).toEqual([]);
    expect(await standIns()).toMatchObject([{ metadata: { ownerReferences: [{ kind: 'DaemonSet' }] } }]);
    await expect(ask('first')).rejects.toThrow('local on 9444 says no');
    const denied = async () => (await runDevloop(['reviews', '--verdict', 'denied'], options())).events;
    const review = { message: expect.stringContaining('local on 9444 says no') };
    const listed = { type: 'reviews.listed', review };
    await eventually(async () => expect(await denied()).toMatchObject([listed]));
    session.signal('SIGKILL');
    await session.exited;
    const crashed = { type: 'warning', code: 'reviews.of-crashed' };
    expect(await denied()).toMatchObject([crashed, listed]);
    const down = await runDevloop(['down'], { ...options(), cwd: tmpdir() });
    expect(down.code, down.log).toBe(0);
    await atRest('DaemonSet', 1, before);
    expect(await fieldOwners(cluster, HOOK_NAMESPACE)).toEqual(owners);
    await cluster.kubectl(['delete', 'validatingwebhookconfiguration', 'history']);
  });

  it('is paused again when somebody resumes it; devloop down elsewhere ends its session, which does not fight it', async () => {
    const before = await snapshot(cluster, HOOK_NAMESPACE);
    await using session = up();
    await session.waitFor('session.ready');
    const nodeSelector = { 'devloop.dev/paused': null };
    const patch = JSON.stringify({ spec: { template: { spec: { nodeSelector } } } });
    await cluster.kubectl(['-n', HOOK_NAMESPACE, 'patch', 'daemonset', 'hooks', '--type=merge', '-p', patch]);
    await overwritten(session, 'DaemonSet');
    await eventually(async () => expect(await runningPods()).toEqual([]));
    const guarded = (): object[] => session.events.filter(({ type }) => type === 'guard.overwritten');
    const fought = guarded().length;
    const down = await runDevloop(['down', '--take-over'], { ...options(), cwd: tmpdir() });
    expect(down.code, down.log).toBe(0);
    expect(await session.exited, session.log()).toBe(4);
    expect(session.events.at(-1)).toMatchObject({ type: 'error', code: 'session.lost' });
    expect(guarded()).toHaveLength(fought);
    await atRest('DaemonSet', 1, before);
  });
});

it('a manager in a Job is refused, unless it is left running', async () => {
  await replaceBy('Job', 1);
  const pods = await runningPods();
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  await using refused = up();
  expect(await refused.exited, refused.log()).toBe(2);
  expect(refused.events.at(-1)).toMatchObject({
    type: 'error',
    code: 'pause.unsupported',
    message: expect.stringContaining(`Job ${HOOK_NAMESPACE}/hooks`),
    hint: expect.stringMatching(/--pause lease[\s\S]*--pause none/),
  });
  expect(refused.events.filter(({ type }) => type === 'change')).toEqual([]);
  const dry = await runDevloop(['up', '--dry-run', ...SERVICES, ...hookServer('local')], options());
  expect(dry.events.at(-1), dry.log).toMatchObject({ type: 'error', code: 'pause.unsupported' });
  await using session = up('--pause', 'none');
  const { values } = await session.waitFor('warning', ({ code }) => code === 'pause.none');
  expect(values).toMatchObject({ manager: { kind: 'Pod', namespace: HOOK_NAMESPACE, name: pods[0] } });
  await session.waitFor('session.ready');
  await expect(ask('first')).rejects.toThrow('local on 9444 says no');
  session.signal('SIGINT');
  expect(await session.exited, session.log()).toBe(130);
  expect(await runningPods()).toEqual(pods);
  await eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before));
});

it('a manager that OLM installs stays paused, and is restored beside OLM', async () => {
  await replaceBy('Deployment', 1);
  const path = `/api/v1/namespaces/${HOOK_NAMESPACE}/services/first`;
  const { selector, ports } = ((await cluster.read(path)) as Service).spec;
  const metadata = { name: 'first', namespace: HOOK_NAMESPACE };
  const service = { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector, ports } };
  await using olm = await startOlm(cluster, parse(await hooksIn('Deployment', 1)), service);
  await hooksAtRest(cluster, 'Deployment', 1);
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  await using session = up();
  const { values } = await session.waitFor('note', ({ code }) => code === 'pause.may-be-undone');
  expect(values).toMatchObject({ by: { kind: 'ClusterServiceVersion', name: 'hooks.v1' } });
  await session.waitFor('session.ready');
  const installs = olm.installs();
  await expect(ask('first')).rejects.toThrow('local on 9444 says no');
  expect(await runningPods()).toEqual([]);
  expect(olm.installs()).toBe(installs);
  session.signal('SIGINT');
  expect(await session.exited, session.log()).toBe(130);
  await atRest('Deployment', 1, before);
});

it('a Deployment that writes the Services again is paused only with consent, before the Services, and restored with the rest', async () => {
  await replaceBy('Deployment', 1);
  await using reconciler = await startReconciler(cluster, HOOK_NAMESPACE, 'first');
  await hooksAtRest(cluster, 'Deployment', 1);
  const before = await snapshot(cluster, HOOK_NAMESPACE);
  const server = hookServer('local', '9444', '9445');
  const agreed = ['--also-pause', `${HOOK_NAMESPACE}/reconciler`];
  // managedFields alone could be forged, so `--yes` is not enough; and without it, the cluster is part of the question.
  for (const isAsked of [undefined, true as const]) {
    const refused = await runDevloop(['up', ...SERVICES, ...server], {
      ...options(),
      ...(isAsked && { isAsked, env: { ...options().env, XDG_STATE_HOME: directory } }),
    });
    expect(refused.code, refused.log).toBe(CATALOGUE['consent.missing'].exit);
    expect(refused.events.at(-1)).toMatchObject({
      code: 'consent.missing',
      hint: expect.stringContaining(agreed[1]!),
    });
  }
  expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  const asking = await dryRun([...SERVICES, ...server], options());
  expect(asking).toContainEqual(
    expect.objectContaining({
      code: 'consent.would-ask',
      values: expect.objectContaining({ flags: expect.stringContaining(agreed.join(' ')) }),
    }),
  );
  const planned = await dryRun([...SERVICES, ...agreed, ...server], options());
  await using session = up(...agreed);
  const also = await session.waitFor('note', ({ code }) => code === 'pause.also');
  expect(also.values).toMatchObject({ evidence: { writer: expect.stringContaining('pause') } });
  await session.waitFor('session.ready');
  expectAsPlanned(session.events, planned, 'direct');
  await expect(ask('first')).rejects.toThrow('local on 9444 says no');
  expect(await runningPods()).toEqual([]);
  expect(reconciler.writes()).toBe(1);
  session.signal('SIGKILL');
  await session.exited;
  const down = await runDevloop(['down'], options());
  expect(down.code, down.log).toBe(0);
  const restored = down.events.flatMap((event) => (event.type === 'change' ? [event.object.name] : []));
  // It answers no review, so it is resumed after the Services, which it would write again.
  expect(restored.indexOf('reconciler')).toBeGreaterThan(restored.indexOf('first'));
  expect(restored.indexOf('reconciler')).toBeGreaterThan(restored.indexOf('hooks'));
  await atRest('Deployment', 1, before);
});

describe('--pause lease, beside Pods that answer reviews and a Lease that this test renews for them', () => {
  const ELECTION = { kind: 'Lease', namespace: HOOK_NAMESPACE, name: 'election' } as const;
  const leading = ['--pause', 'lease'];
  let api: ClusterApi;
  let pod: string;
  let before: object;

  beforeAll(async () => {
    api = await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/'));
    await replaceBy('Deployment', 1);
    before = await snapshot(cluster, HOOK_NAMESPACE);
    pod = (await runningPods())[0]!;
    await api.create<Lease>(ELECTION, { metadata: ELECTION, spec: { leaseDurationSeconds: 3 } });
    // kube-proxy learns of the new Pod after the controllers that write its endpoints.
    await eventually(async () => expect(await review()).toSatisfy(isAnswer));
    return async () => {
      await api.remove(ELECTION);
      await api[Symbol.asyncDispose]();
    };
  });

  const holder = async (): Promise<string | undefined> =>
    (await api.get<Lease>(ELECTION))?.spec.holderIdentity;
  /** As the manager's Pod does. */
  const lead = (): Promise<unknown> =>
    api.patch(ELECTION, 'merge', { spec: { holderIdentity: `${pod}_1`, renewTime: microTime() } });
  const review = async (): Promise<string> => {
    const metadata = { name: 'x', labels: { ask: 'first' } };
    const query = { dryRun: 'All' };
    return await api.call('POST', '/api/v1/namespaces/default/configmaps', { metadata }, { query }).then(
      () => 'allowed',
      (error: Error) => error.message,
    );
  };
  const isAnswer = (answer: string): boolean => /^allowed$|says no/.test(answer);

  it('no review is lost until the controller answers; a Lease that was lost and stands still is taken again', async () => {
    await lead();
    await using session = up(...leading);
    const answers = new Set<string>();
    let isOver = false;
    const ready = session.waitFor('session.ready').finally(() => {
      isOver = true;
    });
    ready.catch(() => {});
    while (!isOver) answers.add(await review());
    await ready;
    expect([...answers].filter((answer) => !isAnswer(answer))).toEqual([]);
    // kube-apiserver keeps calling the Pod over the connections of the other webhook.
    await expect(ask('second')).rejects.toThrow('local on 9445 says no');
    expect(await holder()).toMatch(/^devloop-/);
    const changes = session.events.filter(({ type }) => type === 'change');
    const of = (kind: string): number =>
      changes.findIndex(
        (event) => event.type === 'change' && event.object.kind === kind && event.action === 'update',
      );
    expect(of('Lease')).toBeLessThan(of('Service'));
    await lead();
    const taken = await session.waitFor('warning', ({ code }) => code === 'pause.lease-taken');
    expect(taken.values).toMatchObject({ holder: expect.stringContaining(`${pod}_1`) });
    await session.waitFor('change', ({ detail }) => detail === 'taken again');
    expect(await holder()).toMatch(/^devloop-/);
    session.signal('SIGINT');
    expect(await session.exited, session.log()).toBe(130);
    expect(await holder()).toBeUndefined();
    await eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before));
  });

  it('up again right after a crash waits for the Pod to lead again; a Pod that keeps the Lease ends the session', async () => {
    await lead();
    await using crashed = up(...leading);
    await crashed.waitFor('session.ready');
    crashed.signal('SIGKILL');
    await crashed.exited;
    expect(await holder()).toMatch(/^devloop-/);
    await using session = up(...leading);
    await session.waitFor('waiting', (event) => event.for.includes('to become the leader'));
    await lead();
    await session.waitFor('session.ready');
    expect(await holder()).toMatch(/^devloop-/);
    const renewing = setInterval(() => void lead(), 250);
    try {
      expect(await session.exited, session.log()).toBe(4);
    } finally {
      clearInterval(renewing);
    }
    expect(session.events.at(-1)).toMatchObject({
      type: 'error',
      code: 'session.lost',
      message: expect.stringMatching(`Lease ${HOOK_NAMESPACE}/election .*${pod}_1`),
    });
    expect(await holder()).toBe(`${pod}_1`);
    await eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before));
  });
});

it('--pause lease: the Pods stay up but idle, and lead again afterwards', async () => {
  await deployElecting(cluster);
  await eventually(async () => expect((await leader(cluster)).holderIdentity).toContain(DEPLOYMENT));
  const before = await snapshot(cluster, NAMESPACE);
  // Like a manager whose reconcilers do nothing but fail.
  const failing = `for (let i = 0; i < 4; i++) console.error('level=error msg=Reconciler error="no such thing"');`;
  const idle = ['--', process.execPath, '-e', `${failing} setInterval(() => {}, 1000)`];
  const named = ['--deployment', `${NAMESPACE}/${DEPLOYMENT}`, '--pause', 'lease'];
  const planned = await dryRun([...named, ...idle], options());
  await using session = startDevloop(['up', ...named, ...idle], options());
  await session.waitFor('session.ready', undefined, 60_000);
  expectAsPlanned(session.events, planned);
  const { values } = await session.waitFor('warning', ({ code }) => code === 'controller.repeats-error');
  expect(values).toMatchObject({ times: 4, logged: expect.stringContaining('no such thing') });
  const { holderIdentity, renewTime } = await leader(cluster);
  expect(holderIdentity).toMatch(/^devloop-/);
  await cluster.apply(application('held', 'nginx'));
  await eventually(async () => expect((await leader(cluster)).renewTime).not.toBe(renewTime));
  // Enough time for a manager that is not idle.
  const deployments = async (): Promise<string> =>
    JSON.stringify(await cluster.read('/apis/apps/v1/namespaces/default/deployments'));
  expect(await deployments()).not.toContain('held');
  session.signal('SIGINT');
  expect(await session.exited, session.log()).toBe(130);
  await eventually(async () => expect((await leader(cluster)).holderIdentity).toContain(DEPLOYMENT));
  await eventually(async () => expect(await deployments()).toContain('held'));
  await rolledOut(cluster);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});

it('a controller that elects a leader by itself leads at once after the Pod and at each restart, and stays in its cluster', async () => {
  await using checkout = await checkoutElecting();
  await editMain(checkout, (text) =>
    text.replace(/LeaderElection: *opts.leaderElect/, 'LeaderElection: true'),
  );
  await writeFile(join(checkout.directory, 'devloop.yaml'), 'controller:\n  graceSeconds: 1\n');
  const kubeconfig = join(checkout.directory, 'kubeconfig');
  await copyFile(cluster.kubeconfig, kubeconfig);
  const before = await snapshot(cluster, NAMESPACE);
  const named = ['--deployment', `${NAMESPACE}/${DEPLOYMENT}`, '--kubeconfig', kubeconfig];
  await using session = startDevloop(['up', ...named], { ...options(), cwd: checkout.directory });
  const released = () => session.waitFor('leader.released');
  const leads = () =>
    session.waitFor('controller.output', ({ line }) => /successfully acquired lease/i.test(line));
  expect((await session.waitFor('leader.released', undefined, 300_000)).holder).toContain(DEPLOYMENT);
  await leads();
  await session.waitFor('session.ready');
  const waited = session.events.filter(({ type }) => type === 'leader.waiting');
  // As `kind create cluster` does in another terminal: the same names, and another server.
  await using other = await anotherServer(kubeconfig);
  // Its leader ends only by SIGKILL and logs nothing, so the API proxy alone knows of its Lease.
  await editMain(checkout, (text) => stubborn(text.replace('func main() {', 'func main() {\n\tstubborn()')));
  expect(await released()).toMatchObject({ holder: expect.stringContaining(`${hostname()}_`) });
  await session.waitFor('controller.output', ({ line }) => line === 'edited');
  const killed = await eventually(async () => {
    const { holderIdentity = '' } = await leader(cluster);
    expect(holderIdentity).toContain(`${hostname()}_`);
    return holderIdentity;
  });
  await editMain(checkout, (text) => text.replace('println("edited")', 'println("again")'));
  expect(await released()).toMatchObject({ holder: killed });
  await session.waitFor('controller.output', ({ line }) => line === 'again');
  await eventually(async () => {
    const { holderIdentity = '' } = await leader(cluster);
    expect(holderIdentity).toContain(`${hostname()}_`);
    expect(holderIdentity).not.toBe(killed);
  });
  expect(session.events.filter(({ type }) => type === 'leader.waiting')).toEqual(waited);
  await cluster.apply(application('led', 'nginx'));
  const deployments = async (): Promise<string> =>
    JSON.stringify(await cluster.read('/apis/apps/v1/namespaces/default/deployments'));
  await eventually(async () => expect(await deployments()).toContain('led'));
  expect(other.requests()).toEqual([]);
  session.signal('SIGINT');
  expect(await session.exited, session.log()).toBe(130);
  expect(await released()).toMatchObject({ holder: expect.stringContaining(`${hostname()}_`) });
  await rolledOut(cluster);
  await eventually(async () => expect((await leader(cluster)).holderIdentity).toContain(DEPLOYMENT));
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
});

/** The text of a main package whose program ignores SIGTERM and logs nothing. */
function stubborn(text: string): string {
  return `${text
    .replace('\t"os"\n', '\t"context"\n\t"os"\n\t"os/signal"\n\t"syscall"\n')
    .replace('ctrl.SetupSignalHandler()', 'context.Background()')}
func stubborn() {
	println("edited")
	signal.Ignore(syscall.SIGTERM)
	null, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	_ = syscall.Dup3(int(null.Fd()), 2, 0)
}
`;
}

/** From now on, the kubeconfig's clusters have another server, which notes what is requested from it. */
async function anotherServer(kubeconfig: string) {
  const requests: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    requests.push(url);
    response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const { port } = server.address() as AddressInfo;
  const cluster = { server: `http://127.0.0.1:${port}` };
  const clusters = config.clusters.map(({ name }: { name: string }) => ({ name, cluster }));
  await writeFile(kubeconfig, JSON.stringify({ ...config, clusters }));
  return {
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe('an operator without webhooks, built here', () => {
  let checkout: Awaited<ReturnType<typeof checkoutShop>>;
  const run = (...flags: string[]): DevloopRun =>
    startDevloop(['up', ...flags], { ...options(), cwd: checkout.directory });

  async function expectRestored(session: DevloopRun, before: unknown): Promise<void> {
    session.signal('SIGINT');
    expect(await session.exited, session.log()).toBe(130);
    await eventually(async () => expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before));
  }

  beforeAll(async () => {
    checkout = await checkoutShop();
    // The operator is not deployed, but its CRDs are there.
    await cluster.apply(await cluster.kubectl(['kustomize', join(SAMPLE, 'config/crd')]));
    await established(cluster, 'applications.apps.example.com');
    await cluster.kubectl(['-n', NAMESPACE, 'delete', 'deployment', DEPLOYMENT, '--ignore-not-found']);
    return () => checkout[Symbol.asyncDispose]();
  });

  it('gets the arguments, variables and files of its StatefulSet, and elects no leader, which a variable asks for', async () => {
    await cluster.apply(shopInStatefulSet(HOOK_NAMESPACE));
    await isRolledOut(cluster, 'StatefulSet', `${HOOK_NAMESPACE}/shop`);
    const before = await snapshot(cluster, HOOK_NAMESPACE);
    await using session = run('--deployment', `${HOOK_NAMESPACE}/shop`);
    await session.waitFor('session.ready', undefined, 300_000);
    const line = 'HA=false GREETING=hello settings=from a file';
    expect(session.events).toContainEqual(expect.objectContaining({ type: 'controller.output', line }));
    await expectRestored(session, before);
    await cluster.kubectl(['-n', HOOK_NAMESPACE, 'delete', 'statefulset', 'shop']);
  });

  it('runs as make run would where it is not deployed, but its CRDs are installed', async () => {
    const before = await snapshot(cluster, HOOK_NAMESPACE);
    await using session = run();
    await session.waitFor('note', ({ code }) => code === 'session.alone');
    await session.waitFor('session.ready', undefined, 300_000);
    const line = 'HA= GREETING= settings=';
    expect(session.events).toContainEqual(expect.objectContaining({ type: 'controller.output', line }));
    expect(session.events.filter(({ type }) => type === 'change')).toEqual([]);
    await expectRestored(session, before);
  });
});
