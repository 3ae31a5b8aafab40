import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WebhookConfiguration } from '../../src/cluster/api/objects.ts';
import { CATALOGUE } from '../../src/errors.ts';
import { groupsOf } from '../../src/machine/system.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { DapClient, delve } from '../support/delve.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { dryRun, expectAsPlanned } from '../support/planned-changes.ts';
import { application, type Checkout, checkoutSample, NAMESPACE } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

/** If nothing was built for a debugger before, the standard library is compiled, too. */
const COLD_BUILD_MS = 280_000;

const PROGRAM = join(import.meta.dirname, '../fixtures/e2e/debugged-webhook.go.txt');
/** Longer than the timeout of these webhooks without a debugger. */
const HOLD_MS = 11_000;

let cluster: TestCluster;
let checkout: Checkout;
let before: Awaited<ReturnType<typeof snapshot>>;
let env: Record<string, string>;
let file: string;
let line: number;
let port: number;

beforeAll(async () => {
  const [started, dlv] = await Promise.all([sharedSample(), delve()]);
  cluster = started;
  checkout = await checkoutSample();
  file = join(checkout.directory, 'cmd/main.go');
  const text = await readFile(PROGRAM, 'utf8');
  line = text.split('\n').findIndex((one) => one.includes('image := asked')) + 1;
  await writeFile(file, text);
  await writeFile(join(checkout.directory, 'go.mod'), 'module example.com/application-operator\n\ngo 1.24\n');
  await rm(join(checkout.directory, 'go.sum'));
  env = { KUBECONFIG: cluster.kubeconfig, PATH: `${dirname(dlv)}:${process.env.PATH}` };
  port = await freePort();
  const written = await runDevloop(['init', '--ide', 'vscode', '--port', String(port)], {
    cwd: checkout.directory,
    env,
  });
  expect(written.code, written.log).toBe(0);
  // If cert-manager has issued the certificate twice, the caBundle has both CAs until it is written again, as a test below does.
  await cluster.call('PATCH', VALIDATING, [{ op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }]);
  await eventually(async () => expect((await validating())?.clientConfig.caBundle).toMatch(/^LS0t/));
  before = await snapshot(cluster, NAMESPACE);
});

afterAll(() => checkout?.[Symbol.asyncDispose]());

const up = (...flags: string[]): DevloopRun =>
  startDevloop(['up', '--package', './cmd', `--debug=${port}`, ...flags], { cwd: checkout.directory, env });

/** What kubectl prints about an Application without an image. */
const apply = (name: string): Promise<string> =>
  cluster
    .kubectl(['apply', '--server-side', '-f', '-'], { input: application(name, '') })
    .catch((error: Error) => error.message);

/** Attaches with the configuration that `devloop init` has written. */
async function editor(): Promise<DapClient> {
  const launch = JSON.parse(await readFile(join(checkout.directory, '.vscode/launch.json'), 'utf8'));
  const { host, port: listens, request, ...attach } = launch.configurations[0];
  expect([host, request]).toEqual(['127.0.0.1', 'attach']);
  const client = new DapClient(listens);
  await client.begin(file, [line], attach);
  return client;
}

const VALIDATING =
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/application-operator-validating-webhook-configuration';

async function validating(): Promise<NonNullable<WebhookConfiguration['webhooks']>[number] | undefined> {
  return ((await cluster.read(VALIDATING)) as WebhookConfiguration).webhooks?.[0];
}

async function webhooks(): Promise<[number, string][]> {
  const configurations = ['validating', 'mutating'].map(
    (kind) =>
      cluster.read(
        `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/application-operator-${kind}-webhook-configuration`,
      ) as Promise<WebhookConfiguration>,
  );
  return (await Promise.all(configurations)).flatMap(({ webhooks: of = [] }) =>
    of.map(({ timeoutSeconds, failurePolicy }): [number, string] => [timeoutSeconds!, failurePolicy!]),
  );
}

it('a dry run says what changes, and how the controller is built and debugged', async () => {
  const { events, code } = await runDevloop(
    ['up', '--package', './cmd', '--debug', '--debug-ignore', '--dry-run'],
    {
      cwd: checkout.directory,
      env,
    },
  );
  expect(code).toBe(0);
  const changed = events.flatMap((event) =>
    event.type === 'change' && event.object.kind.endsWith('WebhookConfiguration') && !event.temporary
      ? [`${event.object.kind} ${event.detail}`]
      : [],
  );
  const detail = 'timeoutSeconds 10 -> 30, failurePolicy Fail -> Ignore';
  expect(changed.sort()).toEqual([
    `MutatingWebhookConfiguration ${detail}`,
    `ValidatingWebhookConfiguration ${detail}`,
  ]);
  const planned = events.find((event) => event.type === 'controller.planned');
  const compiled = planned?.build?.filter((word) => word.startsWith('-gcflags'));
  expect(compiled).toEqual(['-gcflags=example.com/application-operator/...=-N -l']);
  expect(planned?.build?.filter((word) => word.startsWith('-ldflags'))).toEqual(['-ldflags=']);
  expect(planned?.command.slice(1, 3)).toEqual(['exec', '--headless']);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
});

