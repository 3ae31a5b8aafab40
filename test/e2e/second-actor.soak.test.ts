/** Two sessions that take over the same operator at the same instant, and others who write to what a session has changed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type ClusterApi, connect } from '../../src/cluster/api/client.ts';
import type { Kind, ObjectRef } from '../../src/cluster/api/kinds.ts';
import { loadKubeconfig } from '../../src/cluster/api/kubeconfig.ts';
import type { Json, KubeObject, ManagedFields, Service } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import { applyChange, restoreChange } from '../../src/cluster/marks/change.ts';
import {
  type FieldChange,
  markedPatch,
  type OwnChange,
  same,
  sessionOf,
} from '../../src/cluster/marks/marks.ts';
import { changesAfter, observe } from '../../src/cluster/marks/observe.ts';
import { valueAt } from '../../src/cluster/marks/paths.ts';
import { SELECTOR } from '../../src/cluster/marks/selector.ts';
import { undoOf } from '../../src/cluster/marks/undo.ts';
import { relayLabels } from '../../src/cluster/names.ts';
import { daemonSetPause } from '../../src/cluster/takeover/pause/daemon-set.ts';
import { ownChangeOf } from '../../src/cluster/takeover/restore-steps.ts';
import { giveTime, restoreWebhooks } from '../../src/cluster/takeover/webhook-time.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { type HollowOperator, sharedHollowOperator } from '../support/hollow-operator.ts';
import { HOOK_NAMESPACE, hooksAtRest } from '../support/hook-operator.ts';
import { repeat } from '../support/repeat.ts';
import { createNetwork } from '../support/sshd/network.ts';

const NAMESPACE = 'actors';

let operator: HollowOperator;
let api: ClusterApi;

beforeAll(async () => {
  operator = await sharedHollowOperator();
  api = await connect(await loadKubeconfig({ kubeconfig: operator.cluster.kubeconfig }, {}, '/'));
  await operator.cluster.kubectl(['create', 'namespace', NAMESPACE]);
});

afterAll(() => api?.[Symbol.asyncDispose]());

it('two devloop up at the same instant: exactly one wins, and the other one changes nothing', async () => {
  const KUBECONFIG = operator.cluster.kubeconfig;
  // As if from another machine: neither the controller's port nor its files are in use there, so only the Leases decide.
  await using network = await createNetwork();
  const elsewhere = await mkdtemp(join(tmpdir(), 'devloop-elsewhere-'));
  onTestFinished(() => rm(elsewhere, { recursive: true }));
  const there = operator.up.map((word) => (word === operator.cluster.hostIp ? network.address : word));
  const start = (): [DevloopRun, DevloopRun] => [
    startDevloop(operator.up, { cwd: operator.directory, env: { KUBECONFIG } }),
    startDevloop(there, {
      cwd: operator.directory,
      env: { KUBECONFIG, TMPDIR: elsewhere, XDG_STATE_HOME: elsewhere },
      through: network.enter,
    }),
  ];
  await repeat('two devloop up at the same instant', { soak: 100 }, async () => {
    const [first, second] = start();
    await using ending = new AsyncDisposableStack();
    for (const one of [first, second]) ending.use(one);
    const ready = [first, second].map(async (one) => {
      await one.waitFor('session.ready');
      return one;
    });
    const winner = await Promise.any(ready);
    const loser = winner === first ? second : first;
    await Promise.allSettled(ready);
    await loser.exited;
    expect(loser.events.at(-1), loser.log()).toMatchObject({ type: 'error', code: 'session.held' });
    const changed = loser.events.filter((event) => event.type === 'change' && !event.temporary);
    expect(changed, loser.log()).toEqual([]);
    winner.signal('SIGINT');
    expect(await winner.exited, winner.log()).toBe(130);
    await operator.expectRestored();
  });
});

/** Who owns which fields, and since when; without the controllers that write the status. */
async function managersOf(ref: ObjectRef): Promise<ManagedFields[]> {
  const { metadata } = (await api.get<KubeObject>(ref))!;
  return (metadata.managedFields ?? []).filter(({ subresource }) => subresource !== 'status');
}

const hooks = (kind: Kind, name: string): ObjectRef => ({ kind, namespace: HOOK_NAMESPACE, name });
const TAKEN = [hooks('Service', 'first'), hooks('Service', 'second'), hooks('Deployment', 'hooks')];

