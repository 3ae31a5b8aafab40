import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiGroupOf, kindInfo } from '../../src/cluster/api/kinds.ts';
import type { DevloopEvent } from '../../src/report/events.ts';
import { commonPermissions, routePermissions } from '../../src/session/start/permissions.ts';
import { planAnyTakeOver } from '../../src/session/start/plan.ts';
import type { TestCluster } from '../cluster/cluster.ts';
import { account, type Rule } from '../support/account.ts';
import { CONTROL_PLANES } from '../support/control-planes.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { type SavedServer, savedServer } from '../support/hook-server.ts';
import { dryRun, expectAsPlanned } from '../support/planned-changes.ts';
import { inSoak, repeat, SOAK } from '../support/repeat.ts';
import { createReviewer, failuresWhile, lostWhileEnding, type Reviewer } from '../support/reviews.ts';
import { type RoutedSample, startRoutedSample } from '../support/routed-sample.ts';
import { type Checkout, NAMESPACE, SERVICE } from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';
import type { TestSshd } from '../support/sshd/sshd.ts';

const MESSAGE = 'an Application needs an image';
/** Nobody has this address: addresses for documentation lead nowhere. */
const NOWHERE = '192.0.2.7';

function isChange(event: DevloopEvent, kind: string, action: string): boolean {
  return event.type === 'change' && event.action === action && event.object.kind === kind;
}

/** The moments of a session on the relay route. */
const MOMENTS: [string, (event: DevloopEvent) => boolean][] = [
  ['the Pod exists', (event) => isChange(event, 'Pod', 'create')],
  ['the route is verified', (event) => event.type === 'route.verified'],
  ['the Service points to the Pod', (event) => isChange(event, 'Service', 'update')],
  ['it serves', (event) => event.type === 'session.ready'],
];

/** The rules for an account that is allowed to take over by this route, and to do nothing else. */
function requiredRules(way: 'direct' | 'relay'): Rule[] {
  const plan = planAnyTakeOver(NAMESPACE, { choice: way });
  const all = [...commonPermissions(plan), ...plan.routes.flatMap(routePermissions)];
  return all
    .filter(({ without }) => without === undefined)
    .map(({ kind, subresource, verb }) => ({
      apiGroups: [apiGroupOf(kind)],
      resources: [[kindInfo(kind).plural, subresource].filter(Boolean).join('/')],
      verbs: [verb],
    }));
}

