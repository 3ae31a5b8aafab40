/**
 * A plan says what the code of the checkout would write, and `up` with the same code then writes that. A controller that waits for its own
 * writes, exits, never comes to rest or needs the network is named as such.
 */
import { spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, checkoutSample, NAMESPACE, rolledOut } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

const PLAN = ['plan', '--quiet-seconds', '3'];
const BUILT_MS = 240_000;

const writesOf = (events: DevloopEvent[]) =>
  events.flatMap((event) => (event.type === 'plan.write' ? [event.write] : []));

it('a plan of a changed reconciler is what the same code then does, and changes nothing itself', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const here = { cwd: checkout.directory, env: { KUBECONFIG: cluster.kubeconfig } };
  await rolledOut(cluster);
  const input = application('web', 'example.com/shop:1');
  await eventually(() => cluster.kubectl(['apply', '-f', '-'], { input }), 30_000);
  const deployment = () => cluster.kubectl(['get', 'deployment', 'web', '--ignore-not-found', '-o', 'json']);
  await expect.poll(deployment, { timeout: 60_000 }).toContain('"web"');
  await expect
    .poll(() => cluster.kubectl(['get', 'application', 'web', '-o', 'jsonpath={.status}']), {
      timeout: 60_000,
    })
    .not.toBe('');

  const same = await runDevloop(PLAN, here);
  expect(same.code, same.log).toBe(0);
  expect(writesOf(same.events)).toEqual([]);

  const file = join(checkout.directory, 'internal/controller/deployment.go');
  const source = await readFile(file, 'utf8');
  await writeFile(
    file,
    source.replace(
      '\tcontainer.Image =',
      '\ttemplate.Spec.TerminationGracePeriodSeconds = ptr.To(int64(7))\n$&',
    ),
  );
  const before = [await snapshot(cluster, NAMESPACE), JSON.parse(await deployment())];
  const planned = await runDevloop(['plan'], here);
  expect(planned.code, planned.log).toBe(8);
  expect([await snapshot(cluster, NAMESPACE), JSON.parse(await deployment())]).toEqual(before);
  const [write, ...others] = writesOf(planned.events);
  expect(write).toMatchObject({ action: 'change', kind: 'Deployment', namespace: 'default', name: 'web' });
  expect(others).toEqual([]);

  // controller-runtime sends the options of a deletion as protobuf.
  const reconciler = join(checkout.directory, 'internal/controller/application_controller.go');
  const enabled = await readFile(reconciler, 'utf8');
  await writeFile(reconciler, enabled.replace('if !isEnabled(app) {', 'if isEnabled(app) {'));
  const deleting = await runDevloop(PLAN, here);
  expect(writesOf(deleting.events)).toMatchObject([{ action: 'delete', kind: 'Deployment', name: 'web' }]);
  expect([await snapshot(cluster, NAMESPACE), JSON.parse(await deployment())]).toEqual(before);
  await writeFile(reconciler, enabled);

  await using up = startDevloop(['up'], here);
  await up.waitFor('session.ready', undefined, BUILT_MS);
  const done = await up.waitFor('reconcile', ({ calls }) => calls.length > 0);
  expect(done.calls.map(({ verb, kind, name, changes }) => ({ verb, kind, name, changes }))).toEqual([
    { verb: write!.verb, kind: 'Deployment', name: 'web', changes: write!.changes },
  ]);
  await cluster.kubectl(['delete', 'application', 'web', '--wait']);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
});

const RECONCILER = 'internal/controller/application_controller.go';
const EXTRA = `extra := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: "extra"}}
	shapeDeployment(extra, app)`;
const CREATED = `${EXTRA}
	if err := r.Create(ctx, extra); err != nil { return ctrl.Result{}, err }`;
const LOST = 'r.Get(ctx, client.ObjectKeyFromObject(extra), extra)';

/** The sample, with code before it looks after its Deployment, and one Application. */
async function checkoutWith(code: string, imports = '') {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await rolledOut(cluster);
  const input = application('planned', 'example.com/shop:1');
  await eventually(() => cluster.kubectl(['apply', '-f', '-'], { input }), 30_000);
  const deployment = () =>
    cluster.kubectl(['get', 'deployment', 'planned', '--ignore-not-found', '-o', 'name']);
  await expect.poll(deployment, { timeout: 60_000 }).toContain('planned');
  const file = join(checkout.directory, RECONCILER);
  const source = await readFile(file, 'utf8');
  const before = source.replace('\t"time"\n', `\t"time"\n${imports}`);
  await writeFile(file, before.replace('\tdeployment, err := r.reconcileDeployment', `\t${code}\n$&`));
  const env = { KUBECONFIG: cluster.kubeconfig };
  return { cluster, checkout, here: { cwd: checkout.directory, env } };
}