it('after Ctrl-C and after down, fields have the managers of before, and a server-side apply of other values has no conflict', async () => {
  const { cluster, directory, up } = operator;
  const env = { KUBECONFIG: cluster.kubeconfig };
  const before = await Promise.all(TAKEN.map(managersOf));
  expect(JSON.stringify(before)).not.toContain('devloop');
  expect(JSON.stringify(before[2])).toContain('f:replicas');
  const expectOwners = async (): Promise<void> => {
    expect(await Promise.all(TAKEN.map(managersOf))).toEqual(before);
    for (const kind of ['Endpoints', 'EndpointSlice'] as const)
      expect(JSON.stringify(await api.list(kind, HOOK_NAMESPACE))).not.toContain('devloop');
  };
  for (const end of ['SIGINT', 'SIGKILL'] as const) {
    await using run = startDevloop(up, { cwd: directory, env });
    await run.waitFor('session.ready');
    run.signal(end);
    expect(await run.exited, run.log()).toBe(end === 'SIGINT' ? 130 : 137);
    const down = end === 'SIGKILL' && (await runDevloop(['down'], { cwd: tmpdir(), env }));
    if (down) expect(down.code, down.log).toBe(0);
    await operator.expectRestored();
    await expectOwners();
  }
  const [service, , deployment] = await Promise.all(TAKEN.map((ref) => api.get<KubeObject>(ref)));
  const apply = async (object: KubeObject, manager: string, spec: object): Promise<string> => {
    const { apiVersion, kind, metadata } = object;
    const { name, namespace } = metadata;
    const input = JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, spec });
    return await cluster.kubectl(['apply', '--server-side', '--field-manager', manager, '-f', '-'], {
      input,
    });
  };
  await apply(service!, 'kubectl', { selector: { app: 'other' }, ports: (service as Service).spec.ports });
  // The replicas have their owner again, who protects them from others, as before.
  await expect(apply(deployment!, 'kubectl-scaler', { replicas: 3 })).rejects.toThrow(
    /conflict with "kubectl"/,
  );
  await api.patch(TAKEN[0]!, 'merge', { spec: { selector: { app: 'hooks' } } });
  await hooksAtRest(cluster);
  await operator.expectRestored();
});

it('the fields of webhooks have their managers again, and so has a node selector that devloop added to', async () => {
  const work = { api, sessionId: 's1', emit: () => {}, signal: new AbortController().signal };
  const configuration = { kind: 'ValidatingWebhookConfiguration', name: 'owned' } as const;
  const named = (name: string) => ({
    ...{ name: `${name}.example.com`, admissionReviewVersions: ['v1'], sideEffects: 'None' },
    ...{ failurePolicy: 'Fail', timeoutSeconds: 5, clientConfig: { url: 'https://example.com/x' } },
  });
  const daemon = { kind: 'DaemonSet', namespace: NAMESPACE, name: 'owned' } as const;
  const template = { ...pods, spec: { ...pods.spec, nodeSelector: { 'kubernetes.io/os': 'linux' } } };
  await operator.cluster.apply([
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: configuration.kind,
      metadata: { name: configuration.name },
      webhooks: [named('a'), named('b')],
    },
    {
      apiVersion: 'apps/v1',
      kind: daemon.kind,
      metadata: { name: daemon.name, namespace: NAMESPACE },
      spec: { selector: { matchLabels: labels }, template },
    },
  ]);
  const [webhooks, selected] = [await managersOf(configuration), await managersOf(daemon)];
  const all = ['a', 'b'].map((name) => ({
    name: `${name}.example.com`,
    timeoutSeconds: 5,
    failurePolicy: 'Fail',
  }));
  await giveTime(configuration, all, { ignore: true })!.apply(work);
  expect(JSON.stringify(await managersOf(configuration))).toContain('devloop');
  expect(await restoreWebhooks(work, configuration)).toEqual([]);
  expect(await managersOf(configuration)).toEqual(webhooks);
  await api.remove(configuration);
  const object = (await api.get<Workload>(daemon))!;
  await daemonSetPause.pause({ ref: daemon, object }).apply(work);
  expect(await daemonSetPause.restore(work, daemon)).toEqual([]);
  expect(JSON.stringify(selected)).toContain('f:nodeSelector');
  expect(await managersOf(daemon)).toEqual(selected);
});

/**
 * One field of one kind, and how everybody writes it. Each command of the others is also run on a second object, which devloop never sees.
 */
interface Field {
  own: OwnChange;
  ref(name: string): ObjectRef;
  manifest(name: string, value: Json): object;
  /** What sessions write. */
  taken(session: string): Json[];
  /** What others write, in manifests or directly in the object. */
  theirs: fc.Arbitrary<Json>;
}

const labels = { app: 'none' };
const pods = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }] } };
const FIELDS: Field[] = [
  {
    own: SELECTOR,
    ref: (name) => ({ kind: 'Service', namespace: NAMESPACE, name }),
    manifest: (name, selector) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: NAMESPACE },
      spec: { selector, ports: [{ port: 443 }] },
    }),
    taken: (session) => [null, relayLabels(session)],
    theirs: fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('x', 'y'), {
      minKeys: 1,
      noNullPrototype: true,
    }),
  },
  {
    own: ownChangeOf('Deployment')!,
    ref: (name) => ({ kind: 'Deployment', namespace: NAMESPACE, name }),
    manifest: (name, replicas) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: NAMESPACE },
      spec: { replicas, selector: { matchLabels: labels }, template: pods },
    }),
    taken: () => [0],
    theirs: fc.integer({ min: 1, max: 3 }),
  },
];

type Command =
  | { by: 'devloop'; act: 'up' | 'guard' | 'kill'; session: string; way: number }
  | { by: 'devloop'; act: 'down' }
  | { by: 'others'; act: 'apply' | 'replace' | 'patch'; value: Json };

