import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { objectText } from '../../src/report/text.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import {
  askHook,
  deployHooks,
  FIRST,
  HOOK_NAMESPACE,
  hooksAtRest,
  putSecret,
} from '../support/hook-operator.ts';
import { HOOK_SERVER, hookServer } from '../support/hook-server.ts';
import { snapshot } from '../support/snapshot.ts';

const SERVICES = ['--service', `${HOOK_NAMESPACE}/first`, '--service', `${HOOK_NAMESPACE}/second`];

describe('an operator in another language, with several Services, ports and a conversion', () => {
  let cluster: TestCluster;
  let directory: string;
  let before: Awaited<ReturnType<typeof snapshot>>;
  const options = (): { cwd: string; env: Record<string, string> } => ({
    cwd: directory,
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  const ask = (name: string): Promise<string> => askHook(cluster, name);

  /** A JSON patch of the operator's webhook configuration. */
  const patchHooks = (patch: object[]): Promise<string> => {
    const args = ['patch', 'validatingwebhookconfiguration', 'hooks', '--type', 'json', '-p'];
    return cluster.kubectl([...args, JSON.stringify(patch)]);
  };

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

  it('is served on every port by the command behind --, and put back', async () => {
    await using up = startDevloop(['up', ...SERVICES, ...hookServer('local', '9444', '9445')], options());
    await up.waitFor('session.ready');
    await expect(ask('first')).rejects.toThrow('local on 9444 says no');
    await expect(ask('second')).rejects.toThrow('local on 9445 says no');
    await expect(ask('third')).rejects.toThrow('local on 9445 says no');
    const widget =
      '{apiVersion: hooks.example.com/v2, kind: Widget, metadata: {name: w, namespace: default}}';
    await cluster.kubectl(['apply', '-f', '-'], { input: widget });
    expect(
      await cluster.kubectl(['get', 'widgets.v2.hooks.example.com', 'w', '-o', 'jsonpath={.apiVersion}']),
    ).toBe('hooks.example.com/v2');
    await cluster.kubectl(['delete', 'widgets.v1.hooks.example.com', 'w']);
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
    await hooksAtRest(cluster);
    expect(await snapshot(cluster, HOOK_NAMESPACE)).toEqual(before);
  });

  it('takes its command and environment from devloop.yaml', async () => {
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
    await writeFile(copy, (await readFile(HOOK_SERVER, 'utf8')).replace('says no', 'says never'));
    await up.waitFor('controller.replaced');
    await expect(ask('first')).rejects.toThrow('yaml on 9444 says never');
    const down = await runDevloop(['down'], { ...options(), cwd: tmpdir() });
    expect(down.code, down.log).toBe(0);
    expect(await up.exited).toBe(130);
  });

  it('--no-controller: reviews wait for the process that the user starts', async () => {
    const temporary = join(directory, 'tmp');
    await mkdir(temporary);
    const { cwd, env } = options();
    await using up = startDevloop(['up', '--no-controller', ...SERVICES], {
      cwd,
      env: { ...env, TMPDIR: temporary },
    });
    await up.waitFor('session.ready');
    const asked = ask('first').then(String, (error: Error) => error.message);
    const server = spawn(process.execPath, [HOOK_SERVER, 'debugged', '9444', '9445'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    try {
      expect(await asked).toContain('debugged on 9444 says no');
    } finally {
      server.kill('SIGKILL');
    }
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
  });

  it('follows a renewed certificate: the files, and what the gateway presents', async () => {
    await using up = startDevloop(['up', ...SERVICES, ...hookServer('renewed', '9444', '9445')], options());
    const { value: address } = await up.waitFor('discovered', (event) => event.what === 'address');
    await up.waitFor('session.ready');
    const old = await presented(address, FIRST);
    await putSecret(cluster, 'first-cert', FIRST);
    // The caBundle no longer fits: devloop says so, and keeps the pair that kube-apiserver trusts.
    await up.waitFor('warning', (event) => event.message.includes('first-cert'), 30_000);
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
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
  });

  it('takes reviews of webhooks and CRDs that are added while it runs, and nothing on other paths', async () => {
    await using up = startDevloop(
      ['up', ...SERVICES, '--allow-from', '10.0.0.0/8', ...hookServer('added', '9444', '9445')],
      options(),
    );
    const { value: address } = await up.waitFor('discovered', (event) => event.what === 'address');
    await up.waitFor('session.ready');
    const { webhooks } = JSON.parse(
      await cluster.kubectl(['get', 'validatingwebhookconfiguration', 'hooks', '-o', 'json']),
    );
    const added = structuredClone(webhooks[0]);
    added.name = 'added.hooks.example.com';
    added.clientConfig.service.path = '/added/';
    added.objectSelector.matchLabels.ask = 'added';
    expect(await statusAt(address, '/added')).toBe(404);
    await patchHooks([{ op: 'add', path: '/webhooks/-', value: added }]);
    const causes: string[] = [];
    await eventually(async () => {
      causes.push(await ask('added').catch((error: Error) => error.message));
      expect(causes.at(-1)).toContain('added on 9444 says no');
    });
    // Before that, kube-apiserver did not know the webhook yet; it never got a refusal of the gateway.
    expect(causes.filter((cause) => cause.includes('devloop:'))).toEqual([]);
    await patchHooks([{ op: 'remove', path: `/webhooks/${webhooks.length}` }]);
    await eventually(async () => expect(await statusAt(address, '/added')).toBe(404));

    const { caBundle } = webhooks[0].clientConfig;
    await cluster.kubectl(['apply', '-f', '-'], { input: gadgets(caBundle) });
    await cluster.kubectl([
      'wait',
      '--for=condition=Established',
      'crd/gadgets.other.example.com',
      '--timeout=30s',
    ]);
    const gadget =
      '{apiVersion: other.example.com/v2, kind: Gadget, metadata: {name: g, namespace: default}}';
    await eventually(() => cluster.kubectl(['apply', '-f', '-'], { input: gadget }));
    expect(
      await cluster.kubectl(['get', 'gadgets.v2.other.example.com', 'g', '-o', 'jsonpath={.apiVersion}']),
    ).toBe('other.example.com/v2');
    await cluster.kubectl(['delete', 'crd', 'gadgets.other.example.com']);
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
    expect(up.events).toContainEqual(
      expect.objectContaining({
        type: 'warning',
        message: expect.stringMatching(/refused \d+ requests? that no/),
      }),
    );
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

  it('an operator without webhooks is quieted, run, and put back', async () => {
    await using up = startDevloop(
      [
        'up',
        '--deployment',
        `${HOOK_NAMESPACE}/hooks`,
        '--',
        process.execPath,
        '-e',
        'console.log(process.env.GREETING, process.env.SPACE); setInterval(() => {}, 1000)',
      ],
      options(),
    );
    await up.waitFor('session.ready');
    expect(up.events).toContainEqual(
      expect.objectContaining({ type: 'controller.output', line: `hello ${HOOK_NAMESPACE}` }),
    );
    expect(
      await cluster.kubectl([
        '-n',
        HOOK_NAMESPACE,
        'get',
        'deployment',
        'hooks',
        '-o',
        'jsonpath={.spec.replicas}',
      ]),
    ).toBe('0');
    up.signal('SIGINT');
    expect(await up.exited).toBe(130);
    expect(
      await cluster.kubectl([
        '-n',
        HOOK_NAMESPACE,
        'get',
        'deployment',
        'hooks',
        '-o',
        'jsonpath={.spec.replicas}',
      ]),
    ).toBe('2');
  });
});

/** Its group is none of the checkout's. */
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

/** What somebody else gets who posts to the gateway. */
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

/** The serial number of the certificate that answers for a name. */
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
