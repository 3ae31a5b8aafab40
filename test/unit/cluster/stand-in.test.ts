import { beforeEach, expect, it, test } from 'vitest';
import type { DisruptionBudget, LabelSelector, Lease, Service } from '../../../src/cluster/api/objects.ts';
import type { Pod, Workload } from '../../../src/cluster/api/workloads.ts';
import { NO_SIDECAR, SESSION_LABEL, STAND_IN } from '../../../src/cluster/names.ts';
import { findMarked } from '../../../src/cluster/takeover/find-marked.ts';
import { podsOf } from '../../../src/cluster/takeover/pause/pods.ts';
import { pointToAddress } from '../../../src/cluster/takeover/service.ts';
import { createStandIn, type PodReader } from '../../../src/cluster/takeover/stand-in.ts';
import { unselectedLabels } from '../../../src/cluster/takeover/stand-in-pod.ts';
import type { DevloopEvent } from '../../../src/report/events.ts';
import { restore } from '../../../src/session/end/restore.ts';
import { permittedStandIn, planStandIn, podNameFor } from '../../../src/session/start/stand-in.ts';
import { eventually } from '../../support/eventually.ts';
import { type FakeCluster, fakeCluster, refusal } from '../../support/fake-cluster.ts';
import { partly } from '../../support/partly.ts';

const NAME = 'manager-devloop-s1';
const LABELS = { 'control-plane': 'manager', 'app.kubernetes.io/name': 'shop', version: 'v1' };
const SELECTED = { 'control-plane': 'manager', 'app.kubernetes.io/name': 'shop' };

let cluster: FakeCluster;
let events: DevloopEvent[];

const work = () => ({
  api: cluster.api,
  sessionId: 's1',
  emit: (event: DevloopEvent) => void events.push(event),
  signal: new AbortController().signal,
});
const standIn = (): Pod | undefined => cluster.read<Pod>('Pod', NAME, 'shop');
const warnings = () => events.filter(({ type }) => type === 'warning');

function reader(kind: 'Deployment' | 'StatefulSet' | 'Pod' = 'Deployment'): PodReader & { source: string } {
  const container = {
    name: 'manager',
    image: 'registry.example.com/manager:v1',
    env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    resources: { requests: { cpu: '100m' }, limits: { cpu: '1' } },
  };
  const spec = {
    containers: [container],
    serviceAccountName: 'manager',
    hostNetwork: true,
    volumes: [{ name: 'host', hostPath: { path: '/' } }],
  };
  const object = partly<Workload>({
    metadata: { name: 'manager', namespace: 'shop', uid: 'd1' },
    spec: { selector: { matchLabels: SELECTED }, template: { metadata: { labels: LABELS }, spec } },
  });
  return { ref: { kind, namespace: 'shop', name: 'manager' }, object, container, source: '' };
}

beforeEach(() => {
  cluster = fakeCluster();
  events = [];
  const labels = { ...LABELS, 'pod-template-hash': '66d9' };
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'manager-66d9',
    uid: 'r1',
    controller: true,
  };
  const metadata = { name: 'manager-66d9-x', namespace: 'shop', labels, ownerReferences: [owner] };
  cluster.put<Pod>('Pod', { metadata });
});

it('has what programs read of their Pod, and nothing that could run or break the rules of its namespace', async () => {
  await (await createStandIn(reader()).apply(work()))[Symbol.asyncDispose]();
  const { metadata, spec } = standIn()!;
  expect(metadata.labels).toMatchObject({
    version: 'v1',
    'app.kubernetes.io/name': 'shop',
    [SESSION_LABEL]: 's1',
  });
  expect(metadata.labels).not.toHaveProperty('control-plane');
  expect(metadata.ownerReferences).toEqual([
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'manager-66d9', uid: 'r1' },
    { apiVersion: 'apps/v1', kind: 'Deployment', name: 'manager', uid: 'd1', controller: true },
  ]);
  expect(spec).toMatchObject({
    schedulingGates: [{}],
    // Kubernetes before 1.27 does not know the gate, and anybody can remove it. Even then, no second manager would start.
    nodeSelector: { [STAND_IN]: 'never' },
    serviceAccountName: 'manager',
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'manager',
        image: 'registry.example.com/manager:v1',
        command: ['/devloop-stand-in'],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  });
  expect(metadata.labels).toMatchObject(NO_SIDECAR.labels);
  expect(metadata.annotations).toMatchObject(NO_SIDECAR.annotations);
  expect(spec).not.toHaveProperty('hostNetwork');
  expect(spec).not.toHaveProperty('volumes');
  expect(await podsOf(cluster.api, reader())).toMatchObject([{ metadata: { name: 'manager-66d9-x' } }]);
});