const commandsOn = (field: Field): fc.Arbitrary<Command[]> => {
  const session = fc.constantFrom('s1', 's2');
  const ours = fc.constantFrom('up' as const, 'up' as const, 'guard' as const, 'kill' as const);
  const foreign = fc.constantFrom('apply' as const, 'apply' as const, 'replace' as const, 'patch' as const);
  const one: fc.Arbitrary<Command> = fc.oneof(
    fc.record({ by: fc.constant('devloop' as const), act: ours, session, way: fc.nat(1) }),
    fc.constant({ by: 'devloop' as const, act: 'down' as const }),
    fc.record({ by: fc.constant('others' as const), act: foreign, value: field.theirs }),
  );
  return fc.array(one, { minLength: 3, maxLength: 7 });
};

it('others write to what a session has changed: in the end it is as they want it, or devloop says what is not', async () => {
  const seed = Number(process.env.DEVLOOP_SEED ?? Date.now() % 1e9);
  const sequences = FIELDS.map((field) => fc.sample(commandsOn(field), { seed, numRuns: 40 }));
  await repeat('sequences with a second actor on a control plane', { soak: 80, quick: 2 }, async (index) => {
    const which = index % FIELDS.length;
    const commands = sequences[which]![Math.floor(index / FIELDS.length)]!;
    await play(FIELDS[which]!, commands).catch((cause: Error) => {
      throw new Error(`seed ${seed}: ${JSON.stringify(commands)}\n${cause.message}`, { cause });
    });
  });
});

async function play(field: Field, commands: Command[]): Promise<void> {
  const { own, ref } = field;
  const { path } = own.fields[0]!;
  const live = ref('hook');
  const alive = new Map<string, FieldChange[]>();
  let reported = false;
  const work = (sessionId: string) => ({
    api,
    sessionId,
    emit: () => {},
    signal: new AbortController().signal,
  });
  const read = async (of: ObjectRef): Promise<KubeObject> => (await api.get<KubeObject>(of))!;
  const kubectl = (args: string[], input = ''): Promise<string> => operator.cluster.kubectl(args, { input });

  async function others(act: 'apply' | 'replace' | 'patch', value: Json): Promise<void> {
    for (const name of ['hook', 'shadow']) {
      const patch = JSON.stringify([{ op: 'add', path: `/${path.join('/')}`, value }]);
      if (act !== 'patch') await kubectl([act, '-f', '-'], JSON.stringify(field.manifest(name, value)));
      else await kubectl(['-n', NAMESPACE, act, ref(name).kind, name, '--type', 'json', '-p', patch]);
    }
  }

  async function up(session: string, way: number): Promise<void> {
    if (sessionOf(await read(live)) !== undefined) return;
    const values = field.taken(session);
    const value = values[way % values.length]!;
    const fields = [value === null ? { path } : { path, value }];
    await applyChange(work(session), { ref: live, fields, detail: '', store: own.store });
    const undo = undoOf(await read(live), own);
    if ('fault' in undo) throw new Error(undo.fault);
    alive.set(session, undo);
  }

  async function guard(session: string): Promise<void> {
    const changes = alive.get(session);
    if (changes === undefined) return;
    const object = await read(live);
    const observed = observe(object, changes);
    if ((observed.session ?? session) !== session) return;
    if (observed.session === session && observed.differing.length === 0) return;
    for (const { theirs, now, by } of observed.differing) {
      expect(by?.manager).toMatch(now === undefined ? /^undefined$/ : /^kubectl/);
      const wanted = valueAt(await read(ref('shadow')), path);
      reported ||= !same(theirs, undefined) && !same(theirs, wanted);
    }
    const next = changesAfter(changes, observed);
    alive.set(session, next);
    await api.patch(live, 'json', markedPatch(object, session, next, own.store));
  }

  async function down(): Promise<void> {
    const session = sessionOf(await read(live));
    if (session === undefined) return;
    const kept = await restoreChange(work(session), live, own);
    reported ||= kept.length > 0;
    alive.delete(session);
  }

  await kubectl(['-n', NAMESPACE, 'delete', live.kind, 'hook', 'shadow', '--ignore-not-found']);
  await others('apply', fc.sample(field.theirs, 1)[0]!);
  for (const command of commands) {
    if (command.by === 'others') await others(command.act, command.value);
    else if (command.act === 'down') await down();
    else if (command.act === 'kill') alive.delete(command.session);
    else await (command.act === 'up' ? up(command.session, command.way) : guard(command.session));
  }
  for (const session of alive.keys()) await guard(session);
  await down();
  const end = await read(live);
  expect(JSON.stringify(end.metadata.labels ?? {}) + JSON.stringify(valueAt(end, path))).not.toContain(
    'devloop',
  );
  expect(end.metadata.annotations ?? {}).not.toHaveProperty(['devloop.dev/undo']);
  if (!reported) expect(valueAt(end, path)).toEqual(valueAt(await read(ref('shadow')), path));
}