describe.each(CONTROL_PLANES)(
  'each route carries reviews, survives a break, and leaves nothing behind: %s',
  (_, mode) => {
    let cluster: TestCluster;
    let sshd: TestSshd;
    let checkout: Checkout;
    let before: RoutedSample['before'];
    let sample: RoutedSample;
    let reviewer: Reviewer & AsyncDisposable;
    /** Nothing is built, since a route does not depend on the controller. */
    let server: SavedServer;

    beforeAll(async () => {
      sample = await startRoutedSample(['GatewayPorts clientspecified'], mode);
      ({ cluster, sshd, checkout, before } = sample);
      reviewer = await createReviewer(cluster.kubeconfig);
      server = savedServer(checkout.directory, '9443');
    });

    afterAll(async () => {
      await reviewer?.[Symbol.asyncDispose]();
      await sample?.[Symbol.asyncDispose]();
    });

    // What a failed test leaves behind would make the next ones fail, too.
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') await runDevloop(['down'], { cwd: tmpdir(), env: env() });
    });

    /** What does not depend on endpoint routing is tested once in `npm test`, and in each mode in `npm run soak`. */
    const once = it.runIf(SOAK || !mode.aggregatorRouting);

    const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });
    /** With the home directory whose key sshd accepts. */
    const sshEnv = (): Record<string, string> => ({ ...env(), ...sshd.env });
    const start = (args: string[], variables = env()): DevloopRun =>
      startDevloop(['up', ...args, ...server.command], { cwd: checkout.directory, env: variables });
    const answer = (): Promise<string> => reviewer.ask();

    async function expectSaved(up: DevloopRun): Promise<void> {
      const saving = (async () => {
        const text = await server.save();
        await up.waitFor('controller.replaced', undefined, 120_000);
        await eventually(async () => expect(await answer()).toContain(text));
      })();
      expect(await failuresWhile(reviewer, saving, (one) => one.includes('answered here'))).toEqual([]);
    }

    /** A terminating relay Pod stays for a moment; everything else must be equal at once. */
    async function expectEqual(): Promise<void> {
      const { marked: _, ...rest } = before;
      expect(await snapshot(cluster, NAMESPACE)).toMatchObject(rest);
      await eventually(async () => expect(await snapshot(cluster, NAMESPACE)).toEqual(before));
    }

    async function expectPutBack(up: DevloopRun): Promise<void> {
      const lost = await lostWhileEnding(reviewer, async () => {
        up.signal('SIGINT');
        expect(await up.exited, up.log()).toBe(130);
      });
      expect(lost).toEqual([]);
      await expectEqual();
      expect(await answer()).toContain(MESSAGE);
    }

    /** The subresources of Pods over which somebody is connected, as the API server counts them. */
    async function waysToPods(): Promise<string[]> {
      const metrics = await cluster.text('/metrics');
      const open = metrics.matchAll(
        /^apiserver_longrunning_requests\{.*resource="pods".*subresource="(\w+)".*\} [1-9]\d*$/gm,
      );
      return [...open].map((line) => line[1]!);
    }

    // With endpoint routing off, up.soak.test.ts tests this with a build.
    it.runIf(SOAK || mode.aggregatorRouting)(
      'direct: a review, a save under load, and everything back',
      async () => {
        const text = await server.save();
        await using up = start(['--route', 'direct']);
        await up.waitFor('session.ready', undefined, 300_000);
        expect(await answer()).toContain(text);
        await expectSaved(up);
        await expectPutBack(up);
      },
    );

    it('ssh: the changes of the dry run, a review, a save under load, a tunnel that breaks, and everything back', async () => {
      const text = await server.save();
      const route = ['--route', `ssh:${sshd.to}`];
      const here = { cwd: checkout.directory, env: sshEnv() };
      const planned = await dryRun([...route, ...server.command], here);
      await using up = start(route, sshEnv());
      await up.waitFor('session.ready', undefined, 300_000);
      expectAsPlanned(up.events, planned, 'ssh');
      const proven = await up.waitFor('route.verified', (event) => event.service.includes(SERVICE));
      expect(proven).toMatchObject({ route: 'ssh', address: expect.stringContaining(sshd.address) });
      expect(await answer()).toContain(text);
      await expectSaved(up);
      expect(await sshd.killSessions()).toBeGreaterThan(0);
      await up.waitFor('route.reconnected');
      await eventually(async () => expect(await answer()).toContain('answered here'));
      await expectPutBack(up);
    });

    once('ssh: a tunnel that breaks in the middle of the cut-over is followed to its new port', async () => {
      const text = await server.save();
      await using up = start(['--route', `ssh:${sshd.to}`], sshEnv());
      await up.waitForAny((event) => isChange(event, 'Service', 'update'), 300_000);
      expect(await sshd.killSessions()).toBeGreaterThan(0);
      await up.waitFor('session.ready', undefined, 120_000);
      expect(await answer()).toContain(text);
      expect(up.events.filter(({ type }) => type === 'warning')).toEqual([]);
      await expectPutBack(up);
    });

    it('relay: a review, a save under load, a Pod that is deleted, and everything back', async () => {
      const text = await server.save();
      await using up = start(['--route', 'relay']);
      await up.waitFor('session.ready', undefined, 300_000);
      expect(await answer()).toContain(text);
      expect(await waysToPods()).toEqual(['proxy']);
      await expectSaved(up);
      const pods = `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=devloop.dev/relay`;
      await cluster.call('DELETE', pods);
      await up.waitFor('route.reconnected');
      await eventually(async () => expect(await answer()).toContain('answered here'));
      await expectPutBack(up);
    });

    once.each(inSoak(MOMENTS, 'the Service points to the Pod'))(
      'relay: killed when %s, and restored by down from another directory',
      async (name, moment) => {
        await repeat(`relay, up killed when ${name}`, { soak: 3 }, async () => {
          await server.save();
          await using up = start(['--route', 'relay']);
          await up.waitForAny(moment, 300_000);
          up.signal('SIGKILL');
          await up.exited;
          const { code, log } = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
          expect(code, log).toBe(0);
          await expectEqual();
        });
      },
    );

    once.each(['direct', 'relay'] as const)(
      '%s: needs no permissions but the required ones, and makes exactly the changes that the dry run prints',
      async (way) => {
        await server.save();
        const KUBECONFIG = await account(cluster, `by-${way}`, requiredRules(way));
        const variables = { ...env(), KUBECONFIG };
        const planned = await dryRun(['--namespace', NAMESPACE, ...server.command], {
          cwd: checkout.directory,
          env: variables,
        });
        await using up = start(['--namespace', NAMESPACE], variables);
        await up.waitFor('session.ready', undefined, 300_000);
        expect((await up.waitFor('route.verified')).route).toBe(way);
        if (way === 'relay') expect(await waysToPods()).toEqual(['portforward']);
        expectAsPlanned(up.events, planned, way);
        await expectPutBack(up);
      },
    );

    it.runIf(SOAK || mode.aggregatorRouting)('doctor sees whom kube-apiserver calls', async () => {
      const options = { cwd: checkout.directory, env: env() };
      const { events, log } = await runDevloop(
        ['doctor', '--context', cluster.name, '--route', 'direct'],
        options,
      );
      const findings = events.filter((event) => event.type === 'finding');
      const of = (check: string) => findings.find((one) => one.check === check);
      const answer = expect.stringMatching(mode.aggregatorRouting ? /^on:/ : /^off/);
      expect(of('endpoint routing'), log).toMatchObject({ verdict: 'ok', answer });
      expect(of('route direct')?.verdict, log).toBe('ok');
    });

    once('auto: takes the relay where the machine is not reached, and says why', async () => {
      const text = await server.save();
      await using up = start(['--address', NOWHERE, '--port', '17443']);
      await up.waitFor('session.ready', undefined, 300_000);
      const note = await up.waitFor('note', ({ code }) => code === 'route.next');
      expect(note.values).toMatchObject({ next: 'relay', cause: expect.stringContaining(NOWHERE) });
      expect(await answer()).toContain(text);
      await expectPutBack(up);
    });

    once(
      'ssh: refuses a host that listens on loopback only, with the line of sshd_config to change',
      async () => {
        await sshd.restart(['GatewayPorts no']);
        const { code, events } = await runDevloop(['up', '--route', `ssh:${sshd.to}`, ...server.command], {
          cwd: checkout.directory,
          env: sshEnv(),
        });
        expect(code).toBe(5);
        expect(events.at(-1)).toMatchObject({
          type: 'error',
          code: 'route.none',
          message: expect.stringMatching(/refused[\s\S]*loopback/),
          hint: expect.stringContaining('GatewayPorts clientspecified'),
        });
        expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
        await sshd.restart();
      },
    );
  },
);