it('is of no Service and no PodDisruptionBudget, also where a session has removed the selector', async () => {
  const named = (name: string) => ({ name, namespace: 'shop' });
  const one = reader();
  one.object.spec.template.metadata = { labels: { ...LABELS, tier: 'web', release: 'stable', team: 'a' } };
  const selector = { matchLabels: { release: 'stable' } };
  cluster.put<DisruptionBudget>('PodDisruptionBudget', { metadata: named('one'), spec: { selector } });
  cluster.put<Service>('Service', { metadata: named('metrics'), spec: { selector: { tier: 'web' } } });
  const hook = cluster.put<Service>('Service', {
    metadata: named('hook'),
    spec: { selector: { version: 'v1' } },
  });
  await pointToAddress(hook, '').apply(work(), () => ({ address: '10.0.0.9', ports: [] }));
  await (await createStandIn(one).apply(work()))[Symbol.asyncDispose]();
  expect(standIn()?.metadata.labels).toEqual({
    'app.kubernetes.io/name': 'shop',
    team: 'a',
    ...NO_SIDECAR.labels,
    [SESSION_LABEL]: 's1',
  });
});

it('is deleted with the session, and a Secret of no relay is looked for', async () => {
  await (await createStandIn(reader()).apply(work()))[Symbol.asyncDispose]();
  cluster.calls.length = 0;
  expect(await restore(work(), ['shop'], { managerReadySeconds: 0 })).toMatchObject({ changes: 1 });
  expect(cluster.names('Pod')).toEqual(['manager-66d9-x']);
  expect(cluster.calls.filter((call) => call.startsWith('remove'))).toEqual([`remove Pod shop/${NAME}`]);
});

it('is deleted by an account that is not allowed to list Pods', async () => {
  await (await createStandIn(reader()).apply(work()))[Symbol.asyncDispose]();
  const metadata = { name: 'devloop.deployment.manager', namespace: 'shop' };
  cluster.put<Lease>('Lease', { metadata: { ...metadata, labels: { [SESSION_LABEL]: 's1' } }, spec: {} });
  cluster.hook.before = (verb, what) => {
    if (verb === 'list' && what.startsWith('Pod')) throw refusal(403, 'Forbidden');
  };
  await restore(work(), ['shop'], { managerReadySeconds: 0 });
  expect(cluster.names('Pod')).toEqual(['manager-66d9-x']);
});

it('is created with what its container has where the least is too little', async () => {
  let tries = 0;
  cluster.hook.before = (verb) => {
    if (verb === 'create' && ++tries === 1)
      throw refusal(403, 'Forbidden', 'minimum cpu usage per Container is 50m');
  };
  await (await createStandIn(reader()).apply(work()))[Symbol.asyncDispose]();
  expect(standIn()?.spec?.containers?.[0]?.resources).toEqual({
    requests: { cpu: '100m' },
    limits: { cpu: '1' },
  });
  expect(warnings()).toEqual([]);
});

it.each([
  [403, 'Forbidden', 'exceeded quota: compute'],
  [403, 'Forbidden', 'violates PodSecurity'],
  [500, 'InternalError', 'failed calling webhook "pods.example.com"'],
])('where it is refused with %s %s, there is one warning with the cause', async (status, reason, message) => {
  cluster.hook.before = (verb) => {
    if (verb === 'create') throw refusal(status, reason, message);
  };
  await (await createStandIn(reader()).apply(work()))[Symbol.asyncDispose]();
  const values = { pod: { name: NAME }, cause: expect.stringMatching(message) };
  expect(warnings()).toMatchObject([{ code: 'stand-in.missing', values }]);
  expect((await findMarked(cluster.api, ['shop'])).marked).toEqual([]);
});

it.each(['create', 'delete'])(
  'an account that may not %s it goes without, and is warned before anything is changed',
  async (verb) => {
    const answer = (body: unknown): unknown => {
      const { spec } = body as { spec: { resourceAttributes: { verb: string; resource: string } } };
      const asked = spec.resourceAttributes;
      return { status: { allowed: asked.resource !== 'pods' || asked.verb !== verb } };
    };
    const { api, calls } = fakeCluster((_method, _path, body) => answer(body));
    const emit = (event: DevloopEvent) => void events.push(event);
    expect(await permittedStandIn(api, [createStandIn(reader())], emit)).toEqual([]);
    expect(warnings()).toMatchObject([
      { code: 'stand-in.missing', values: { lacking: { verbs: [verb], resource: 'pods' } } },
    ]);
    expect(calls.filter((call) => !call.startsWith('call'))).toEqual([]);
  },
);

