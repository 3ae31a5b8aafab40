/** What is wrong with a controller shows in what it does again and again. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDevloop } from '../support/devloop.ts';
import { application, checkoutSample } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';

const BUILT_MS = 240_000;
const CODES = ['reconciles.wake-themselves', 'calls.unchanged', 'calls.conflicts', 'calls.contested'];

it('up names the field with which a controller wakes itself, and says nothing of one that does not', async () => {
  const [cluster, checkout] = await Promise.all([sharedSample(), checkoutSample()]);
  await using _ = checkout;
  const env = { KUBECONFIG: cluster.kubeconfig };
  await using up = startDevloop(['up'], { cwd: checkout.directory, env });
  await up.waitFor('session.ready', undefined, BUILT_MS);
  await cluster.kubectl(['apply', '-f', '-'], { input: application('restless', 'example.com/shop:1') });
  await up.waitFor('reconcile', ({ after }) => after.some(({ isOwn }) => isOwn));
  for (const replicas of [2, 3])
    await cluster.kubectl([
      'patch',
      'application',
      'restless',
      '--type',
      'merge',
      '-p',
      `{"spec":{"replicas":${replicas}}}`,
    ]);
  await up.waitFor('reconcile', ({ calls }) =>
    calls.some(({ changes = [] }) => changes.includes('~spec.replicas=3')),
  );
  const file = join(checkout.directory, 'internal/controller/status.go');
  const restless = (await readFile(file, 'utf8'))
    .replace('"fmt"', '"fmt"\n\t"time"')
    .replace('app.Status.Message = message', 'app.Status.Message = time.Now().String()');
  await writeFile(file, restless);
  const told = await up.waitFor('warning', ({ code }) => CODES.includes(code), BUILT_MS);
  expect(told).toMatchObject({
    code: 'reconciles.wake-themselves',
    values: {
      ...{
        controller: 'application',
        object: { kind: 'Application', namespace: 'default', name: 'restless' },
      },
      fields: expect.arrayContaining([{ field: 'status.message', times: expect.any(Number) }]),
    },
  });
  await cluster.kubectl(['delete', 'application', 'restless', '--wait']);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  // It went on, and was told once.
  const all = up.events.filter((event) => event.type === 'warning' && CODES.includes(event.code));
  expect(all).toEqual([told]);
});
