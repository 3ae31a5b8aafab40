import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { selfSignedPair } from '../../src/certificates/self-signed.ts';
import type { WebhookConfiguration } from '../../src/cluster/api/objects.ts';
import type { Workload } from '../../src/cluster/api/workloads.ts';
import { CATALOGUE } from '../../src/errors.ts';
import { isPortBusy } from '../../src/machine/port.ts';
import type { DevloopEvent } from '../../src/report/events.ts';
import { objectText } from '../../src/report/text.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { established } from '../support/cluster-waits.ts';
import { BIN, runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import {
  askHook,
  deployHooks,
  FIRST,
  HOOK_NAMESPACE,
  hooksAtRest,
  putSecret,
} from '../support/hook-operator.ts';
import { HOOK_SERVER, hookServer } from '../support/hook-server.ts';
import { InspectorClient } from '../support/inspector.ts';
import { load } from '../support/reviews.ts';
import { snapshot } from '../support/snapshot.ts';
import { openTerminal } from '../support/terminal.ts';
import { issue } from '../unit/certificates/openssl.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const MUTATING = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const SERVICES = ['--service', `${HOOK_NAMESPACE}/first`, '--service', `${HOOK_NAMESPACE}/second`];

describe('an operator in another language, with several Services, ports and a conversion', () => {
  let cluster: TestCluster;
  let directory: string;
  let before: Awaited<ReturnType<typeof snapshot>>;
  const options = (): { cwd: string; env: Record<string, string> } => ({
    cwd: directory,
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  const ask = (name: string): Promise<unknown> => askHook(cluster, name);

  const configuration = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks';
  /** A JSON patch of the operator's webhook configuration. */
  const patchHooks = (patch: object[]): Promise<unknown> => cluster.call('PATCH', configuration, patch);

  const setTimeoutSeconds = async (value: number): Promise<void> =>
    void (await patchHooks([{ op: 'replace', path: '/webhooks/0/timeoutSeconds', value }]));

  /** Sets the timeout of the first webhook, which is usually 10 s. */
  const timeOutAfter = async (seconds: number): Promise<void> => {
    await setTimeoutSeconds(seconds);
    onTestFinished(() => setTimeoutSeconds(10));
  };

  /** Does the same, but only while `act` runs. */
  const withTimeout = async <T>(seconds: number, act: () => Promise<T>): Promise<T> => {
    await setTimeoutSeconds(seconds);
    return await act().finally(() => setTimeoutSeconds(10));
  };

  /** Creates an object of version v2, which is stored as v1. */
  async function convert(group: string, plural: string, kind: string): Promise<void> {
    const apiVersion = `${group.slice('/apis/'.length)}/v2`;
    const object = { apiVersion, kind, metadata: { name: 'one' } };
    await cluster.call('POST', `${group}/v2/namespaces/default/${plural}`, object);
  }

  /** Does the same, and reads it as v2 again. */
  async function expectConverted(group: string, plural: string, kind: string): Promise<void> {
    await convert(group, plural, kind);
    const apiVersion = `${group.slice('/apis/'.length)}/v2`;
    expect(await cluster.read(`${group}/v2/namespaces/default/${plural}/one`)).toMatchObject({ apiVersion });
    await cluster.call('DELETE', `${group}/v1/namespaces/default/${plural}/one`);
  }

  beforeAll(async () => {
    cluster = await startCluster({ certManager: false, log: (line) => console.error(line) });
    await deployHooks(cluster);
    before = await snapshot(cluster, HOOK_NAMESPACE);
  });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'devloop-variant-'));
    return () => rm(directory, { recursive: true, force: true });
  });

  afterAll(() => cluster?.[Symbol.asyncDispose]());

  it('while the controller is down, no review reaches another program on its port, and Ctrl-C restores everything', async () => {
    const broken = join(directory, 'broken');
    const [separator, ...command] = hookServer('local', '9444', '9445');
    const unlessBroken = ['/bin/sh', '-c', `test ! -e ${broken} && exec "$@"`, 'sh', ...command];
    await using up = startDevloop(['up', ...SERVICES, separator!, ...unlessBroken], options());
    const { pid } = await up.waitFor('controller.started');
    await up.waitFor('session.ready');
    await writeFile(broken, '');
    process.kill(pid, 'SIGKILL');
    // It was restarted without success.
    await up.waitFor('controller.exited', (event) => event.pid !== pid);
    const temporary = await temporaryWithPair(directory);
    const stranger = spawn(process.execPath, [HOOK_SERVER, 'stranger', '9444', '9445'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    try {
      await eventually(async () => expect(await isPortBusy(9444)).toBe(true));
      expect(await ask('first').catch(String)).toContain('devloop: the controller');
      const answers: string[] = [];
      let isOver = false;
      const asking = (async () => {
        while (!isOver) answers.push(String(await ask('first').catch(String)));
      })();
      up.signal('SIGINT');
      const code = await up.exited;
      isOver = true;
      await asking;
      expect(code, up.log()).toBe(130);
      expect(answers.filter((answer) => answer.includes('stranger'))).toEqual([]);
    } finally {
      stranger.kill('SIGKILL');
    }
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('is served on every port by the command of devloop.yaml, which is restarted when it is saved; down restores everything', async () => {
    const copy = join(directory, 'server.mjs');
    await writeFile(copy, await readFile(HOOK_SERVER, 'utf8'));
    const run = `[${process.execPath}, ${copy}, yaml, "9444", "9445"]`;
    await writeFile(
      join(directory, 'devloop.yaml'),
      `service: [${HOOK_NAMESPACE}/first, ${HOOK_NAMESPACE}/second]\ncontroller:\n  run: ${run}\n  watch: ["."]\n`,
    );
    await using up = startDevloop(['up'], options());
    await up.waitFor('session.ready');
    await expect(ask('first')).rejects.toThrow('yaml on 9444 says no');
    await expect(ask('second')).rejects.toThrow('yaml on 9445 says no');
    await expect(ask('third')).rejects.toThrow('yaml on 9445 says no');
    await expectConverted('/apis/hooks.example.com', 'widgets', 'Widget');
    // Held too long with the default of --on-timeout, and the failurePolicy is Fail.
    expect((await runDevloop(['hold'], options())).code).toBe(0);
    const late = await withTimeout(3, () => ask('first').catch(String));
    expect(late).toContain('failed calling webhook');
    expect(late).toContain('devloop release');
    expect((await runDevloop(['release'], options())).code).toBe(0);
    await writeFile(copy, (await readFile(HOOK_SERVER, 'utf8')).replace('says no', 'says never'));
    await up.waitFor('controller.replaced');
    await expect(ask('first')).rejects.toThrow('yaml on 9444 says never');
    const down = await runDevloop(['down'], { ...options(), cwd: tmpdir() });
    expect(down.code, down.log).toBe(0);
    expect(await up.exited).toBe(130);
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('loses no review when a controller is replaced that takes long to end, whether it goes on answering or not', async () => {
    const copy = join(directory, 'server.mjs');
    const original = await readFile(HOOK_SERVER, 'utf8');
    const save = (says: string, afterSigterm: string): Promise<void> =>
      writeFile(copy, original.replace('says no', `says ${says}`).replace("= 'exit'", `= '${afterSigterm}'`));
    await save('one', 'answer');
    const run = `[${process.execPath}, ${copy}, late, "9444", "9445"]`;
    const services = `service: [${HOOK_NAMESPACE}/first, ${HOOK_NAMESPACE}/second]`;
    await writeFile(
      join(directory, 'devloop.yaml'),
      `${services}\ncontroller:\n  run: ${run}\n  watch: ["."]\n`,
    );
    // Half of the time is over before the grace period is.
    await timeOutAfter(16);
    await using up = startDevloop(['up'], options());
    await up.waitFor('session.ready');
    const reviewer = {
      ask: () =>
        ask('first').then(
          () => 'accepted',
          (error: Error) => error.message,
        ),
    };
    const saving = (async () => {
      await save('two', 'silent');
      await up.waitFor('note', ({ code }) => code === 'controller.still-answering');
      expect(await reviewer.ask()).toContain('says one');
      expect(await up.waitFor('controller.exited')).toMatchObject({ code: 0, expected: true });
      await up.waitFor('controller.replaced');
      await save('three', 'exit');
      await up.waitFor('note', ({ code }) => code === 'controller.killed');
      expect(await up.waitFor('controller.exited')).toMatchObject({ signal: 'SIGKILL', expected: true });
      await up.waitFor('controller.replaced');
    })();
    const { failures } = await load(reviewer, 5, saving, (answer) => /says (one|two|three)/.test(answer));
    await saving;
    expect(failures).toEqual([]);
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
  });

  it('a controller that does not start: the restore does not wait for its end, and reviews are refused with the cause', async () => {
    await writeFile(join(directory, 'devloop.yaml'), 'controller: {readySeconds: 5}\n');
    const stubborn = ['--', '/bin/sh', '-c', 'trap "" TERM; sleep 600'];
    await timeOutAfter(30);
    const reviewer = {
      ask: () =>
        ask('first').then(
          () => 'accepted',
          (error: Error) => error.message,
        ),
    };
    await using up = startDevloop(['up', ...SERVICES, ...stubborn], options());
    await up.waitFor('controller.started');
    expect(await reviewer.ask()).toMatch(/did not answer TLS .*the session is ending/);
    await up.waitFor('change', ({ action, object }) => action === 'restore' && object.kind === 'Deployment');
    expect(up.events.filter(({ type }) => type === 'controller.exited')).toEqual([]);
    expect(await up.exited, up.log()).toBe(CATALOGUE['controller.not-ready'].exit);
    expect(up.events).toContainEqual(
      expect.objectContaining({ type: 'controller.exited', signal: 'SIGKILL', expected: true }),
    );
    await timeOutAfter(10);
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('--no-controller: reviews wait for the process that the user starts, and are refused at once when the session ends', async () => {
    const temporary = join(directory, 'tmp');
    await mkdir(temporary);
    const { cwd, env } = options();
    await using up = startDevloop(['up', '--no-controller', '--on-timeout', 'allow', ...SERVICES], {
      cwd,
      env: { ...env, TMPDIR: temporary },
    });
    const { files } = await up.waitFor('controller.kubeconfig');
    const whoAmI = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    expect(await cluster.kubectl(whoAmI, { kubeconfig: files.join(':') })).not.toBe('');
    await withTimeout(3, () => ask('first'));
    const allowed = await up.waitFor('review', ({ verdict }) => verdict === 'answered-by-devloop');
    expect(allowed.warnings).toEqual([expect.stringContaining('devloop')]);
    const asked = ask('first').then(String, (error: Error) => error.message);
    const server = spawn(process.execPath, [HOOK_SERVER, 'debugged', '9444', '9445'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const closed = once(server, 'close');
    try {
      expect(await asked).toContain('debugged on 9444 says no');
    } finally {
      server.kill('SIGKILL');
      await closed;
    }
    const waiting = ask('first').then(String, (error: Error) => error.message);
    const converting = convert('/apis/hooks.example.com', 'widgets', 'Widget').catch(String);
    await pause(500);
    up.signal('SIGINT');
    expect(await waiting).toContain('the session is ending');
    expect(await converting).toMatch(/conversion webhook for .* failed: devloop: .*the session is ending/);
    expect(await up.exited).toBe(130);
    expect(up.events).toContainEqual(
      expect.objectContaining({
        type: 'review',
        kind: 'conversion',
        verdict: 'answered-by-devloop',
        code: 503,
      }),
    );
  });

  it('at a terminal: h and devloop release elsewhere, a review held too long, o, r, l, p, ?, and q restores everything', async () => {
    await runDevloop(['context', 'forget'], options());
    const up = ['up', '--on-timeout', 'deny', ...SERVICES, ...hookServer('typed', '9444', '9445')];
    const { cwd, env } = options();
    const line = [process.execPath, BIN, ...up].join(' ');
    const shell = { ...env, NO_COLOR: '1', DISPLAY: '', WAYLAND_DISPLAY: '' };
    await using terminal = openTerminal(line, { cwd, env: shell });
    const shows = (text: string): Promise<void> =>
      eventually(async () => expect(terminal.shown()).toContain(text), 90_000);
    const press = async (key: string, effect: string): Promise<void> => {
      terminal.type(key);
      await shows(effect);
    };
    // devloop has not seen this cluster before.
    await shows('(yes/no)');
    terminal.type('yes\r');
    await shows('● serving');
    expect(terminal.shown()).toContain('│ typed listens on 9444');
    await press('h', '● held');
    const manifest = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', labels: { ask: 'first' } },
    };
    const applied = cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(manifest) }).catch(String);
    await shows('1 review waiting');
    const list = async (...more: string[]) =>
      (await runDevloop(['reviews', '--name', 'x', ...more], options())).events;
    await eventually(async () =>
      expect(await list('--verdict', 'waiting')).toMatchObject([
        { type: 'reviews.waiting', review: { waitsFor: 'release' } },
      ]),
    );
    const released = await runDevloop(['release'], options());
    expect(released.events).toMatchObject([{ type: 'reviews.released', waiting: 1 }]);
    expect(await applied).toContain('typed on 9444 says no');
    await eventually(async () =>
      expect(await list()).toMatchObject([
        { type: 'reviews.listed', review: { id: 'r-000001', verdict: 'denied', isOwnUser: true } },
      ]),
    );
    await shows('r-000001');

    await runDevloop(['hold'], options());
    expect(await withTimeout(3, () => ask('first').catch(String))).toMatch(/denied the request: .*devloop/);
    const listed = await runDevloop(['reviews', '--verdict', 'answered-by-devloop'], options());
    expect(listed.events).toMatchObject([{ review: { code: 503, object: { name: 'x' } } }]);
    terminal.type('h');
    await press('o', 'open http://127.0.0.1:');
    const [page = ''] = /http:\/\/127\.0\.0\.1:\S+/.exec(terminal.shown()) ?? [];
    expect(await (await fetch(page)).text()).toContain('<title>devloop</title>');
    await press('l', "all of the controller's log is shown");
    await press('r', 'replaced ');
    await expect(ask('first')).rejects.toThrow('typed on 9444 says no');
    expect(terminal.shown().match(/│ typed listens on 9444/g)).toHaveLength(2);
    await press('p', 'ignoring ');
    await writeFile(join(directory, 'changed'), 'x');
    expect(terminal.shown().match(/replaced /g)).toHaveLength(1);
    // What changed in the meantime is built then.
    await press('p', 'following ');
    await eventually(async () => expect(terminal.shown().match(/replaced /g)).toHaveLength(2), 90_000);
    await press('?', 'p  ignore changed files');
    await press('q', 'restored ');
    await terminal.closed;
    expect(terminal.shown()).toMatch(/note +q: /);
    expect(terminal.shown()).not.toContain('SIGINT');
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('a review held too long is admitted if the failurePolicy is Ignore, and Ctrl-C forwards one that is held', async () => {
    await using up = startDevloop(['up', ...SERVICES, ...hookServer('held', '9444', '9445')], options());
    await up.waitFor('session.ready');
    const setPolicy = (value: string) =>
      patchHooks([{ op: 'replace', path: '/webhooks/0/failurePolicy', value }]);
    await setPolicy('Ignore');
    onTestFinished(async () => void (await setPolicy('Fail')));
    expect((await runDevloop(['hold'], options())).code).toBe(0);
    // The server refuses everything, so only the failurePolicy can admit this.
    await withTimeout(3, () => ask('first'));
    const { events } = await runDevloop(['reviews', '--verdict', 'answered-by-devloop'], options());
    expect(events).toMatchObject([{ review: { code: 503, object: { name: 'x' } } }]);
    await setPolicy('Fail');
    const held = ask('first').catch(String);
    await eventually(async () =>
      expect((await runDevloop(['reviews', '--verdict', 'waiting'], options())).events).toMatchObject([
        { type: 'reviews.waiting', review: { waitsFor: 'release' } },
      ]),
    );
    up.signal('SIGINT');
    expect(await held).toContain('held on 9444 says no');
    expect(await up.exited).toBe(130);
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('follows a renewed certificate: the files, and what the gateway presents', async () => {
    await using up = startDevloop(['up', ...SERVICES, ...hookServer('renewed', '9444', '9445')], options());
    const { value: address } = await up.waitFor('discovered', (event) => event.what === 'address');
    await up.waitFor('session.ready');
    const old = await presented(address, FIRST);
    await putSecret(cluster, 'first-cert', FIRST);
    // The caBundle no longer fits. devloop says so, and keeps the pair that kube-apiserver trusts.
    const misfit = await up.waitFor('warning', (event) => event.code === 'certificate.not-refreshed', 30_000);
    expect(misfit.values).toMatchObject({
      secret: { namespace: HOOK_NAMESPACE, name: 'first-cert' },
      cause: expect.stringContaining('ValidatingWebhookConfiguration hooks'),
    });
    expect(await presented(address, FIRST)).toBe(old);
    const fresh = Buffer.from(await putSecret(cluster, 'first-cert', FIRST)).toString('base64');
    for (const index of [0, 1])
      await patchHooks([{ op: 'replace', path: `/webhooks/${index}/clientConfig/caBundle`, value: fresh }]);
    await up.waitFor(
      'certificate.written',
      (event) =>
        event.source.includes('first-cert') &&
        up.events.indexOf(event) > up.events.findIndex((one) => one.type === 'session.ready'),
      30_000,
    );
    await eventually(async () => expect(await presented(address, FIRST)).not.toBe(old));
    await expect(ask('first')).rejects.toThrow('renewed on 9444 says no');
    // Its caBundle is unchanged, so its conversions fail.
    const distrusted = await up.waitFor('warning', ({ code }) => code === 'certificate.distrusted', 30_000);
    expect(distrusted.values).toMatchObject({
      caller: { kind: 'CustomResourceDefinition', name: 'widgets.hooks.example.com' },
    });
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
  });

  it('a CA in the Secret, which the caBundle trusts, issues what kube-apiserver accepts; Ctrl-C restores everything', async () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const ca = issue({ ca: true, subject: '/CN=hooks CA', names: [] });
    const data = { 'ca-cert.pem': base64(ca.certificate), 'ca-key.pem': base64(ca.key) };
    const metadata = { name: 'own-ca', namespace: HOOK_NAMESPACE };
    await cluster.apply([{ apiVersion: 'v1', kind: 'Secret', metadata, data }]);
    const { webhooks = [] } = (await cluster.read(configuration)) as WebhookConfiguration;
    const trusted = Buffer.from(webhooks[0]!.clientConfig.caBundle!, 'base64').toString();
    const value = base64(trusted + ca.certificate);
    for (const index of [0, 1])
      await patchHooks([{ op: 'replace', path: `/webhooks/${index}/clientConfig/caBundle`, value }]);
    await writeFile(join(directory, 'devloop.yaml'), 'certificates: {secret: own-ca}\n');
    await hooksAtRest(cluster);
    const now = await snapshot(cluster, HOOK_NAMESPACE);
    const server = hookServer('issued', '9444', '9445');
    await using up = startDevloop(['up', ...SERVICES.slice(0, 2), ...server], options());
    await up.waitFor('session.ready');
    await expect(ask('first')).rejects.toThrow('issued on 9444 says no');
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(now);
  });

  it('listens on another port, as a variable says, where that of its Pod is in use on this machine', async () => {
    const holder = createServer().listen(9444);
    onTestFinished(() => void holder.close());
    const server = hookServer('moved', 'WEBHOOK_PORT', '9445');
    await using up = startDevloop(['up', ...SERVICES, ...server], options());
    const changed = { setting: 'WEBHOOK_PORT', place: 'variable', before: '9444' };
    await up.waitFor(
      'note',
      ({ code, values }) =>
        code === 'setting.changed' && isDeepStrictEqual({ ...values, ...changed }, values),
    );
    await up.waitFor('session.ready');
    await expect(ask('first')).rejects.toThrow('moved on WEBHOOK_PORT says no');
    // The review is recorded after it was answered.
    await eventually(async () => {
      const again = await runDevloop(['reviews', 'replay'], options());
      expect(again, again.log).toMatchObject({ code: 0 });
    });
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
  });

  it('takes reviews of webhooks and CRDs that are added while it runs, and nothing on other paths; Ctrl-C restores everything', async () => {
    await hooksAtRest(cluster);
    const now = await snapshot(cluster, HOOK_NAMESPACE);
    await using up = startDevloop(
      ['up', ...SERVICES, '--allow-from', '10.0.0.0/8', ...hookServer('added', '9444', '9445')],
      options(),
    );
    const { value: address } = await up.waitFor('discovered', (event) => event.what === 'address');
    await up.waitFor('session.ready');
    const { webhooks = [] } = (await cluster.read(configuration)) as WebhookConfiguration;
    const added = {
      ...structuredClone(webhooks[0]!),
      name: 'added.hooks.example.com',
      objectSelector: { matchLabels: { ask: 'added' } },
    };
    added.clientConfig.service!.path = '/added/';
    expect(await statusAt(address, '/added')).toBe(404);
    await patchHooks([{ op: 'add', path: '/webhooks/-', value: added }]);
    const causes: string[] = [];
    await eventually(async () => {
      causes.push(await ask('added').then(String, (error: Error) => error.message));
      expect(causes.at(-1)).toContain('added on 9444 says no');
    });
    // Before that, kube-apiserver did not know the webhook yet; the gateway never refused it.
    expect(causes.filter((cause) => cause.includes('devloop:'))).toEqual([]);
    await patchHooks([{ op: 'remove', path: `/webhooks/${webhooks.length}` }]);
    added.clientConfig.service!.path = '/unserved/';
    await patchHooks([{ op: 'add', path: '/webhooks/-', value: added }]);
    const refusals: string[] = [];
    await eventually(async () => {
      refusals.push(await ask('added').then(String, (error: Error) => error.message));
      expect(refusals.at(-1)).toContain('does not serve /unserved');
    });
    expect(refusals.filter((cause) => cause.includes('not find'))).toEqual([]);
    const { values } = await up.waitFor('warning', ({ code }) => code === 'webhooks.unserved');
    const callers = [{ kind: 'ValidatingWebhookConfiguration' }];
    expect(values).toMatchObject({ paths: [{ path: '/unserved', callers }] });
    await patchHooks([{ op: 'remove', path: `/webhooks/${webhooks.length}` }]);

    await cluster.apply(gadgets(webhooks[0]!.clientConfig.caBundle!));
    await established(cluster, 'gadgets.other.example.com');
    await eventually(() => expectConverted('/apis/other.example.com', 'gadgets', 'Gadget'));
    const converted = await up.waitFor('review', ({ verdict }) => verdict === 'converted');
    expect(converted).toMatchObject({
      ...{ kind: 'conversion', webhook: 'gadgets.other.example.com', objects: 1 },
      ...{ from: ['other.example.com/v2'], to: 'other.example.com/v1' },
    });
    const { events: parts } = await runDevloop(['reviews', 'show', converted.id], options());
    expect(parts).toMatchObject([{ type: 'reviews.shown', review: { id: converted.id } }]);
    const { sections } = parts[0] as Extract<DevloopEvent, { type: 'reviews.shown' }>;
    expect(sections.map(({ title, text }) => [title, /^-apiVersion: (\S+)/m.exec(text)?.[1]])).toEqual([
      ['objects', undefined],
      ['converted objects', undefined],
      ['changed by the webhook', 'other.example.com/v2'],
      ['answer', undefined],
    ]);
    await cluster.call('DELETE', `${CRDS}/gadgets.other.example.com`);
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
    expect(up.events).toContainEqual(
      expect.objectContaining({
        code: 'gateway.strangers',
        values: expect.objectContaining({ requests: expect.any(Number) }),
      }),
    );
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(now);
  });

  it('says which fields of a patch kube-apiserver does not store, and is right about it', async () => {
    await writeFile(join(directory, 'Makefile'), 'manifests: tool\ninstall: manifests\n');
    await hooksAtRest(cluster);
    await using up = startDevloop(
      ['up', ...SERVICES, '--allow-from', '10.0.0.0/8', ...hookServer('paint', '9444', '9445')],
      options(),
    );
    await up.waitFor('session.ready');
    const { webhooks = [] } = (await cluster.read(configuration)) as WebhookConfiguration;
    await cluster.apply(paints(webhooks[0]!.clientConfig.caBundle!));
    onTestFinished(async () => {
      await cluster.call('DELETE', `${MUTATING}/paints`);
      await cluster.call('DELETE', `${CRDS}/paints.other.example.com`);
    });
    await established(cluster, 'paints.other.example.com');
    const place = (version: string) => `/apis/other.example.com/${version}/namespaces/default/paints`;
    const painted = async (version: string, name: string, patch: object[], spec: object = {}) => {
      const metadata = { name, annotations: { patch: JSON.stringify(patch) } };
      const apiVersion = `other.example.com/${version}`;
      await cluster.call('POST', place(version), { apiVersion, kind: 'Paint', metadata, spec });
      const review = await up.waitFor('review', ({ object }) => object?.name === name);
      return { review, spec: ((await cluster.read(`${place('v1')}/${name}`)) as { spec: object }).spec };
    };
    const colour = { op: 'add', path: '/spec/colour', value: 'red' };
    const notInCrd = (field: string) => ({ field, why: 'not-in-crd' });
    let tries = 0;
    // Until kube-apiserver calls the webhook, and devloop has read the CRD.
    await eventually(async () => {
      const { review, spec } = await painted('v1', `first-${tries++}`, [colour]);
      expect(spec).toEqual({});
      expect(review.pruned).toEqual([notInCrd('spec.colour')]);
    }, 30_000);
    expect(await up.waitFor('warning', ({ hint }) => hint === 'make manifests install')).toMatchObject({
      code: 'fields.pruned',
      values: { kind: 'Paint', fields: ['spec.colour'] },
    });

    const embedded = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', labels: { a: 'b' } } };
    const kept = {
      rules: [{ name: 'a' }],
      open: { x: { y: 1 } },
      map: { k: { a: 'x' } },
      either: 'x',
      embedded,
    };
    const all = await painted(
      'v1',
      'all',
      [
        ...Object.entries({
          ...kept,
          colour: 'red',
          rules: [{ name: 'a', colour: 'red' }],
          map: { k: { a: 'x', colour: 'red' } },
          embedded: { ...embedded, colour: 'red' },
        }).map(([key, value]) => ({ op: 'add', path: `/spec/${key}`, value })),
        { op: 'add', path: '/spec/gone', value: 'x' },
        { op: 'remove', path: '/spec/gone' },
        { op: 'add', path: '/status', value: { phase: 'x' } },
      ],
      { typed: 'by the user' },
    );
    expect(all.spec).toEqual(kept);
    expect(await cluster.read(`${place('v1')}/all`)).not.toHaveProperty('status');
    const because = [...(all.review.pruned ?? [])].sort((one, other) => (one.field < other.field ? -1 : 1));
    expect(because).toEqual([
      ...['spec.colour', 'spec.embedded.colour', 'spec.map.*.colour', 'spec.rules[].colour'].map(notInCrd),
      { field: 'status', why: 'status-subresource' },
    ]);
    // What the user sends is pruned before any webhook gets it.
    const { events } = await runDevloop(['reviews', 'show', all.review.id], options());
    expect(JSON.stringify(events)).not.toContain('by the user');

    // `early` is only in v1, which is stored, and `late` is only in v2.
    const both = ['early', 'late'].map((key) => ({ op: 'add', path: `/spec/${key}`, value: 'x' }));
    for (const version of ['v1', 'v2']) {
      const { review, spec } = await painted(version, `both-${version}`, both);
      expect(spec).toEqual({ early: 'x' });
      expect(review.pruned).toEqual([notInCrd('spec.late')]);
      expect(await cluster.read(`${place('v2')}/both-${version}`)).toMatchObject({ spec: {} });
    }
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
  });

  it('certs writes the key pair with modes that keep it private', async () => {
    const output = join(directory, 'certs');
    const { code, log } = await runDevloop(
      ['certs', '--service', `${HOOK_NAMESPACE}/second`, '--output', output],
      options(),
    );
    expect(code, log).toBe(0);
    expect(await readFile(join(output, 'tls.crt'), 'utf8')).toContain('BEGIN CERTIFICATE');
    expect((await stat(join(output, 'tls.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(output)).mode & 0o777).toBe(0o700);
  });

  it('--dry-run says what would change, and changes nothing', async () => {
    await hooksAtRest(cluster);
    const now = await snapshot(cluster, HOOK_NAMESPACE);
    const own = ['--', 'make', 'run'];
    const { code, events, log } = await runDevloop(['up', '--dry-run', ...SERVICES, ...own], options());
    expect(code, log).toBe(0);
    const planned = (way: string | undefined): string[] =>
      events.flatMap((event) =>
        event.type === 'change' && event.dryRun && event.route === way ? [objectText(event.object)] : [],
      );
    expect(planned('direct')).toContain(`Service ${HOOK_NAMESPACE}/first`);
    expect(planned('relay')).toContain(`Secret ${HOOK_NAMESPACE}/devloop-relay-<session>`);
    expect(planned(undefined)).toEqual(
      expect.arrayContaining([
        `Lease ${HOOK_NAMESPACE}/devloop.deployment.hooks`,
        `Deployment ${HOOK_NAMESPACE}/hooks`,
      ]),
    );
    expect(events.filter(({ type }) => type === 'route.planned')).toMatchObject([
      { route: 'direct', position: 1 },
      { route: 'relay', position: 2 },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'controller.planned', command: ['make', 'run'] });
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(now);
  });

  it("an apply stands at a breakpoint of the user's own debugger, is stepped, and is answered", async () => {
    const before = await snapshot(cluster, HOOK_NAMESPACE);
    const port = await freePort();
    const [separator, node, ...server] = hookServer('debugged', '9444', '9445');
    const command = [node!, `--inspect=127.0.0.1:${port}`, ...server];
    await using up = startDevloop(['up', ...SERVICES, separator!, ...command], options());
    await up.waitFor('session.ready');
    using editor = await InspectorClient.attach(port);
    const lines = (await readFile(HOOK_SERVER, 'utf8')).split('\n');
    const line = lines.findIndex((one) => one.includes('desiredAPIVersion, objects } =')) + 1;
    await editor.setBreakpoint(HOOK_SERVER, line);
    const asked = ask('first').then(String, (error: Error) => error.message);
    expect(await editor.stoppedAt()).toEqual({ line, function: 'answer' });
    await editor.send('Debugger.stepOver');
    expect(await editor.stoppedAt()).toEqual({ line: line + 1, function: 'answer' });
    await editor.send('Debugger.resume');
    expect(await asked).toContain('debugged on 9444 says no');
    up.signal('SIGINT');
    expect(await up.exited, up.log()).toBe(130);
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('an operator without webhooks is quieted, run, and put back', async () => {
    for (const called of [configuration, `${CRDS}/widgets.hooks.example.com`])
      await cluster.call('DELETE', called);
    await using up = startDevloop(
      [
        'up',
        '--deployment',
        `${HOOK_NAMESPACE}/hooks`,
        ...['--controller-log', 'warnings'],
        '--',
        process.execPath,
        '-e',
        'console.log(process.env.GREETING, process.env.SPACE); console.log("INFO\\tquiet\\nWARN\\tloud"); setInterval(() => {}, 1000)',
      ],
      options(),
    );
    await up.waitFor('session.ready');
    const path = `/apis/apps/v1/namespaces/${HOOK_NAMESPACE}/deployments/hooks`;
    const replicas = async () => ((await cluster.read(path)) as Workload).spec.replicas;
    await up.waitFor('controller.output', ({ line }) => line === 'WARN\tloud');
    const printed = up.events.flatMap((event) => (event.type === 'controller.output' ? [event.line] : []));
    expect(printed).toEqual([`hello ${HOOK_NAMESPACE}`, 'WARN\tloud']);
    expect(await replicas()).toBe(0);
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
    expect(await replicas()).toBe(2);
  });
});

/** Its group is not one of the checkout's. */
function gadgets(caBundle: string): string {
  return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.other.example.com}
spec:
  group: other.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {caBundle: ${caBundle}, service: {namespace: ${HOOK_NAMESPACE}, name: first, path: /convert-gadgets}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
`;
}

/** A CRD whose versions have different fields, and a webhook that changes its objects. */
function paints(caBundle: string): string {
  const schema = (field: string): string => `
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              ${field}: {type: string}
              rules: {type: array, items: {type: object, properties: {name: {type: string}}}}
              open: {type: object, x-kubernetes-preserve-unknown-fields: true}
              map: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}
              either: {x-kubernetes-int-or-string: true}
              embedded: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
          status: {type: object, properties: {phase: {type: string}}}`;
  return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: paints.other.example.com}
spec:
  group: other.example.com
  names: {kind: Paint, plural: paints}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: ${schema('early')}
  - name: v2
    served: true
    storage: false
    subresources: {status: {}}
    schema: ${schema('late')}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: paints}
webhooks:
- name: paints.hooks.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  matchPolicy: Exact
  rules:
  - {apiGroups: [other.example.com], apiVersions: ['*'], operations: [CREATE, UPDATE], resources: [paints], scope: Namespaced}
  clientConfig: {caBundle: ${caBundle}, service: {namespace: ${HOOK_NAMESPACE}, name: first, path: /added}}
`;
}

/** The status that a stranger gets who posts to the gateway. */
function statusAt(address: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const posted = request(`https://${address}${path}`, {
      method: 'POST',
      rejectUnauthorized: false,
      agent: false,
    });
    posted.on('response', (response) => resolve(response.resume().statusCode));
    posted.on('error', reject);
    posted.end('{}');
  });
}

/** The serial number of the certificate that is presented for a name. */
function presented(address: string, servername: string): Promise<string> {
  const at = address.lastIndexOf(':');
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: address.slice(0, at),
      port: Number(address.slice(at + 1)),
      servername,
      rejectUnauthorized: false,
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.end();
    });
  });
}

/** A TMPDIR in which the hook server finds a key pair. */
async function temporaryWithPair(directory: string): Promise<string> {
  const pairDirectory = join(directory, 'k8s-webhook-server/serving-certs');
  const { certificate, key } = await selfSignedPair(['localhost'], { days: 1 });
  await mkdir(pairDirectory, { recursive: true });
  await writeFile(join(pairDirectory, 'tls.crt'), certificate);
  await writeFile(join(pairDirectory, 'tls.key'), key);
  return directory;
}