const codesOf = (events: DevloopEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.code] : []));

it('says where a controller waits for its own write', async () => {
  const requeue = `if err := ${LOST}; err != nil { return ctrl.Result{RequeueAfter: 200 * time.Millisecond}, nil }`;
  const { checkout, here } = await checkoutWith(`${CREATED}\n\t${requeue}`);
  await using _ = checkout;
  const { code, events, log } = await runDevloop(PLAN, here);
  expect(code, log).toBe(8);
  expect(writesOf(events)).toMatchObject([
    {
      action: 'create',
      name: 'extra',
      waits: { for: 'reconcile', of: { kind: 'Application', name: 'planned' } },
    },
  ]);
});

it('prints what a controller asked for until it exited, and fails', async () => {
  const exit = `time.Sleep(2 * time.Second)\n\tif err := ${LOST}; err != nil { os.Exit(3) }`;
  const { checkout, here } = await checkoutWith(`${CREATED}\n\t${exit}`, '\t"os"\n');
  await using _ = checkout;
  const { code, events, log } = await runDevloop(PLAN, here);
  expect(code, log).toBe(6);
  expect(writesOf(events)).toMatchObject([{ action: 'create', name: 'extra' }]);
  expect(events.at(-1)).toMatchObject({ type: 'error', code: 'controller.exited' });
});

it('ends at the limit if a controller never comes to rest', async () => {
  const named = CREATED.replace('"extra"', 'fmt.Sprint("extra-", time.Now().UnixNano())');
  const again = `${named}\n\treturn ctrl.Result{RequeueAfter: 200 * time.Millisecond}, nil`;
  const { checkout, here } = await checkoutWith(`if app.Name != "" {${again}}`, '\t"fmt"\n');
  await using _ = checkout;
  const { code, events, log } = await runDevloop([...PLAN, '--limit-seconds', '8'], here);
  expect(code, log).toBe(8);
  expect(codesOf(events)).toContain('plan.not-quiet');
});

it('keeps the controller from the network unless that is wanted, and does not call it without changes then', async () => {
  const { cluster, checkout, here } = await checkoutWith('', '\t"net"\n');
  await using _ = checkout;
  const file = join(checkout.directory, RECONCILER);
  const dial = `if connection, err := net.DialTimeout("tcp", "${cluster.nodeIp}:6443", time.Second); err != nil { return ctrl.Result{}, err } else { connection.Close() }`;
  const source = await readFile(file, 'utf8');
  await writeFile(file, source.replace('\tdeployment, err := r.rec', `\t${dial}\n$&`));
  const alone = await runDevloop(PLAN, here);
  expect(alone.code, alone.log).toBe(6);
  expect(codesOf(alone.events)).toContain('plan.reconcile-failed');
  const connected = await runDevloop([...PLAN, '--network'], here);
  expect(connected.code, connected.log).toBe(0);
});

it('prints what the checkout would do differently than a revision, which leaves nothing behind', async () => {
  const { checkout, here } = await checkoutWith('');
  await using _ = checkout;
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: here.cwd, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  };
  const state = process.env.XDG_STATE_HOME!;
  const left = async (): Promise<string[]> => [
    ...(await readdir(join(here.cwd, '.git'), { recursive: true })),
    ...(await readdir(join(state, 'devloop')).catch(() => [])),
  ];
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'one');
  const file = join(here.cwd, RECONCILER);
  const source = await readFile(file, 'utf8');
  const before = await left();
  const same = await runDevloop([...PLAN, '--against', 'HEAD'], here);
  expect(same.code, same.log).toBe(0);
  await writeFile(file, source.replace('\tdeployment, err := r.rec', `\t${CREATED}\n$&`));
  const more = await runDevloop([...PLAN, '--against', 'HEAD'], here);
  expect(more.code, more.log).toBe(8);
  const differences = more.events.flatMap((event) =>
    event.type === 'plan.difference' ? event.difference : [],
  );
  expect(differences).toMatchObject([{ by: 'checkout', write: { action: 'create', name: 'extra' } }]);
  expect(await left()).toEqual(before);

  await writeFile(file, 'package broken');
  git('commit', '-qam', 'broken');
  await writeFile(file, source);
  const broken = await runDevloop([...PLAN, '--against', 'HEAD'], here);
  expect(broken.events.at(-1)).toMatchObject({ type: 'error', code: 'controller.build-failed' });
  git('rm', '-qrf', '--cached', '.');
  git('commit', '-qm', 'nothing', '--allow-empty');
  const none = await runDevloop([...PLAN, '--against', 'HEAD'], here);
  expect(none.events.at(-1)).toMatchObject({ type: 'error' });
  expect(none.log).toMatch(/Revision HEAD|has no directory|git could not/);
});
