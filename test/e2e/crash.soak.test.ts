import { rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DevloopEvent } from '../../src/report/events.ts';
import { objectText } from '../../src/report/text.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { hookServer } from '../support/hook-server.ts';
import { isRunning } from '../support/is-running.ts';
import { inSoak, repeat } from '../support/repeat.ts';
import { createReviewer } from '../support/reviews.ts';
import { checkoutSample, NAMESPACE, rolledOut } from '../support/sample-operator.ts';
import { sharedSample } from '../support/shared-sample.ts';
import { snapshot } from '../support/snapshot.ts';

/** The message of the sample's own webhook for an Application without an image. */
const IN_CLUSTER = /needs an image/;

/** Nothing is built, which is faster; most of these tests do not depend on the controller. */
const SERVER = hookServer('local', '9443');

type Moment = [name: string, is: (event: DevloopEvent) => boolean];

const change = (action: string, kind: string): Moment => [
  `${action} ${kind}`,
  (event) => event.type === 'change' && event.action === action && event.object.kind === kind,
];
const type = (wanted: DevloopEvent['type'], name: string = wanted): Moment => [
  name,
  (event) => event.type === wanted,
];

const UP: Moment[] = [
  type('session.started'),
  type('build.started'),
  type('route.verified', 'the first probe'),
  change('update', 'Service'),
  change('create', 'EndpointSlice'),
  change('update', 'Endpoints'),
  change('update', 'EndpointSlice'),
  ['the second probe', (event) => event.type === 'route.verified' && event.service.startsWith(NAMESPACE)],
  change('update', 'Deployment'),
  type('controller.started'),
  type('controller.ready'),
  type('session.ready'),
];

/** The moments of a replaced controller, after a file was saved. */
const RESTART: Moment[] = [
  type('controller.exited'),
  type('controller.started'),
  type('controller.ready'),
  type('controller.replaced'),
];

const DOWN: Moment[] = [
  change('restore', 'Deployment'),
  change('restore', 'Service'),
  change('delete', 'EndpointSlice'),
  change('restore', 'Endpoints'),
  type('session.restored'),
];

