/** `devloop down` by accounts with few permissions, and on objects that others have changed. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import type { Kind, ObjectRef } from '../../src/cluster/api/kinds.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { KubeObject, Service } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import { sessionOf } from '../../src/cluster/marks/marks.ts';
import { relayLabels, SESSION_LABEL, UNDO_ANNOTATION } from '../../src/cluster/names.ts';
import { findMarked } from '../../src/cluster/takeover/find-marked.ts';
import { holdLease } from '../../src/cluster/takeover/lease.ts';
import { deploymentPause } from '../../src/cluster/takeover/pause/replicas.ts';
import { swapSelector } from '../../src/cluster/takeover/service.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { account, type Rule, roleFor } from '../support/account.ts';
import { runDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';

const ALL: Rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
const emit = (): void => {};

let cluster: TestCluster;
let api: ClusterApi;

beforeAll(async () => {
  cluster = await startCluster({ pods: false, certManager: false, log: (line) => console.error(line) });
  api = await connect(await loadKubeconfig({ kubeconfig: cluster.kubeconfig }, {}, '/'));
});

afterAll(async () => {
  await api?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

// Deleting a namespace takes seconds, and hundreds of calls of its controller. Deleting what is in it is enough.
beforeEach(async () => {
  for (const namespace of ['first', 'second']) {
    await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
    await removeAll(namespace);
  }
});

async function removeAll(namespace: string): Promise<void> {
  for (const [group, plural] of [
    ['apis/apps/v1', 'deployments'],
    ['apis/coordination.k8s.io/v1', 'leases'],
    ['api/v1', 'services'],
  ])
    await cluster.call('DELETE', `/${group}/namespaces/${namespace}/${plural}`);
}

const ref = (kind: Kind, namespace: string, name = 'webhook'): ObjectRef => ({ kind, namespace, name });

/** In this namespace, a session of another machine took over the operator before it died. */
async function takenOver(namespace: string, session: string, to?: Record<string, string>): Promise<void> {
  const labels = { app: 'manager' };
  const service = await api.create<Service>(ref('Service', namespace), {
    metadata: { name: 'webhook' },
    spec: { selector: labels, ports: [{ port: 443 }] },
  });
  const template = { metadata: { labels }, spec: { containers: [{ name: 'manager', image: 'none' }] } };
  const deployment = await api.create<Workload>(ref('Deployment', namespace), {
    metadata: { name: 'webhook' },
    // Nothing runs Pods here, so devloop waits for none.
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  });
  const holder = {
    user: 'ann',
    host: 'desk',
    pid: 1,
    processStart: '',
    since: '',
    route: '',
    targets: [],
    unready: [ref('Deployment', namespace)],
    health: '',
  };
  const work = { api, sessionId: session, emit, signal: new AbortController().signal };
  for (const kind of ['Service', 'Deployment'] as const) {
    const lease = await holdLease(ref(kind, namespace)).apply(work, holder);
    await lease?.[Symbol.asyncDispose]();
  }
  await deploymentPause.pause({ ref: ref('Deployment', namespace), object: deployment }).apply(work);
  await swapSelector(work, service, to);
}

async function markOf(kind: Kind, namespace: string, name?: string): Promise<string | undefined> {
  const object = await api.get<KubeObject>(ref(kind, namespace, name));
  return object && sessionOf(object);
}

/** A kubeconfig of an account with only these permissions in the namespaces. */
async function accountWith(name: string, rights: Record<string, Rule[]>): Promise<string> {
  const kubeconfig = await account(cluster, name, []);
  for (const [namespace, rules] of Object.entries(rights))
    await cluster.apply(roleFor(name, rules, namespace));
  return kubeconfig;
}

const downWith = (KUBECONFIG: string, ...args: string[]) =>
  runDevloop(['down', ...args], { cwd: tmpdir(), env: { KUBECONFIG } });

async function down(name: string, rights: Record<string, Rule[]>) {
  const services = Object.keys(rights).flatMap((namespace) => ['--service', `${namespace}/webhook`]);
  return await downWith(await accountWith(name, rights), '--take-over', ...services);
}

