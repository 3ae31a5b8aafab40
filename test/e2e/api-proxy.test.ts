/** What the controller asks of the API server passes devloop's API proxy, and what it writes only while the session's Lease is its own. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/errors.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { editMain } from '../support/electing-operator.ts';
import { eventually } from '../support/eventually.ts';
import {
  application,
  type Checkout,
  checkoutSample,
  DEPLOYMENT,
  NAMESPACE,
} from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

const LEFT_BEHIND = join(import.meta.dirname, '../fixtures/e2e/left-behind.mjs');
/** Longer than the session's Lease holds without a renewal. */
const ASLEEP_MS = 17_000;
const BUILT_MS = 240_000;

let cluster: TestCluster;
let checkout: Checkout;
let before: Awaited<ReturnType<typeof snapshot>>;

beforeAll(async () => {
  [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  before = await snapshot(cluster, NAMESPACE);
});

afterAll(() => checkout?.[Symbol.asyncDispose]());

async function ready(...flags: string[]): Promise<{ up: DevloopRun; kubeconfig: string }> {
  // With client-go's streaming lists, each object passes as an event, which devloop reads.
  const env = { KUBECONFIG: cluster.kubeconfig, KUBE_FEATURE_WatchListClient: 'false' };
  const up = startDevloop(['up', ...flags], { cwd: checkout.directory, env });
  await up.waitFor('session.ready', undefined, BUILT_MS);
  const { pid } = up.events.find((event) => event.type === 'controller.started')!;
  const variables = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  return {
    up,
    kubeconfig: variables.find((one) => one.startsWith('KUBECONFIG='))!.slice('KUBECONFIG='.length),
  };
}

const replicas = async (name: string): Promise<string> =>
  await cluster.kubectl(['get', 'deployment', name, '-o', 'jsonpath={.spec.replicas}']);

async function ended(up: DevloopRun): Promise<void> {
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
}

it('the controller works through the proxy, and each reconcile says what it did, and after what', async () => {
  // The webhook of a fresh cluster is reached only after a moment.
  await eventually(() =>
    cluster.kubectl(['apply', '-f', '-'], { input: application('earlier', 'example.com/shop:1') }),
  );
  await eventually(async () => expect(await replicas('earlier')).toBe('1'));
  const { up, kubeconfig } = await ready();
  await using _ = up;
  // The controller has listed this Deployment as protobuf, which devloop does not read.
  await cluster.kubectl(['apply', '-f', '-'], { input: application('earlier', 'example.com/shop:2') });
  const updated = await up.waitFor('reconcile', ({ name, calls }) =>
    calls.some(({ kind, code }) => name === 'earlier' && kind === 'Deployment' && code === 200),
  );
  expect(updated.calls.find(({ kind }) => kind === 'Deployment')).toMatchObject({
    changes: [expect.stringMatching(/^~spec\.template\.spec\.containers\S*image=example\.com\/shop:2$/)],
  });
  await cluster.kubectl(['delete', 'application', 'earlier', '--wait']);
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  expect(config.clusters).toMatchObject([
    { cluster: { server: expect.stringMatching(/^https:\/\/localhost:/) } },
  ]);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('proxied', 'example.com/shop:1') });
  await eventually(async () => expect(await replicas('proxied')).toBe('1'));
  const created = await up.waitFor('reconcile', ({ calls }) => calls.some(({ verb }) => verb === 'create'));
  expect(created).toMatchObject({
    ...{ controller: 'application', kind: 'Application', name: 'proxied', namespace: 'default' },
    calls: expect.arrayContaining([
      expect.objectContaining({ verb: 'create', kind: 'Deployment', name: 'proxied', code: 201 }),
    ]),
  });
  // Somebody else changes what the controller owns, and it puts that back.
  await cluster.kubectl(['scale', 'deployment', 'proxied', '--replicas=3']);
  const restored = await up.waitFor('reconcile', ({ calls }) =>
    calls.some(({ changes = [] }) => changes.includes('~spec.replicas=1')),
  );
  // An attempt before that one may have met a conflict.
  const causes = up.events.flatMap((event) => (event.type === 'reconcile' ? event.after : []));
  expect(causes).toContainEqual(
    expect.objectContaining({
      ...{ kind: 'Deployment', by: 'kubectl' },
      changes: expect.arrayContaining(['~spec.replicas=3']),
    }),
  );
  const here = { cwd: checkout.directory, env: {} };
  const { events: shown } = await runDevloop(['reconciles', restored.id], here);
  expect(shown).toMatchObject([
    { type: 'reconciles.listed', reconcile: { id: restored.id }, log: expect.any(Array) },
  ]);
  // The finalizer and the status that it writes are reviewed, too.
  const { events: listed } = await runDevloop(['calls', '--writes', '--kind', 'Application'], here);
  const linked = listed.find((event) => event.type === 'calls.listed' && event.call.reviews !== undefined);
  const { call } = linked as Extract<typeof linked, { type: 'calls.listed' }>;
  const { events: caused } = await runDevloop(['calls', call.id], here);
  expect(caused).toMatchObject([
    {
      call: { verb: expect.stringMatching(/update|patch/), kind: 'Application' },
      reviews: expect.arrayContaining([
        expect.objectContaining({ operation: 'UPDATE', uid: call.reviews![0], isOwnUser: true }),
      ]),
    },
  ]);
  const [{ reviews: [review] = [] }] = caused as [Extract<typeof linked, { type: 'calls.listed' }>];
  const { events: why } = await runDevloop(['reviews', 'show', review!.id], here);
  expect(why).toMatchObject([
    { review: { id: review!.id }, cause: { call: call.id, reconcile: expect.stringMatching(/^k-/) } },
  ]);
  // Those of others are not linked, and nobody sees the marks.
  const { events: all } = await runDevloop(['reviews'], here);
  const other = all.find((event) => event.type === 'reviews.listed' && event.review.operation === 'CREATE');
  const { id: foreign } = (other as Extract<typeof other, { type: 'reviews.listed' }>).review;
  const { events: without } = await runDevloop(['reviews', 'show', foreign], here);
  expect(without).toMatchObject([{ review: { id: foreign } }]);
  expect(without).not.toMatchObject([{ cause: expect.anything() }]);
  expect(up.log()).not.toContain('devloop: review');
  const { events: writes } = await runDevloop(['calls', '--writes', '--kind', 'Deployment'], here);
  expect(writes).toContainEqual(
    expect.objectContaining({
      call: expect.objectContaining({ verb: 'update', reconcile: restored.reconcile }),
    }),
  );
  const { events: owned } = await runDevloop(['timeline', 'deployments/proxied'], here);
  const scaled = owned.findIndex(
    (event) => event.type === 'timeline.changed' && event.change.by === 'kubectl',
  );
  expect(scaled).toBeGreaterThan(0);
  const { reconcile } = restored;
  for (const one of [
    { type: 'calls.listed', call: expect.objectContaining({ verb: 'update', reconcile }) },
    { type: 'timeline.logged', reconcile, line: expect.stringContaining('Updated Deployment proxied') },
  ])
    expect(owned.slice(scaled)).toContainEqual(expect.objectContaining(one));
  const { events: life } = await runDevloop(['timeline', 'application/proxied', '-n', 'default'], here);
  expect(life[0]).toMatchObject({ type: 'reviews.listed', review: { operation: 'CREATE' } });
  const { id } = restored;
  expect(life).toContainEqual(expect.objectContaining({ reconcile: expect.objectContaining({ id }) }));
  const { events: nothing } = await runDevloop(['timeline', 'application/other'], here);
  expect(nothing).toMatchObject([{ code: 'timeline.none' }]);
  await cluster.kubectl(['delete', 'application', 'proxied', '--wait']);
  await ended(up);
});

