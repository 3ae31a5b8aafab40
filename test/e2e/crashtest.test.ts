/** A command runs against the local code, and a controller that is killed after each of its writes shows whether it needs a second write that it never makes then. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { application, checkoutSample, NAMESPACE, rolledOut } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

const roundsOf = (events: DevloopEvent[]) =>
  events.flatMap((event) => (event.type === 'crashtest.round' ? [event.round] : []));

/** Creates a second Deployment only together with the first. */
const UNSAFE = `	case controllerutil.OperationResultCreated:
		beside := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-beside"}}
		shapeDeployment(beside, app)
		if err := controllerutil.SetControllerReference(app, beside, r.Scheme); err != nil {
			return nil, err
		}
		if err := r.Create(ctx, beside); err != nil {
			return nil, err
		}
`;

it('a controller that skips its second write once the first is made is found, and one that does not is clean', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const { directory: cwd } = checkout;
  const here = { cwd, env: { KUBECONFIG: cluster.kubeconfig } };
  await rolledOut(cluster);
  const file = join(cwd, 'web.yaml');
  await writeFile(file, application('web', 'example.com/shop:1'));
  const before = await snapshot(cluster, NAMESPACE);
  const words = ['crashtest', '--yes', '--quiet-seconds', '3'];
  const command = ['--', 'kubectl', 'apply', '-f', file];

  const missing = await runDevloop([...words, '--', 'kubectl', 'apply', '-f', `${file}.none`], here);
  expect(missing.code, missing.log).toBe(2);
  expect(missing.log).toContain('crashtest.scenario');
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);

  const suite = `kubectl apply -f ${file} && kubectl delete -f ${file} && exit 5`;
  const tested = await runDevloop(['test', '--yes', '--', 'sh', '-c', suite], here);
  expect(tested.code, tested.log).toBe(5);
  expect(tested.events.at(-1)).toMatchObject({ type: 'test.done', exitCode: 5, reviews: { denied: 0 } });
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);

  const safe = await runDevloop([...words, ...command], here);
  expect(safe.code, safe.log).toBe(0);
  const met = roundsOf(safe.events).filter(({ result }) => result !== 'not-met');
  expect(met.map(({ write, result }) => [write, result]).slice(0, 3)).toEqual([
    ['patch Application default/web', 'same'],
    ['create Deployment default/web', 'same'],
    ['patch Application/status default/web', 'same'],
  ]);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);

  await using stopped = startDevloop([...words, ...command], here);
  await stopped.waitFor('crashtest.round');
  stopped.signal('SIGINT');
  expect(await stopped.exited, stopped.log()).toBe(130);
  expect(stopped.log()).toContain('crashtest.not-reset');
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);

  const reconciler = join(cwd, 'internal/controller/application_controller.go');
  const source = await readFile(reconciler, 'utf8');
  await writeFile(reconciler, source.replace('\tcase controllerutil.OperationResultCreated:\n', UNSAFE));
  const unsafe = await runDevloop([...words, ...command], here);
  expect(unsafe.code, unsafe.log).toBe(6);
  const wrong = roundsOf(unsafe.events).filter(({ result }) => result !== 'same' && result !== 'not-met');
  const point = 'crash create deployments.apps namespace=default name=web nth=1';
  expect(wrong).toMatchObject([
    {
      ...{ point, result: 'different', write: 'create Deployment default/web' },
      differences: [{ object: 'Deployment default/web-beside', what: 'missing' }],
      reconcile: { kind: 'Application', name: 'web' },
      repeat: expect.stringContaining(`--point '${point}'`),
    },
  ]);
  const once = await runDevloop([...words, '--point', point, ...command], here);
  expect(once.code, once.log).toBe(6);
  expect(roundsOf(once.events)).toMatchObject([{ point, result: 'different' }]);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  expect(await cluster.kubectl(['get', 'applications,deployments', '-n', 'default', '-o', 'name'])).toBe('');
});
