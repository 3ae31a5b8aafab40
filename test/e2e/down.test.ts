/** `devloop down` by an account that may do only half of what is to be done. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import type { Kind, ObjectRef } from '../../src/cluster/api/kinds.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { Deployment, KubeObject, Service } from '../../src/cluster/api/objects.ts';
import { sessionOf } from '../../src/cluster/marks/marks.ts';
import { findMarked } from '../../src/cluster/takeover/find-marked.ts';
import { holdLease } from '../../src/cluster/takeover/lease.ts';
import { byReplicas } from '../../src/cluster/takeover/pause/deployment.ts';
import { swapSelector } from '../../src/cluster/takeover/service.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { account, type Rule } from '../support/account.ts';
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

beforeEach(async () => {
  await cluster.kubectl(['delete', 'namespace', 'first', 'second', '--ignore-not-found']);
});

const ref = (kind: Kind, namespace: string, name = 'webhook'): ObjectRef => ({ kind, namespace, name });

/** A namespace whose operator a session of another machine took over before it died. */
async function takenOver(namespace: string, session: string): Promise<void> {
  await api.create({ kind: 'Namespace', name: namespace }, { metadata: { name: namespace } });
  const labels = { app: 'manager' };
  const service = await api.create<Service>(ref('Service', namespace), {
    metadata: { name: 'webhook' },
    spec: { selector: labels, ports: [{ port: 443 }] },
  });
  const template = { metadata: { labels }, spec: { containers: [{ name: 'manager', image: 'none' }] } };
  const deployment = await api.create<Deployment>(ref('Deployment', namespace), {
    metadata: { name: 'webhook' },
    // Nothing runs Pods here, so none is waited for.
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
    health: '',
  };
  const work = { api, sessionId: session, emit, signal: new AbortController().signal };
  for (const kind of ['Service', 'Deployment'] as const) {
    const lease = await holdLease(ref(kind, namespace)).apply(work, holder);
    await lease?.[Symbol.asyncDispose]();
  }
  await byReplicas.pause(deployment).apply(work);
  await swapSelector(work, service, undefined);
}

async function markOf(kind: Kind, namespace: string, name?: string): Promise<string | undefined> {
  const object = await api.get<KubeObject>(ref(kind, namespace, name));
  return object && sessionOf(object);
}

/** By an account with these rights in the namespaces, and no other. */
async function down(name: string, rights: Record<string, Rule[]>) {
  const KUBECONFIG = await account(cluster, name, []);
  for (const [namespace, rules] of Object.entries(rights)) {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name, namespace },
      rules,
    };
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(role) });
    await cluster.kubectl([
      '-n',
      namespace,
      'create',
      'rolebinding',
      name,
      `--role=${name}`,
      `--user=${name}`,
    ]);
  }
  const services = Object.keys(rights).flatMap((namespace) => ['--service', `${namespace}/webhook`]);
  return await runDevloop(['down', '--take-over', ...services], { cwd: tmpdir(), env: { KUBECONFIG } });
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
    message: expect.stringContaining('Deployment in first'),
  });
  expect(events.map(({ type }) => type)).not.toContain('session.restored');
  expect(await markOf('Lease', 'first', 'devloop.deployment.webhook')).toBe('s1');
  expect(await markOf('Service', 'first')).toBeUndefined();
});

const asAdmin = () =>
  runDevloop(['down', '--take-over'], { cwd: tmpdir(), env: { KUBECONFIG: cluster.kubeconfig } });

it("two at once get into nobody's way", async () => {
  await takenOver('first', 's1');
  for (const { code, log } of await Promise.all([asAdmin(), asAdmin(), asAdmin()])) expect(code, log).toBe(0);
  expect(await markOf('Service', 'first')).toBeUndefined();
  expect(await api.get(ref('Service', 'first'))).toMatchObject({ spec: { selector: { app: 'manager' } } });
  expect((await findMarked(api, [])).marked).toEqual([]);
});

it('a namespace on its way out is no failure', async () => {
  await takenOver('first', 's1');
  const finalizers = (list: string[]): Promise<unknown> =>
    api.patch(ref('Service', 'first'), 'merge', { metadata: { finalizers: list } });
  await finalizers(['example.com/stays']);
  await cluster.kubectl(['delete', 'namespace', 'first', '--wait=false']);
  await eventually(async () => expect(await markOf('Deployment', 'first')).toBeUndefined());
  const { code, log } = await asAdmin();
  expect(code, log).toBe(0);
  expect((await findMarked(api, [])).marked).toEqual([]);
  await finalizers([]);
});