it('with the account of the user, other programs can use the kubeconfig of the controller, for exec, too', async () => {
  const { up, kubeconfig } = await ready('--identity', 'me', '--pause', 'none');
  await using _ = up;
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args, { kubeconfig });
  const names = await kubectl('-n', NAMESPACE, 'get', 'pods', '-o', 'name');
  const [pod = ''] = names.split('\n').filter(Boolean);
  const exec = kubectl('-n', NAMESPACE, 'exec', pod, '--', '/no-such-program');
  // The runtime in the cluster says that, so the request has reached it over an upgraded connection.
  await expect(exec).rejects.toThrow(/no such file/);
  // Nothing has read this object before its first write, which says what it changes all the same.
  await cluster.kubectl(['create', 'configmap', 'unseen', '--from-literal=a=1']);
  const changed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'unseen' }, data: { a: '2' } };
  const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  await cluster.kubectl(apply, { kubeconfig, input: JSON.stringify(changed) });
  await cluster.kubectl(['delete', 'configmap', 'unseen']);
  // kube-apiserver itself says that it drops a field.
  const lacking = application('odd', 'example.com/shop:1', ', colour: red');
  await cluster.kubectl(['create', '--validate=warn', '-f', '-'], { kubeconfig, input: lacking });
  await up.waitFor('call', ({ warnings = [] }) => warnings.includes('unknown field "spec.colour"'));
  const dropped = await up.waitFor('warning', ({ code }) => code === 'fields.pruned');
  expect(dropped).toMatchObject({
    values: { kind: 'Application', fields: ['spec.colour'], command: expect.any(String) },
  });
  await cluster.kubectl(['delete', 'application', 'odd', '--wait']);
  const here = { cwd: checkout.directory, env: {} };
  const { events: calls } = await runDevloop(['calls', '--name', 'unseen'], here);
  expect(calls).toMatchObject([
    { call: { verb: 'apply', kind: 'ConfigMap', changes: expect.arrayContaining(['~data.a=2']) } },
  ]);
  await ended(up);
});