it('what is refused in one session does not keep the next one from being put back', async () => {
  await takenOver('first', 's1');
  await takenOver('second', 's2');
  const { code, events, log } = await down('half', {
    first: [{ ...ALL, verbs: ['get', 'list'] }],
    second: [ALL],
  });
  expect(code, log).toBe(3);
  expect(events.at(-1)).toMatchObject({ type: 'error', message: expect.stringContaining('cannot patch') });
  expect(await markOf('Service', 'first')).toBe('s1');
  expect(await markOf('Service', 'second')).toBeUndefined();
  expect(await markOf('Deployment', 'second')).toBeUndefined();
});

it('a session of which a part cannot be seen is not said to be put back, and keeps its Lease', async () => {
  await takenOver('first', 's1');
  const blind = ['', 'coordination.k8s.io', 'discovery.k8s.io'].map((group) => ({
    ...ALL,
    apiGroups: [group],
  }));
  const { code, events, log } = await down('blind', { first: blind });
  expect(code, log).toBe(3);
  expect(events.at(-1)).toMatchObject({
    type: 'error',
    code: 'cluster.forbidden',
    message: expect.stringContaining('deployments in first'),
  });
  expect(events.map(({ type }) => type)).not.toContain('session.restored');
  expect(await markOf('Lease', 'first', 'devloop.deployment.webhook')).toBe('s1');
  expect(await markOf('Service', 'first')).toBeUndefined();
});

const asAdmin = (...args: string[]) => downWith(cluster.kubeconfig, '--take-over', ...args);

it("two at once get into nobody's way", async () => {
  await takenOver('first', 's1');
  for (const { code, log } of await Promise.all([asAdmin(), asAdmin(), asAdmin()])) expect(code, log).toBe(0);
  expect(await markOf('Service', 'first')).toBeUndefined();
  expect(await api.get(ref('Service', 'first'))).toMatchObject({ spec: { selector: { app: 'manager' } } });
  expect((await findMarked(api, [])).marked).toEqual([]);
});

it('a namespace on its way out is no failure', async () => {
  await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'leaving' } }]);
  await takenOver('leaving', 's1');
  const finalizers = (list: string[]): Promise<unknown> =>
    api.patch(ref('Service', 'leaving'), 'merge', { metadata: { finalizers: list } });
  await finalizers(['example.com/stays']);
  await api.remove({ kind: 'Namespace', name: 'leaving' });
  await eventually(async () => expect(await markOf('Deployment', 'leaving')).toBeUndefined());
  const { code, log } = await asAdmin();
  expect(code, log).toBe(0);
  expect((await findMarked(api, [])).marked).toEqual([]);
  await finalizers([]);
});

/** Everything that `down` reads or changes, except Leases. The ClusterRole `view` does not contain Leases, either. */
const WITHOUT_LEASES: Rule[] = ['', 'apps', 'discovery.k8s.io', 'admissionregistration.k8s.io'].map(
  (group) => ({
    ...ALL,
    apiGroups: [group],
  }),
);

it('never restores a session of which no Lease can be read: somebody may be using it', async () => {
  await takenOver('first', 's1');
  const before = await api.get<Service>(ref('Service', 'first'));
  const kubeconfig = await account(cluster, 'viewer', WITHOUT_LEASES);
  for (const args of [[], ['--dry-run']]) {
    const { code, events, log } = await downWith(kubeconfig, ...args);
    expect(code, log).toBe(4);
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      code: 'session.held',
      message: expect.stringMatching(/Service first\/webhook .* Lease in first,/),
      hint: expect.stringContaining('--take-over'),
    });
  }
  expect(await api.get(ref('Service', 'first'))).toEqual(before);
  expect(await markOf('Lease', 'first', 'devloop.service.webhook')).toBe('s1');
  const { code, log } = await downWith(kubeconfig, '--take-over');
  expect(code, log).toBe(0);
  expect(await markOf('Service', 'first')).toBeUndefined();
});