it('is created again when somebody deletes it, and not after the session has ended', async () => {
  const found: string[] = [];
  cluster.api.openStream = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    throw refusal(410, 'Gone');
  };
  cluster.api.call = async (_method, path) => {
    found.push(path);
    const pod = standIn();
    return { items: pod ? [pod] : [], metadata: { resourceVersion: '1' } } as never;
  };
  const kept = await createStandIn(reader()).apply(work());
  cluster.drop('Pod', NAME, 'shop');
  const [first] = [kept.uid()];
  await eventually(async () => expect(standIn()).toBeDefined());
  expect(first).toBeDefined();
  await eventually(async () => expect(kept.uid()).toBe(standIn()?.metadata.uid));
  expect(kept.uid()).not.toBe(first);
  await kept[Symbol.asyncDispose]();
  cluster.drop('Pod', NAME, 'shop');
  const looks = found.length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([found.length, standIn()]).toEqual([looks, undefined]);
});

it('is created once, and reported once, where it is missed twice before it is there again', async () => {
  cluster.api.openStream = async () => {
    throw refusal(410, 'Gone');
  };
  let misses = 0;
  cluster.api.call = async () => {
    const pod = standIn();
    if (pod === undefined) misses++;
    return { items: pod ? [pod] : [], metadata: { resourceVersion: '1' } } as never;
  };
  const kept = await createStandIn(reader()).apply(work());
  cluster.hook.before = async (verb, what) => {
    if (verb === 'create' && what.startsWith('Pod'))
      await eventually(async () => expect(misses).toBeGreaterThan(1));
  };
  const created = (): number => events.filter(({ type }) => type === 'change').length;
  const before = created();
  cluster.drop('Pod', NAME, 'shop');
  await eventually(async () => expect(standIn()).toBeDefined());
  const tries = (): string[] => cluster.calls.filter((one) => one === `create Pod shop/${NAME}`);
  await eventually(async () => expect(tries().length).toBeGreaterThan(2));
  await kept[Symbol.asyncDispose]();
  expect(created() - before).toBe(1);
});

const matching = (...all: Record<string, string>[]): LabelSelector[] =>
  all.map((matchLabels) => ({ matchLabels }));

test.each<[string, LabelSelector[], string[]]>([
  ['nothing selects them', [], []],
  ['an empty selector selects every Pod', [{}], []],
  ['another Pod is selected', matching({ version: 'v2' }), []],
  ['one selector needs two: not the recommended one', matching(SELECTED), ['control-plane']],
  [
    'two selectors share one',
    matching(SELECTED, { 'app.kubernetes.io/name': 'shop' }),
    ['app.kubernetes.io/name'],
  ],
  [
    'two selectors share none',
    matching({ version: 'v1' }, { 'control-plane': 'manager' }),
    ['version', 'control-plane'],
  ],
  [
    'one selects by an expression',
    [{ matchExpressions: [{ key: 'version', operator: 'Exists' }] }],
    ['version'],
  ],
  ['one selects what lacks a label', [{ matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }], []],
])('labels that go where %s', (_, selectors, gone) => {
  const left = unselectedLabels(LABELS, selectors);
  expect(
    Object.keys(LABELS)
      .filter((key) => !(key in left))
      .sort(),
  ).toEqual(gone.sort());
});

test('a manager that learns the name or the uid of its Pod gets a stand-in, by a variable or a file', () => {
  expect(planStandIn({ manager: reader() })).toHaveLength(1);
  const { container, ...rest } = reader();
  expect(planStandIn({ manager: { ...rest, container: { name: 'manager' } } })).toEqual([]);
  const env = [{ name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }];
  expect(planStandIn({ manager: { ...rest, container: { ...container, env } } })).toHaveLength(1);
  const items = [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }];
  rest.object.spec.template.spec.volumes = [
    { name: 'info', projected: { sources: [{ downwardAPI: { items } }] } },
  ];
  const volumeMounts = [{ name: 'info', mountPath: '/info' }];
  expect(
    planStandIn({ manager: { ...rest, container: { ...container, env: [], volumeMounts } } }),
  ).toHaveLength(1);
});

test('the name of the Pod has an ordinal in a StatefulSet, and is that of the Pod itself where nothing owns it', () => {
  expect(podNameFor({ manager: reader() }, 's1')).toBe(NAME);
  expect(podNameFor({ manager: reader('StatefulSet') }, 's1')).toBe(`${NAME}-0`);
  expect(podNameFor({ manager: reader('Pod') }, 's1')).toBe('manager');
  expect(planStandIn({ manager: reader('Pod') })).toEqual([]);
  const long = reader();
  long.ref.name = 'a'.repeat(80);
  expect(podNameFor({ manager: long }, '1a2b3c4d')).toHaveLength(63);
});