it('of two clients that write an object at the same time with the same account, each review is linked to its own call', async () => {
  const { up, kubeconfig } = await ready('--identity', 'me', '--pause', 'none');
  await using _ = up;
  await cluster.kubectl(['apply', '-f', '-'], { input: application('both', 'example.com/shop:1') });
  const patch = async (who: string, options: { kubeconfig?: string } = {}): Promise<string> => {
    const body = JSON.stringify({ metadata: { annotations: { who } } });
    return await cluster.kubectl(['patch', 'application', 'both', '--type=merge', '-p', body], options);
  };
  for (let round = 0; round < 8; round++)
    await Promise.all([
      patch(`proxied-${round}`, { kubeconfig }),
      patch(`proxied-${round}-too`, { kubeconfig }),
      patch(`direct-${round}`),
    ]);
  const here = { cwd: checkout.directory, env: {} };
  const { events } = await runDevloop(['calls', '--name', 'both', '--verb', 'patch'], here);
  const calls = events.flatMap((event) => (event.type === 'calls.listed' ? event.call : []));
  const patches = calls.filter(({ reconcile, code }) => reconcile === undefined && code === 200);
  expect(patches).toHaveLength(16);
  const shown = await runDevloop(['calls', 'show', ...patches.map(({ id }) => id)], here);
  const who = new Map<string, string>();
  for (const event of shown.events) {
    if (event.type !== 'calls.listed') continue;
    expect(event.reviews, event.call.id).not.toEqual([]);
    const [, written = ''] = /who: (proxied[\w-]+)/.exec(
      event
        .sections!.map(({ text }) => text)
        .join('\n')
        .replaceAll(/^-.*$/gm, ''),
    )!;
    for (const { id } of event.reviews!) {
      expect(who.has(id)).toBe(false);
      who.set(id, written);
    }
  }
  const reviews = await runDevloop(['reviews', 'show', ...who.keys()], here);
  for (const event of reviews.events) {
    if (event.type !== 'reviews.shown') continue;
    const [object] = event.sections;
    expect(object!.text).toContain(`who: ${who.get(event.review.id)}\n`);
  }
  await cluster.kubectl(['delete', 'application', 'both', '--wait']);
  await ended(up);
});

it('with --api direct, it uses the kubeconfig of the user, and up says what is lost', async () => {
  const { up, kubeconfig } = await ready('--api', 'direct');
  await using _ = up;
  expect(kubeconfig.split(':')).toContain(cluster.kubeconfig);
  expect(up.events).toContainEqual(expect.objectContaining({ code: 'api.direct' }));
  await ended(up);
});

/** From its next start on, the controller leaves a process behind that writes to a ConfigMap, and notes the answers in a file. */
async function leaveBehind(configMap: string, log: string): Promise<void> {
  const words = ['setsid', process.execPath, LEFT_BEHIND, configMap, log].map((word) => JSON.stringify(word));
  await editMain(checkout, (text) =>
    text
      .replace('\t"os"\n', '\t"os"\n\t"os/exec"\n')
      .replace('func main() {', `func main() {\n\t_ = exec.Command(${words.join(', ')}).Start()`),
  );
}