it('finds a living session by its Lease in the namespace, where Leases cannot be listed everywhere', async () => {
  await takenOver('first', 's1');
  const seeing = await accountWith('seeing', { first: [ALL] });
  const everywhere = WITHOUT_LEASES.map((rule) => ({ ...rule, verbs: ['get', 'list'] }));
  await cluster.apply(roleFor('seeing', everywhere));
  const lease = ref('Lease', 'first', 'devloop.service.webhook');
  const renewing = setInterval(() => {
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    void api.patch(lease, 'merge', { spec: { renewTime } }).catch(() => {});
  }, 1_000);
  try {
    const { code, events, log } = await downWith(seeing);
    expect(code, log).toBe(4);
    expect(events.at(-1)).toMatchObject({
      code: 'session.held',
      message: expect.stringContaining('ann@desk'),
    });
  } finally {
    clearInterval(renewing);
  }
  expect(await markOf('Service', 'first')).toBe('s1');
});

it('carries out no undo that devloop cannot have written, and leaves such objects as they are', async () => {
  await takenOver('first', 's1');
  const strange = async (kind: Kind, fields: object[]): Promise<KubeObject> => {
    const undo = JSON.stringify({ v: 1, fields });
    const marks = { labels: { [SESSION_LABEL]: 's1' }, annotations: { [UNDO_ANNOTATION]: undo } };
    return await api.patch<KubeObject>(ref(kind, 'first'), 'merge', { metadata: marks });
  };
  const container = ['spec', 'template', 'spec', 'containers'];
  await api.patch(ref('Deployment', 'first'), 'merge', {
    metadata: { labels: { 'devloop.dev/replicas': null } },
  });
  const deployment = await strange('Deployment', [
    { path: container, before: [{ name: 'x', image: 'evil' }] },
  ]);
  const service = await strange('Service', [
    { path: ['spec', 'selector'], before: { app: 'manager' } },
    { path: ['spec', 'type'], before: 'NodePort', after: 'ClusterIP' },
  ]);
  for (const broken of [undefined, [null], [{ path: 'spec.selector' }], [{}]]) {
    if (broken) await strange('Service', broken as object[]);
    const { code, events, log } = await asAdmin();
    expect(code, log).toBe(4);
    expect(log).not.toMatch(/^\s+at .+:\d+:\d+\)?$/m);
    const warnings = events.filter(({ type }) => type === 'warning');
    expect(warnings, log).toMatchObject([
      { code: 'restore.not-handed-over', values: { service: ref('Service', 'first') } },
      { code: 'restore.undo-broken', values: { object: ref('Deployment', 'first') } },
      { code: 'restore.undo-broken', values: { object: ref('Service', 'first') } },
    ]);
    expect(await api.get(ref('Deployment', 'first'))).toMatchObject({
      metadata: { labels: deployment.metadata.labels },
      spec: (deployment as Workload).spec,
    });
    expect(await api.get(ref('Service', 'first'))).toMatchObject({
      metadata: { labels: service.metadata.labels },
      spec: (service as Service).spec,
    });
  }
});

it('restores a selector that kubectl apply has merged with that of the relay', async () => {
  const manifest = (selector: object): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'webhook', namespace: 'first' },
      spec: { selector, ports: [{ port: 443 }] },
    });
  const apply = (selector: object): Promise<unknown> =>
    cluster.kubectl(['apply', '-f', '-'], { input: manifest(selector) });
  const selector = async (): Promise<unknown> =>
    (await api.get<Service>(ref('Service', 'first')))?.spec.selector;
  await takenOver('first', 's1', relayLabels('s1'));
  await apply({ app: 'manager' });
  expect(await selector()).toEqual({ app: 'manager', ...relayLabels('s1') });
  const restored = await asAdmin();
  expect(restored.code, restored.log).toBe(0);
  expect(await selector()).toEqual({ app: 'manager' });
  // An author who renames the label keeps the new one.
  await removeAll('first');
  await takenOver('first', 's1', relayLabels('s1'));
  await apply({ app: 'renamed' });
  const kept = await asAdmin();
  expect(kept.code, kept.log).toBe(4);
  expect(await selector()).toEqual({ app: 'renamed' });
  expect(await markOf('Service', 'first')).toBeUndefined();
});

