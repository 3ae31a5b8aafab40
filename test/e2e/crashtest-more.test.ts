/** A crash test of a deletion, of generated names, and one that is killed itself. */
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

/** Creates one more Deployment for each time that it adds the finalizer. */
const LEAKING = `	if !controllerutil.AddFinalizer(app, finalizer) {
		return nil
	}
	seed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, GenerateName: app.Name + "seed"}}
	shapeDeployment(seed, app)
	if err := controllerutil.SetControllerReference(app, seed, r.Scheme); err != nil {
		return err
	}
	if err := r.Create(ctx, seed); err != nil {
		return err
	}
`;

it('a deletion is crashed as part of the command, and a Deployment too many is found under any generated name', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const { directory: cwd } = checkout;
  const here = { cwd, env: { KUBECONFIG: cluster.kubeconfig } };
  await rolledOut(cluster);
  const file = join(cwd, 'web.yaml');
  await writeFile(file, application('web', 'example.com/shop:1'));
  const before = await snapshot(cluster, NAMESPACE);
  const reset = `kubectl delete --ignore-not-found -f ${file}`;
  const words = ['crashtest', '--yes', '--quiet-seconds', '3'];
  const deletion = ['--', 'sh', '-c', `kubectl apply -f ${file}; sleep 4; kubectl delete -f ${file}`];

  const safe = await runDevloop([...words, '--reset', reset, ...deletion], here);
  expect(safe.code, safe.log).toBe(0);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);

  await using killed = startDevloop([...words, '--', 'kubectl', 'apply', '-f', file], here);
  await killed.waitFor('crashtest.round');
  killed.signal('SIGKILL');
  await killed.exited;
  const down = await runDevloop(['down'], here);
  expect(down.code, down.log).toBe(0);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);

  const reconciler = join(cwd, 'internal/controller/application_controller.go');
  const source = await readFile(reconciler, 'utf8');
  const [was] = LEAKING.split('\tseed :=');
  await writeFile(reconciler, source.replace(was!, LEAKING));
  const leaking = await runDevloop([...words, '--', 'kubectl', 'apply', '-f', file], here);
  expect(leaking.code, leaking.log).toBe(6);
  const wrong = roundsOf(leaking.events).filter(({ result }) => result !== 'same' && result !== 'not-met');
  expect(wrong).toMatchObject([
    {
      result: 'different',
      differences: [{ object: 'Deployment default/webseed*', what: 'more', count: 2, expected: 1 }],
    },
  ]);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
});
