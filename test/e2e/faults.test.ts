/** What goes wrong on purpose shows what a controller does then. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { application, checkoutSample } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';

const BUILT_MS = 240_000;
const CONFLICT = '409 update deployments name=web count=1';

it('a controller that forgets a write after a conflict is found, one that repeats it is not, and reviews can fail', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const env = { KUBECONFIG: cluster.kubeconfig };
  const cwd = checkout.directory;
  const here = { cwd, env };
  const fault = async (...words: string[]) => {
    const { code, events } = await runDevloop(['fault', ...words], here);
    expect(code, JSON.stringify(events)).toBe(0);
    return events.flatMap((event) => (event.type === 'faults.listed' ? [event.faults] : [])).at(-1);
  };
  const scale = (replicas: number) =>
    cluster.kubectl([
      'patch',
      'application',
      'web',
      '--type=merge',
      '-p',
      `{"spec":{"replicas":${replicas}}}`,
    ]);
  const replicas = () =>
    cluster.kubectl(['get', 'deployment', 'web', '--ignore-not-found', '-o', 'jsonpath={.spec.replicas}']);

  await using up = startDevloop(['up', '--fault', CONFLICT], here);
  await up.waitFor('session.ready', undefined, BUILT_MS);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('web', 'example.com/shop:1') });
  await expect.poll(replicas, { timeout: 30_000 }).toBe('1');
  await scale(2);
  const met = await up.waitFor('reconcile', ({ calls }) => calls.some(({ code }) => code === 409));
  const injected = {
    verb: 'update',
    code: 409,
    faults: [CONFLICT],
    message: expect.stringContaining('injected by'),
  };
  expect(met).toMatchObject({
    result: 'error',
    name: 'web',
    calls: expect.arrayContaining([expect.objectContaining(injected)]),
  });
  await expect.poll(replicas, { timeout: 30_000 }).toBe('2');
  expect(await fault()).toMatchObject([{ id: '1', rule: CONFLICT, seen: 1, met: 1, isOver: true }]);

  const file = join(cwd, 'internal/controller/application_controller.go');
  const source = await readFile(file, 'utf8');
  const forgetful = source.replace(
    '\tif apierrors.IsAlreadyExists(err) {',
    '\tif apierrors.IsConflict(err) {\n\t\treturn ctrl.Result{}, nil\n\t}\n$&',
  );
  expect(forgetful).not.toBe(source);
  await writeFile(file, forgetful);
  await up.waitFor('controller.replaced', undefined, BUILT_MS);
  expect(await fault('add', ...CONFLICT.split(' '))).toHaveLength(2);
  await scale(3);
  const forgot = await up.waitFor(
    'reconcile',
    ({ result, calls }) => result === 'success' && calls.some(({ code }) => code === 409),
  );
  expect(forgot.calls).toContainEqual(expect.objectContaining({ code: 409, faults: [CONFLICT] }));
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(await replicas()).toBe('2');

  await fault('clear');
  expect(await fault('add', '500', 'review', 'applications', 'name=web')).toHaveLength(1);
  await expect(scale(4)).rejects.toThrow('injected by the fault "500 review applications name=web"');
  const review = await up.waitFor('review', ({ faults }) => faults !== undefined);
  expect(review).toMatchObject({
    verdict: 'answered-by-devloop',
    faults: ['500 review applications name=web'],
  });
  const unknown = await runDevloop(['fault', 'add', '418', 'update'], here);
  expect(unknown).toMatchObject({ code: 2 });
  expect(await fault('clear')).toEqual([]);
  await scale(4);
  await expect.poll(replicas, { timeout: 30_000 }).toBe('4');
  await cluster.kubectl(['delete', 'application', 'web', '--wait']);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
});
