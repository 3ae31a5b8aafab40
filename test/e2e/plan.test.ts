/** A plan says what the code of the checkout would write, and `up` with the same code then writes that. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { application, checkoutSample, NAMESPACE, rolledOut } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

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

  const same = await runDevloop(['plan'], here);
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
  const deleting = await runDevloop(['plan'], here);
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