/** What was left behind ends without its kubeconfig, which goes with the session. */
function endIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

/** On a busy machine, a build takes longer than most things. */
const patiently = <T>(work: () => Promise<T>): Promise<T> => eventually(work, 120_000);

it('what the controller has left behind writes nothing once the next one has started', async () => {
  const configMap = 'left-behind';
  const log = join(checkout.directory, 'left-behind.log');
  const unedited = await readFile(join(checkout.directory, 'cmd/main.go'), 'utf8');
  await cluster.kubectl(['create', 'configmap', configMap]);
  await leaveBehind(configMap, log);
  const { up } = await ready('--identity', 'me');
  await using _ = up;
  const noted = async (): Promise<[pid: string, result: string][]> =>
    (await readFile(log, 'utf8').catch(() => ''))
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ') as [string, string]);
  const written = async (): Promise<Record<string, string>> =>
    JSON.parse(await cluster.kubectl(['get', 'configmap', configMap, '-o', 'json'])).data ?? {};
  const timesNoted = async (pid: string, result: string): Promise<number> =>
    (await noted()).filter(([by, what]) => by === pid && what === result).length;
  await using __ = {
    async [Symbol.asyncDispose]() {
      for (const pid of new Set((await noted()).map(([by]) => Number(by)))) endIfRunning(pid);
      await writeFile(join(checkout.directory, 'cmd/main.go'), unedited);
      await cluster.kubectl(['delete', 'configmap', configMap]);
    },
  };
  const first = await patiently(async () => {
    const [pid = ''] = Object.keys(await written());
    expect(await timesNoted(pid, '200')).toBeGreaterThan(3);
    return pid;
  });
  const from = up.events.length;
  await editMain(checkout, (text) => text.replace('func main() {', 'func main() {\n\tprintln("edited")'));
  await patiently(async () =>
    expect(up.events.slice(from).some(({ type }) => type === 'controller.started')).toBe(true),
  );
  const { [first]: last } = await written();
  await patiently(async () => expect(Object.keys(await written())).toHaveLength(2));
  const [second = ''] = Object.keys(await written()).filter((pid) => pid !== first);
  await patiently(async () => expect(await timesNoted(second, '200')).toBeGreaterThan(3));
  await patiently(async () => expect(await timesNoted(first, '503')).toBeGreaterThan(3));
  expect(await written()).toMatchObject({ [first]: last });
  const told = () => up.events.filter((event) => 'code' in event && event.code === 'api.left-behind');
  await patiently(async () => expect(told()).toHaveLength(1));
  await ended(up);
});

it('after this machine was asleep, a controller whose Lease is gone writes nothing', async () => {
  const { up } = await ready();
  await using _ = up;
  await cluster.kubectl(['apply', '-f', '-'], { input: application('asleep', 'example.com/shop:1') });
  await eventually(async () => expect(await replicas('asleep')).toBe('1'));
  up.signal('SIGSTOP');
  await cluster.kubectl(['delete', 'lease', '-n', NAMESPACE, '-l', 'devloop.dev/session']);
  await cluster.kubectl(['delete', 'deployment', 'asleep']);
  await new Promise((resolve) => setTimeout(resolve, ASLEEP_MS));
  up.signal('SIGCONT');
  expect(await up.exited, up.log()).toBe(CATALOGUE['session.lost'].exit);
  expect(up.events).toContainEqual(expect.objectContaining({ code: 'session.lost' }));
  expect(up.events).toContainEqual(expect.objectContaining({ code: 'api.fenced', values: { isLost: true } }));
  // The manager in the cluster is back, and makes what this controller was not allowed to make.
  await eventually(async () => expect(await replicas('asleep')).toBe('1'));
  expect(
    await cluster.kubectl([
      '-n',
      NAMESPACE,
      'get',
      'deployment',
      DEPLOYMENT,
      '-o',
      'jsonpath={.spec.replicas}',
    ]),
  ).toBe('1');
  await cluster.kubectl(['delete', 'application', 'asleep', '--wait']);
});