describe('kill -9', () => {
  let cluster: TestCluster;
  let checkout: Awaited<ReturnType<typeof checkoutSample>>;
  let before: Awaited<ReturnType<typeof snapshot>>;
  const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });

  beforeAll(async () => {
    cluster = await sharedSample();
    checkout = await checkoutSample();
    before = await snapshot(cluster, NAMESPACE);
  });

  afterAll(() => checkout?.[Symbol.asyncDispose]());

  // What a failed test leaves behind would make the next ones fail, too.
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await runDevloop(['down'], { cwd: tmpdir(), env: env() });
  });

  const startUp = (command: string[]): DevloopRun =>
    startDevloop(['up', ...command], { cwd: checkout.directory, env: env() });

  async function kill(run: DevloopRun): Promise<void> {
    run.signal('SIGKILL');
    await run.exited;
  }

  /** Starts `up`, and kills it when it prints that something was done. */
  async function killUpAt([name, is]: Moment): Promise<void> {
    await using up = startUp(name === 'build.started' ? [] : SERVER);
    await up.waitForAny(is);
    await kill(up);
  }

  async function expectDownRestores(afterwards = async (): Promise<void> => {}): Promise<void> {
    const { code, log } = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
    expect(code, log).toBe(0);
    await afterwards();
    await expectRestored();
  }

  /** Over several connections, right away: when `down` says that everything is restored, kube-proxy has followed. */
  async function expectAnswers(): Promise<void> {
    await using reviewer = await createReviewer(cluster.kubeconfig);
    const answers = await Promise.all(Array.from({ length: 8 }, () => reviewer.ask()));
    expect(answers.filter((answer) => !IN_CLUSTER.test(answer))).toEqual([]);
  }

  async function expectRestored(): Promise<void> {
    // When a Pod is ready again depends on the Deployment, and `down` has already waited for it.
    await rolledOut(cluster);
    expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  }

  it.each(inSoak(UP, 'the second probe'))(
    'of up at "%s" is repaired by down from another directory',
    async (...moment) => {
      await repeat(`up killed at "${moment[0]}"`, { soak: 3 }, async () => {
        await killUpAt(moment);
        await expectDownRestores(expectAnswers);
      });
    },
  );

  it.each(inSoak(RESTART, 'controller.started'))(
    'of up at "%s" of a restart is repaired by down from another directory',
    async (name, is) => {
      await repeat(`up killed at "${name}" of a restart`, { soak: 3 }, async (index) => {
        await using up = startUp(SERVER);
        await up.waitFor('session.ready');
        const seen = new Set(up.events);
        await writeFile(join(checkout.directory, 'saved.txt'), `${name} ${index}`);
        await up.waitForAny((event) => !seen.has(event) && is(event));
        await kill(up);
        await expectDownRestores(expectAnswers);
      });
    },
  );

  it.each(inSoak(DOWN, 'restore Service'))('of down at "%s" is repaired by down', async (name, is) => {
    await repeat(`down killed at "${name}"`, { soak: 3 }, async () => {
      await killUpAt(UP.at(-1)!);
      await using down = startDevloop(['down'], { cwd: tmpdir(), env: env() });
      await down.waitForAny(is, 120_000);
      await kill(down);
      await expectDownRestores(expectAnswers);
    });
  });

  it('leaves a controller that the next up ends, and a session that it recovers', async () => {
    await using first = startUp(SERVER);
    const { pid } = await first.waitFor('controller.ready');
    await first.waitFor('session.ready');
    await kill(first);
    expect(await isRunning(pid)).toBe(true);
    const dry = await runDevloop(['down', '--dry-run'], { cwd: tmpdir(), env: env() });
    const named = expect.objectContaining({
      code: 'process.stopped',
      values: expect.objectContaining({ pid, dryRun: true }),
    });
    expect(dry.events).toContainEqual(named);
    expect(await isRunning(pid)).toBe(true);
    await using second = startUp(SERVER);
    await second.waitFor('session.ready');
    expect(await isRunning(pid)).toBe(false);
    second.signal('SIGTERM');
    expect(await second.exited).toBe(130);
    await expectRestored();
  });

  it('is not needed: a session that is put back while it builds takes nothing over any more', async () => {
    const settings = join(checkout.directory, 'devloop.yaml');
    await writeFile(settings, 'controller:\n  build: [sleep, "30"]\n  run: [sleep, "60"]\n');
    await using up = startDevloop(['up'], {
      cwd: checkout.directory,
      env: env(),
      through: ['unshare', '--uts', 'sh', '-c', 'hostname elsewhere && exec "$@"', 'sh'],
    });
    await up.waitFor('route.verified', undefined, 300_000);
    const down = await runDevloop(['down', '--take-over'], { cwd: tmpdir(), env: env() });
    expect(down.code, down.log).toBe(0);
    expect(await up.exited, up.log()).toBe(4);
    expect(up.events.at(-1)).toMatchObject({ type: 'error', code: 'session.lost' });
    const changed = up.events.flatMap((event) =>
      event.type === 'change' && event.action === 'update' ? [objectText(event.object)] : [],
    );
    expect(changed).toEqual([]);
    await rm(settings);
    await expectRestored();
  });

  const ELSEWHERE: [string, string, string[]][] = [
    ['on another machine', '@elsewhere', ['--uts', 'sh', '-c', 'hostname elsewhere && exec "$@"', 'sh']],
    [
      'in another container of this machine',
      `@${hostname()}`,
      ['--pid', '--fork', '--kill-child', '--mount-proc'],
    ],
  ];

  // Each round waits until a Lease expires.
  it.each(inSoak(ELSEWHERE, 'in another container of this machine'))(
    '%s is noticed when its Lease stands still',
    async (_, where, through) => {
      await using up = startDevloop(['up', ...SERVER], {
        cwd: checkout.directory,
        env: env(),
        through: ['unshare', ...through],
      });
      await up.waitFor('session.ready');
      const live = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
      expect(live.events.at(-1)).toMatchObject({
        type: 'error',
        code: 'session.held',
        message: expect.stringContaining(where),
      });
      expect(live.code).toBe(4);
      up.signal('SIGKILL');
      await up.exited;
      const dead = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
      expect(dead.events).toContainEqual(
        expect.objectContaining({ type: 'waiting', for: expect.stringContaining(where) }),
      );
      expect(dead.code, dead.log).toBe(0);
      await expectRestored();
    },
  );
});