it('prints in a dry run what each field is now, and what it would be', async () => {
  await takenOver('first', 's1', relayLabels('s1'));
  const { code, events, log } = await asAdmin('--dry-run');
  expect(code, log).toBe(0);
  const restores = events.filter((event) => event.type === 'change' && event.action === 'restore');
  expect(restores).toMatchObject([
    { object: { kind: 'Deployment' }, fields: [{ path: 'spec.replicas', now: 0, after: 0 }] },
    {
      object: { kind: 'Service' },
      fields: [{ path: 'spec.selector', now: relayLabels('s1'), after: { app: 'manager' } }],
    },
  ]);
  expect(await markOf('Service', 'first')).toBe('s1');
});

it('is only about the session that holds what is named, and so is status', async () => {
  await takenOver('first', 's1');
  await takenOver('second', 's2');
  const namespaces = async (...args: string[]): Promise<unknown[]> => {
    const { code, events, log } = await asAdmin('--dry-run', ...args);
    expect(code, log).toBe(0);
    const found = events.flatMap((event) => (event.type === 'change' ? (event.object.namespace ?? []) : []));
    return [...new Set(found)];
  };
  expect(await namespaces('--deployment', 'webhook')).toEqual(['first', 'second']);
  expect(await namespaces('--deployment', 'webhook', '-n', 'first')).toEqual(['first']);
  expect(await namespaces('--service', 'webhook', '-n', 'second')).toEqual(['second']);
  const { events } = await downWith(cluster.kubeconfig, '--deployment', 'webhok');
  const held = expect.arrayContaining([ref('Deployment', 'first')]);
  expect(events.at(-1)).toMatchObject({ code: 'restore.nothing', values: { named: ['webhok'], held } });
  const shown = async (...args: string[]): Promise<unknown> => {
    const env = { KUBECONFIG: cluster.kubeconfig };
    const status = await runDevloop(['status', ...args], { cwd: tmpdir(), env });
    return status.events
      .flatMap((event) => (event.type === 'status' ? event.sessions : []))
      .map((one) => one.session);
  };
  expect(await shown('--deployment', 'webhok')).toEqual([]);
  expect(await shown('--deployment', 'first/webhook')).toEqual(['s1']);
  expect(await shown('--service', 'webhook', '-n', 'second')).toEqual(['s2']);
});

it('says where it looked, and what it could not see, where nothing is taken over, and so does status', async () => {
  const said = async (kubeconfig: string, ...args: string[]): Promise<object[]> => {
    const { code, log, events } = await runDevloop(args, { cwd: tmpdir(), env: { KUBECONFIG: kubeconfig } });
    expect(code, log).toBe(0);
    return events.filter(({ type }) => type !== 'discovered');
  };
  const nothing = (values: object): object[] => [{ type: 'note', code: 'restore.nothing', values }];
  const shown = (searched: object): object[] => [{ type: 'status', sessions: [], searched }];
  const admin = cluster.kubeconfig;
  expect(await said(admin, 'down')).toMatchObject(nothing({ context: cluster.name, incomplete: false }));
  expect(await said(admin, 'status')).toMatchObject(shown({ context: cluster.name }));
  const first = ['-n', 'first'];
  expect(await said(admin, 'down', ...first)).toMatchObject(
    nothing({ namespaces: ['first'], incomplete: false }),
  );
  expect(await said(admin, 'status', ...first)).toMatchObject(shown({ namespaces: ['first'] }));
  const half = await accountWith('half-blind', {
    first: [{ ...ALL, resources: ['services', 'leases'] }],
  });
  const resources = expect.arrayContaining([expect.objectContaining({ resource: 'deployments' })]);
  const warning = { type: 'warning', code: 'search.unseen', values: { resources } };
  expect(await said(half, 'down', ...first)).toMatchObject([
    warning,
    ...nothing({ namespaces: ['first'], incomplete: true }),
  ]);
  expect(await said(half, 'status', ...first)).toMatchObject([
    warning,
    ...shown({ namespaces: ['first'], incomplete: true }),
  ]);
});