it('without a debugger for Go, names the command that installs it, and changes nothing', async () => {
  const directories = (process.env.PATH ?? '').split(':').filter((one) => !existsSync(join(one, 'dlv')));
  const without = { ...env, PATH: directories.join(':'), GOBIN: join(checkout.directory, 'no-programs') };
  const { code, events, log } = await runDevloop(['up', '--package', './cmd', `--debug=${port}`], {
    cwd: checkout.directory,
    env: without,
  });
  expect(code, log).toBe(CATALOGUE['debug.no-delve'].exit);
  expect(events.at(-1)).toMatchObject({
    ...{ type: 'error', code: 'debug.no-delve' },
    hint: expect.stringContaining('go install github.com/go-delve/delve/cmd/dlv@'),
  });
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
});

it('an apply stands at a breakpoint, is stepped and answered; a swap keeps the breakpoint', async () => {
  const planned = await dryRun(['--package', './cmd', `--debug=${port}`], { cwd: checkout.directory, env });
  await using run = up();
  await run.waitFor('session.ready', undefined, COLD_BUILD_MS);
  expectAsPlanned(run.events, planned, 'direct');
  expect(await webhooks()).toEqual([
    [30, 'Fail'],
    [30, 'Fail'],
  ]);
  const first = await editor();
  const applied = apply('held');
  expect(await first.stoppedAt()).toBe(line);
  expect(await run.waitFor('debug.stopped')).toMatchObject({ file, line, function: 'main.judge' });
  await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
  await first.go('next');
  expect(await first.stoppedAt()).toBe(line + 1);
  expect(await first.locals()).toMatchObject({ image: '""' });
  await first.go('continue');
  expect(await applied).toContain('first: no image');

  const next = apply('next');
  expect(await first.stoppedAt()).toBe(line);
  await first.go('continue');
  expect(await next).toContain('first: no image');

  // While the editor is attached, a file is saved.
  await writeFile(file, (await readFile(file, 'utf8')).replace('greeting = "first"', 'greeting = "second"'));
  expect(await first.event('terminated')).toEqual({ restart: true });
  await first.ask('disconnect', { restart: true });
  const second = await editor();
  await run.waitFor('controller.replaced');
  const swapped = apply('swapped');
  expect(await second.stoppedAt()).toBe(line);
  await second.go('continue');
  expect(await swapped).toContain('second: no image');

  // When cert-manager writes the caBundle again, devloop leaves it; a timeout that somebody else sets is raised again.
  await cluster.call('PATCH', VALIDATING, [
    { op: 'remove', path: '/webhooks/0/clientConfig/caBundle' },
    { op: 'replace', path: '/webhooks/0/timeoutSeconds', value: 10 },
  ]);
  await run.waitFor('guard.overwritten', ({ field }) => field.endsWith('.timeoutSeconds'));
  await eventually(async () => {
    const webhook = await validating();
    expect([webhook?.timeoutSeconds, webhook?.clientConfig.caBundle?.slice(0, 4)]).toEqual([30, 'LS0t']);
  });

  // The editor's connection breaks at a breakpoint.
  const left = apply('left');
  await second.stoppedAt();
  second[Symbol.dispose]();
  expect(await left).toContain('second: no image');
  await run.waitFor('debug.left');
  expect(await apply('alone')).toContain('second: no image');

  // The editor disconnects at a breakpoint, as its button for the end of debugging does.
  const third = await editor();
  const ended = apply('ended');
  await third.stoppedAt();
  await third.ask('disconnect', {});
  expect(await ended).toContain('second: no image');
  await run.waitFor('debug.left');
  expect(await apply('alone')).toContain('second: no image');
  run.signal('SIGINT');
  expect(await run.exited, run.log()).toBe(130);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
});

it('devloop is killed at a breakpoint: down restores everything, and ends the debugger', async () => {
  await using run = up('--debug-ignore');
  await run.waitFor('session.ready', undefined, COLD_BUILD_MS);
  expect(await webhooks()).toEqual([
    [30, 'Ignore'],
    [30, 'Ignore'],
  ]);
  const client = await editor();
  const applied = apply('killed');
  await client.stoppedAt();
  const { pid } = run.events.findLast((event) => event.type === 'controller.started')!;
  expect((await groupsOf(pid)).length).toBe(2);
  run.signal('SIGKILL');
  await run.exited;
  // Nothing answers, and the failurePolicy is Ignore, so it is admitted.
  expect(await applied).toContain('applied');
  await cluster.kubectl(['delete', 'application', 'killed', '--wait=false']);
  const status = await runDevloop(['status'], { cwd: tmpdir(), env });
  const shown = status.events.flatMap((event) => (event.type === 'status' ? event.sessions : []));
  expect(shown.flatMap(({ objects }) => objects.map(({ kind }) => kind))).toContain(
    'MutatingWebhookConfiguration',
  );
  const planned = await runDevloop(['down', '--dry-run'], { cwd: tmpdir(), env });
  const fields = planned.events.flatMap((event) => (event.type === 'change' ? (event.fields ?? []) : []));
  expect(fields.filter(({ path }) => path.endsWith('timeoutSeconds'))).toEqual([
    { path: expect.stringMatching(/^webhooks\./), now: 30, after: 10 },
    { path: expect.stringMatching(/^webhooks\./), now: 30, after: 10 },
  ]);
  expect((await runDevloop(['down'], { cwd: tmpdir(), env })).code).toBe(0);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  expect(await groupsOf(pid)).toEqual([]);
});
