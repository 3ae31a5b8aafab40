import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { DapClient, delve } from '../support/delve.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { freePort } from '../support/free-port.ts';
import {
  application,
  type Checkout,
  checkoutSample,
  deploySample,
  NAMESPACE,
} from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';

/** Longer than kube-apiserver ever waits for a webhook. */
const HOLD_MS = 40_000;
/** All packages are compiled, unless that was done before. */
const BUILD_MS = 1_500_000;

let cluster: TestCluster;
let checkout: Checkout;
let dlv: string;

beforeAll(async () => {
  [cluster, dlv] = await Promise.all([startCluster({ log: (text) => console.error(text) }), delve()]);
  await deploySample(cluster);
  checkout = await checkoutSample();
});

afterAll(async () => {
  await checkout?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

it('an apply that stands at a breakpoint for 40 s is answered by devloop, and stepping goes on', {
  timeout: BUILD_MS + 300_000,
}, async () => {
  const port = await freePort();
  const env = { KUBECONFIG: cluster.kubeconfig, PATH: `${dirname(dlv)}:${process.env.PATH}` };
  const before = await snapshot(cluster, NAMESPACE);
  const file = join(checkout.directory, 'internal/webhook/v1/application_webhook.go');
  const line = (await readFile(file, 'utf8')).split('\n').indexOf('\tvar problems field.ErrorList') + 1;
  await using run = startDevloop(['up', `--debug=${port}`], { cwd: checkout.directory, env });
  await run.waitFor('session.ready', () => true, BUILD_MS);
  using editor = new DapClient(port);
  await editor.begin(file, [line]);

  const applied = apply('held');
  expect(await editor.stoppedAt()).toBe(line);
  const started = performance.now();
  expect(await applied).toMatch(
    /devloop: the controller was stopped in a debugger for [\d.]+ s, at \w+\.go:\d+ in /,
  );
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS - (performance.now() - started)));
  await editor.go('next');
  expect(await editor.stoppedAt()).toBeGreaterThan(line);
  // The packages of controller-runtime are optimized, but those of the checkout are not.
  expect(await editor.locals()).toMatchObject({ problems: expect.stringContaining('nil') });
  await editor.go('continue');
  const { id, late } = await run.waitFor('review.late');
  expect(late).toMatchObject({ verdict: 'denied', message: expect.stringContaining('spec.image') });
  expect(late.totalMs).toBeGreaterThan(HOLD_MS);
  const shown = await runDevloop(['reviews', 'show', id], { cwd: checkout.directory, env });
  expect(shown.events).toMatchObject([
    { review: { verdict: 'answered-by-devloop', late: { verdict: 'denied' } } },
  ]);

  const next = apply('next');
  await editor.stoppedAt();
  await editor.go('continue');
  expect(await next).toContain('spec.image');
  // Nothing has mistaken the time at the breakpoint for a failure.
  expect(run.events.filter(({ type }) => type === 'controller.exited')).toEqual([]);
  run.signal('SIGINT');
  expect(await run.exited, run.log()).toBe(130);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
});

/** What kubectl prints about an Application without an image. */
function apply(name: string): Promise<string> {
  return cluster
    .kubectl(['apply', '--server-side', '-f', '-'], { input: application(name, '') })
    .catch((error: Error) => error.message);
}
