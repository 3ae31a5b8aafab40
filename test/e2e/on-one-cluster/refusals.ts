import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { selfSignedPair } from '../../../src/certificates/self-signed.ts';
import { CATALOGUE, type ErrorCode } from '../../../src/errors.ts';
import type { TestCluster } from '../../cluster/cluster.ts';
import { account } from '../../support/account.ts';
import { BIN, type DevloopRun, runDevloop, startDevloop, YES } from '../../support/devloop.ts';
import { eventually } from '../../support/eventually.ts';
import { hookServer } from '../../support/hook-server.ts';
import { isRunning } from '../../support/is-running.ts';
import { A_STACK, type Refusal, refusalEvents } from '../../support/refusal.ts';
import {
  checkoutSample,
  DEPLOYMENT,
  NAMESPACE,
  rolledOut,
  SERVICE,
  sampleManifests,
} from '../../support/sample-operator.ts';
import { sharedSample } from '../../support/shared-sample.ts';
import { snapshots } from '../../support/snapshot.ts';
import { CTRL_C, openTerminal, type Terminal } from '../../support/terminal.ts';

const SETTLED_MS = 500;
/** A second copy of the operator: nothing runs there, and cert-manager does not renew its certificate. */
const SECOND = 'second-operator-system';
const SECOND_SERVICE = 'second-operator-webhook-service';
const SECOND_DEPLOYMENT = 'second-operator-controller-manager';
const SECOND_NAME = `${SECOND_SERVICE}.${SECOND}.svc`;
const SECRET = 'webhook-server-cert';

const SERVER = hookServer('local', '9443');
const AT_ONCE = join(import.meta.dirname, '../../fixtures/controller/exits-at-once.mjs');

interface Kubeconfig {
  users: { user: object }[];
  clusters: { cluster: Record<string, string> }[];
}

/** A server in this module that is not its manager. */
const OTHER_SERVER = `package main

import (
	"net/http"
	"os"
)

func main() {
	certs := os.TempDir() + "/k8s-webhook-server/serving-certs/"
	panic(http.ListenAndServeTLS("127.0.0.1:9443", certs+"tls.crt", certs+"tls.key", http.NewServeMux()))
}
`;

describe('devloop refuses', () => {
  let cluster: TestCluster;
  let checkout: string;
  let scratch: string;
  const own: AsyncDisposable[] = [];
  const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });
  const all = (): Promise<unknown[]> => snapshots(cluster, [NAMESPACE, SECOND, 'default']);

  beforeAll(async () => {
    cluster = await sharedSample();
    const sample = await checkoutSample();
    own.push(sample);
    checkout = sample.directory;
    scratch = await mkdtemp(join(tmpdir(), 'devloop-refusals-'));
  });

  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
    for (const one of own) await one[Symbol.asyncDispose]();
  });

  /** These refusals come after the first write to the cluster, so a dry run does not reach them. */
  const AFTER_A_WRITE: ErrorCode[] = [
    'route.none',
    'controller.build-failed',
    'controller.not-ready',
    'controller.wrong-program',
    'controller.exited',
  ];

  /** `up --dry-run` fails exactly when `up` would fail before its first write. */
  function dryRunAgrees(
    dry: Awaited<ReturnType<typeof runDevloop>>,
    error: { code: string; message: string },
  ): void {
    const errors = dry.events.filter((event) => event.type === 'error');
    if (AFTER_A_WRITE.includes(error.code as ErrorCode)) expect(dry.code, dry.log).toBe(0);
    else expect(errors, dry.log).toMatchObject([{ code: error.code, message: error.message }]);
  }

  /** Resolves when Kubernetes' controllers have reacted to a new object. */
  async function settled(): Promise<void> {
    for (
      let before: unknown, now: unknown = await all();
      !isDeepStrictEqual(before, now);
      now = await all()
    ) {
      before = now;
      await sleep(SETTLED_MS);
    }
  }

  /** Runs devloop to its end. Expects one clear error, the documented exit code, no sign of a crash, and the cluster as it was. */
  async function refuses(
    args: string[],
    refusal: Refusal,
    options: { cwd?: string; env?: Record<string, string> } = {},
  ): Promise<string> {
    const { code } = refusal;
    const before = await all();
    const where = { cwd: options.cwd ?? checkout, env: { ...env(), ...options.env } };
    const isLate = AFTER_A_WRITE.includes(code);
    const dryRun = (): ReturnType<typeof runDevloop> =>
      runDevloop(['up', '--dry-run', ...args.slice(1)], where);
    // What is refused only after the first write does not stop a dry run.
    const early = args[0] === 'up' && !isLate ? dryRun() : undefined;
    const run = await runDevloop(args, where);
    const errors = run.events.filter((event) => event.type === 'error');
    expect(errors, run.log).toMatchObject(refusalEvents(refusal));
    expect(run.code).toBe(CATALOGUE[code].exit);
    // Apart from temporary objects: if nothing was changed, no restore is reported.
    const { length } = run.events.filter((event) => event.type === 'change' && !event.temporary);
    const ends = run.events.filter(({ type }) => type === 'session.stopping' || type === 'session.restored');
    expect(ends, run.log).toHaveLength(length === 0 ? 0 : 2);
    // devloop begins nothing that it cannot finish.
    const begun = run.events.filter(({ type }) => type === 'session.started');
    expect(begun, run.log).toHaveLength(args[0] === 'up' && isLate ? 1 : 0);
    expect(run.log).not.toMatch(A_STACK);
    if (args[0] === 'up') dryRunAgrees(await (early ?? dryRun()), errors[0]!);
    expect(await all()).toEqual(before);
    return errors[0]!.message;
  }

  async function copy(change: (directory: string) => Promise<void>): Promise<string> {
    const sample = await checkoutSample();
    own.push(sample);
    await change(sample.directory);
    return sample.directory;
  }

  async function listening(port: number): Promise<Server & AsyncDisposable> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
    return server;
  }

  /** The programs that a Go build needs, and a debugger that can only print its version. */
  async function toolsWith(delve?: string): Promise<Record<string, string>> {
    const bin = await mkdtemp(join(scratch, 'bin-'));
    const go = execFileSync('sh', ['-c', 'command -v go'], { encoding: 'utf8' }).trim();
    await symlink(go, join(bin, 'go'));
    if (delve) await writeFile(join(bin, 'dlv'), `#!/bin/sh\necho 'Version: ${delve}'\n`, { mode: 0o755 });
    return { PATH: bin, GOBIN: bin };
  }

  async function scratchFile(name: string, content: string): Promise<string> {
    await writeFile(join(scratch, name), content);
    return join(scratch, name);
  }

  async function editedKubeconfig(name: string, edit: (config: Kubeconfig) => void): Promise<string> {
    const config = parseAllDocuments(await readFile(cluster.kubeconfig, 'utf8'))[0]!.toJS();
    edit(config);
    return await scratchFile(name, JSON.stringify(config));
  }

  describe('a kubeconfig', () => {
    it('whose token is not accepted', async () => {
      const file = await editedKubeconfig('token', (config) => {
        config.users[0]!.user = { token: 'made-up' };
      });
      const message = `context ${cluster.name} does not accept the credentials`;
      await refuses(['up', '--kubeconfig', file], {
        code: 'cluster.unauthorized',
        message,
        hint: 'auth whoami',
      });
    });

    it('whose client certificate has expired', async () => {
      const file = await cluster.kubeconfigFor('somebody', ['system:masters'], { expiresInSeconds: 1 });
      await new Promise((resolve) => setTimeout(resolve, 2500));
      const message = /The client certificate expired on 2\d{3}-/;
      await refuses(['up', '--kubeconfig', file], {
        code: 'cluster.unauthorized',
        message,
        hint: 'Log in again',
      });
    });

    it.each(['up', 'status'])('whose server does not answer: %s', async (command) => {
      const server = `https://${cluster.nodeIp}:1`;
      const file = await editedKubeconfig('port', (config) => {
        config.clusters[0]!.cluster.server = server;
      });
      const message = new RegExp(`${server}.* does not answer: connect ECONNREFUSED`);
      await refuses([command, '--kubeconfig', file], {
        code: 'cluster.unreachable',
        message,
        hint: 'Is the cluster running',
      });
    });

    it('whose server has another certificate', async () => {
      const { certificate } = await selfSignedPair(['other'], { days: 1 });
      const file = await editedKubeconfig('ca', (config) => {
        config.clusters[0]!.cluster['certificate-authority-data'] = base64(certificate);
      });
      await refuses(['up', '--kubeconfig', file], {
        code: 'cluster.unreachable',
        message: /certificate that is not trusted: [^;]*$/,
        hint: 'The kubeconfig does not trust',
      });
    });
  });

  describe('an account', () => {
    it('that may only look: all missing permissions at once', async () => {
      const KUBECONFIG = await account(cluster, 'onlooker', [
        { apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['get', 'list'] },
        { apiGroups: ['apiextensions.k8s.io'], resources: ['*'], verbs: ['get', 'list'] },
        { apiGroups: ['', 'apps'], resources: ['services', 'deployments', 'pods'], verbs: ['get', 'list'] },
      ]);
      const message = await refuses(
        ['up'],
        { code: 'cluster.forbidden', message: 'Nothing was changed', hint: 'auth can-i patch services' },
        { env: { KUBECONFIG } },
      );
      const here = `in namespace ${NAMESPACE}`;
      for (const line of [
        `patch, create, delete  services ${here}`,
        `get, list, create, update, delete  endpoints ${here}`,
        `get, list, create, update, delete  endpointslices.discovery.k8s.io ${here}`,
        `create  configmaps ${here}`,
        'create, patch, delete  validatingwebhookconfigurations.admissionregistration.k8s.io (cluster-wide)',
        `patch  deployments.apps ${here}`,
        `get  secrets ${here}`,
      ])
        expect(message).toContain(line);
      expect(message).not.toContain('pods');
    });

    it('that may do nothing at all', async () => {
      const KUBECONFIG = await cluster.kubeconfigFor('nobody');
      const message = await refuses(
        ['up', '-n', NAMESPACE],
        { code: 'cluster.forbidden', message: 'Nothing was changed', hint: 'auth can-i' },
        { env: { KUBECONFIG } },
      );
      expect(message).toContain('mutatingwebhookconfigurations');
      expect(message).toContain(`deployments.apps in namespace ${NAMESPACE}`);
      const cannotTell = { code: 'cluster.forbidden', message: 'cannot tell', hint: '-n NAMESPACE' } as const;
      await refuses(['down'], cannotTell, { env: { KUBECONFIG } });
    });
  });

  describe('a target', () => {
    it('that nothing names, outside of a checkout', async () => {
      const refusal = {
        code: 'target.no-operator',
        message: scratch,
        hint: '--service NAMESPACE/NAME',
      } as const;
      await refuses(['up'], refusal, { cwd: scratch });
    });

    it('that a living session holds', async () => {
      const before = await all();
      await using up = startDevloop(['up', '-n', NAMESPACE, ...SERVER], { cwd: checkout, env: env() });
      await up.waitFor('session.ready');
      const message = new RegExp(`${NAMESPACE}.* are held by `);
      await refuses(['up', '-n', NAMESPACE], { code: 'session.held', message, hint: 'devloop down' });
      up.signal('SIGINT');
      expect(await up.exited, up.log()).toBe(130);
      await eventually(async () => expect(await all()).toEqual(before));
    });

    it('without a webhook in the namespace that was named', async () => {
      const message = /API groups: apps\.example\.com.*namespace default/;
      await refuses(['up', '-n', 'default'], {
        code: 'target.no-webhook',
        message,
        hint: 'Deploy the operator first',
      });
    });

    it.each(['up', 'down', 'status'])('whose namespace does not exist: %s', async (command) => {
      const typo = NAMESPACE.replace('system', 'sytem');
      await refuses([command, '-n', typo], {
        code: 'target.not-found',
        message: `Namespace ${typo} does not exist`,
        hint: `devloop ${command} -n ${NAMESPACE}`,
      });
    });

    it('whose Service does not exist', async () => {
      const message = `Service ${NAMESPACE}/nope does not exist`;
      await refuses(['up', '--service', `${NAMESPACE}/nope`], {
        code: 'target.not-found',
        message,
        hint: `up --service ${NAMESPACE}/`,
      });
    });

    it('whose Deployment does not exist', async () => {
      const message = `Deployment ${NAMESPACE}/nope does not exist`;
      await refuses(['up', '--deployment', `${NAMESPACE}/nope`], {
        code: 'target.not-found',
        message,
        hint: 'get deployments',
      });
    });
  });

  describe('this machine', () => {
    it('when port 9443 is held, and names the holder', async () => {
      await using _holder = await listening(9443);
      const message = new RegExp(`port 9443.* process ${process.pid} \\(`);
      await refuses(['up'], { code: 'port.in-use', message, hint: `first: kill ${process.pid}` });
    });

    it("when the editors' port is held", async () => {
      await using holder = await listening(0);
      const { port } = holder.address() as AddressInfo;
      const message = new RegExp(`port ${port}.* process ${process.pid} \\(`);
      const refusal = { code: 'port.in-use', message, hint: `--debug=${port + 1}` } as const;
      await refuses(['up', `--debug=${port}`], refusal, { env: await toolsWith('dev') });
    });

    it.each([
      [undefined, /there is no dlv/],
      ['1.2.0', /dlv is version 1\.2\.0/],
    ])('with delve %s', async (version, message) => {
      const hint = 'go install github.com/go-delve';
      await refuses(
        ['up', '--debug'],
        { code: 'debug.no-delve', message, hint },
        { env: await toolsWith(version) },
      );
    });

    it('where others can write to its directory', async () => {
      const open = join(scratch, 'open');
      await mkdir(open);
      await chmod(open, 0o777);
      const XDG_STATE_HOME = join(open, 'state');
      const refusal = {
        code: 'files.not-written',
        message: XDG_STATE_HOME,
        hint: 'XDG_STATE_HOME=DIR',
      } as const;
      await refuses(['up'], refusal, { env: { XDG_STATE_HOME } });
    });

    it("where a key of the user's is in the place of the controller's", async () => {
      const cwd = await copy(async (directory) => {
        await writeFile(join(directory, 'devloop.yaml'), 'certificates: {directory: own}\n');
        await mkdir(join(directory, 'own'));
        await writeFile(join(directory, 'own/tls.key'), 'mine');
      });
      const hint = 'devloop certs --output DIR';
      await refuses(['up'], { code: 'certificate.not-written', message: 'own', hint }, { cwd });
      expect(await readFile(join(cwd, 'own/tls.key'), 'utf8')).toBe('mine');
    });

    it('without Go', async () => {
      const message = /no go on the PATH/;
      await refuses(
        ['up'],
        { code: 'controller.no-toolchain', message, hint: 'go.dev/dl' },
        { env: { PATH: scratch } },
      );
    });

    it.each([
      ['127.0.0.1', 'loopback'],
      ['169.254.7.7', 'link-local'],
      ['::1', 'loopback'],
    ])('with the address %s', async (address, why) => {
      const message = new RegExp(`${address} cannot be used: it is .*${why}`);
      await refuses(['up', '--no-controller', '--address', address], {
        code: 'route.address',
        message,
        hint: cluster.hostIp,
      });
    });

    it('with an address that is another machine, with the cause of kube-apiserver', async () => {
      const refusal = {
        code: 'route.none',
        message: /203\.0\.113\.7 \(.*not an address of this machine\): .*(deadline|time|route|refused)/,
        hint: '--address',
      } as const;
      await refuses(['up', '--no-controller', '--route', 'direct', '--address', '203.0.113.7'], refusal);
    });

    it('with an address of the wrong family', async () => {
      const refusal = { code: 'route.address', message: 'is IPv4 only', hint: '--address' } as const;
      await refuses(['up', '--no-controller', '--address', '2001:db8::1'], refusal);
    });
  });

  describe('a controller', () => {
    it('without a main package', async () => {
      const cwd = await copy((directory) => rm(join(directory, 'cmd'), { recursive: true }));
      await refuses(
        ['up'],
        { code: 'controller.no-main', message: /no main package/, hint: 'devloop up --' },
        { cwd },
      );
    });

    it('of which there are several', async () => {
      const cwd = await copy(async (directory) => {
        execFileSync(
          'sh',
          [
            '-c',
            'mkdir cmd/a cmd/b && cp cmd/main.go cmd/a && cp cmd/main.go cmd/b && rm cmd/main.go Dockerfile Makefile',
          ],
          { cwd: directory },
        );
      });
      const cure = /^devloop up --package \.\/cmd\/b$/m;
      const message = /\.\/cmd\/a {2}\(.*\n.*\.\/cmd\/b {2}\(/;
      await refuses(['up'], { code: 'controller.no-main', message, hint: cure }, { cwd });
      const cured = await runDevloop(['up', '--dry-run', '--package', './cmd/b'], { cwd, env: env() });
      expect(cured.code, cured.log).toBe(0);
      expect(cured.events).toContainEqual(
        expect.objectContaining({ type: 'controller.planned', build: expect.arrayContaining(['./cmd/b']) }),
      );
    });

    it('of an empty repository', async () => {
      const cwd = await mkdtemp(join(scratch, 'empty-'));
      execFileSync('git', ['init', '-q'], { cwd });
      const hint = 'devloop up -- <command>';
      await refuses(['up'], { code: 'controller.no-main', message: 'go.mod', hint }, { cwd });
    });

    it('that is a program of a checkout that is no operator', async () => {
      const program = 'package main\n\nfunc main() { panic("a stranger\'s program") }\n';
      const cwd = await copy(async (directory) => {
        await rm(join(directory, 'internal'), { recursive: true });
        await writeFile(join(directory, 'cmd/main.go'), program);
      });
      const hint = 'devloop up --package ./cmd';
      const message = 'Nothing was started';
      await refuses(['up'], { code: 'target.not-found', message, hint }, { cwd });
    });

    it('of an operator whose CRDs the cluster does not have', async () => {
      const cwd = await copy(async (directory) => {
        const file = join(directory, 'api/v1/groupversion_info.go');
        await writeFile(
          file,
          (await readFile(file, 'utf8')).replaceAll('apps.example.com', 'not.example.com'),
        );
        await rm(join(directory, 'internal'), { recursive: true });
        await writeFile(join(directory, 'cmd/main.go'), 'package main\n\nfunc main() {}\n');
        // They name the operator and its image, so they name what is deployed.
        for (const name of ['PROJECT', 'Makefile']) await rm(join(directory, name), { force: true });
        const mod = join(directory, 'go.mod');
        await writeFile(
          mod,
          (await readFile(mod, 'utf8')).replace(/^module .*/m, 'module example.com/not-deployed'),
        );
      });
      await refuses(
        ['up'],
        { code: 'target.not-found', message: 'not.example.com', hint: 'config/crd/bases' },
        { cwd },
      );
    });

    it('that serves TLS, but none of the webhooks', async () => {
      const cwd = await copy(async (directory) => {
        await mkdir(join(directory, 'cmd/other'));
        await writeFile(join(directory, 'cmd/other/main.go'), OTHER_SERVER);
      });
      const message = '/validate-apps-example-com-v1-application';
      const refusal = { code: 'controller.wrong-program', message, hint: 'webhooks on' } as const;
      await refuses(['up', '--package', './cmd/other'], refusal, { cwd });
    });

    it('that does not build: without a terminal, or with --fail-fast; else up waits, and Ctrl-C leaves everything as it was', async () => {
      const cwd = await copy(async (directory) => {
        const file = join(directory, 'cmd/main.go');
        await writeFile(file, `${await readFile(file, 'utf8')}\nfunc broken() { return 1 }\n`);
      });
      const message = /failed to build[\s\S]*main\.go:\d+:\d+: too many return values/;
      await refuses(['up'], { code: 'controller.build-failed', message, hint: 'devloop up' }, { cwd });
      const before = await all();
      const atTerminal = (...flags: string[]): Terminal => {
        const line = [process.execPath, BIN, 'up', YES, '--json', ...flags].join(' ');
        return openTerminal(`${line}; echo "ended with $?"`, { cwd, env: { ...env(), NO_COLOR: '1' } });
      };
      await using failing = atTerminal('--fail-fast');
      await failing.closed;
      expect(failing.shown()).toContain('"code":"controller.build-failed"');
      await using waiting = atTerminal();
      await eventually(async () => expect(waiting.shown()).toContain('"type":"build.failed"'), 90_000);
      await eventually(async () => {
        const { events } = await runDevloop(['status'], { cwd, env: env() });
        const found = events.flatMap((event) => (event.type === 'status' ? event.sessions : []));
        expect(found).toMatchObject([{ state: 'live', health: expect.stringContaining('build') }]);
      });
      waiting.type(CTRL_C);
      await waiting.closed;
      expect(waiting.shown()).toContain('ended with 130');
      expect(waiting.shown()).not.toContain('"type":"error"');
      expect(await all()).toEqual(before);
    });

    it('that never listens', async () => {
      const cwd = await copy(async (directory) => {
        await writeFile(join(directory, 'devloop.yaml'), 'controller: { readySeconds: 2 }\n');
      });
      const message = /did not answer TLS on 127\.0\.0\.1:9443 within 2 s/;
      const command = ['--', process.execPath, '-e', 'setInterval(() => {}, 1000)'];
      await refuses(['up', ...command], { code: 'controller.not-ready', message, hint: /webhooks/ }, { cwd });
    });

    it('that ends at once', async () => {
      const message = /exited with code 3\n {2}no settings/;
      const command = ['--', process.execPath, AT_ONCE, '3', 'no settings'];
      await refuses(['up', ...command], { code: 'controller.exited', message, hint: /./ });
    });

    it('that is not there', async () => {
      const message = /program \/.*\/nope does not exist/;
      await refuses(['up', '--', './nope'], { code: 'controller.no-toolchain', message, hint: /./ });
    });
  });

  describe('what somebody else changed after a crash', () => {
    let before: unknown;
    beforeAll(async () => {
      before = await all();
    });

    /** Types the command of a hint. */
    async function follow(hint: string | undefined): Promise<void> {
      const words = [...(hint ?? '').matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2]!);
      expect(words.slice(0, 3), hint).toEqual(['kubectl', '--context', cluster.name]);
      await cluster.kubectl(words.slice(1));
    }

    const meddle = async (): Promise<void> => {
      await cluster.call('PATCH', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${DEPLOYMENT}`, {
        spec: { replicas: 2 },
      });
      await cluster.call('PATCH', `/api/v1/namespaces/${NAMESPACE}/services/${SERVICE}`, [
        { op: 'add', path: '/spec/selector', value: { app: 'theirs' } },
      ]);
    };

    async function retryOnConflict(events: DevloopRun['events']): Promise<void> {
      const kept = events.filter((event) => event.type === 'warning' && event.code === 'restore.kept');
      expect(kept).toMatchObject([
        { values: { object: { kind: 'Deployment', name: DEPLOYMENT }, field: 'spec.replicas', now: 2 } },
        {
          values: {
            object: { kind: 'Service', name: SERVICE },
            field: 'spec.selector',
            now: { app: 'theirs' },
          },
        },
      ]);
      const error = events.at(-1);
      expect(error).toMatchObject({
        type: 'error',
        code: 'undo.incomplete',
        exitCode: 4,
        hint: expect.any(String),
      });
      for (const event of kept) await follow(event.type === 'warning' ? event.hint : undefined);
      await rolledOut(cluster);
      await eventually(async () => expect(await all()).toEqual(before));
    }

    it('to overwrite it on down', async () => {
      await using up = startDevloop(['up', '-n', NAMESPACE, ...SERVER], { cwd: checkout, env: env() });
      const { pid } = await up.waitFor('controller.started');
      await up.waitFor('session.ready');
      up.signal('SIGKILL');
      await up.exited;
      // Nothing guards it any longer.
      await meddle();
      const dry = await runDevloop(['down', '--dry-run'], { cwd: scratch, env: env() });
      expect(dry.events.at(-1), dry.log).toMatchObject({ code: 'undo.incomplete', exitCode: 4 });
      const { code, events, log } = await runDevloop(['down'], { cwd: scratch, env: env() });
      expect(code, log).toBe(4);
      await retryOnConflict(events);
      expect(await isRunning(pid)).toBe(false);
      expect((await runDevloop(['down'], { cwd: scratch, env: env() })).code).toBe(0);
    });
  });

  describe('a second operator', () => {
    beforeAll(async () => {
      const text = (await sampleManifests(cluster))
        .replaceAll('application-operator', 'second-operator')
        .replace('replicas: 1', 'replicas: 0');
      const documents = parseAllDocuments(text).map((one) => one.toJS());
      const wanted = documents.filter(
        ({ kind, apiVersion }) =>
          kind !== 'CustomResourceDefinition' && !apiVersion.startsWith('cert-manager.io'),
      );
      for (const one of wanted) delete one.metadata.annotations?.['cert-manager.io/inject-ca-from'];
      await cluster.apply(wanted);
      await settled();
    });

    it('that also matches the checkout, unless --namespace or --service chooses one', async () => {
      const hint = `devloop up --service ${NAMESPACE}/${SERVICE}\ndevloop up --service ${SECOND}/${SECOND_SERVICE}`;
      const message = await refuses(['up'], { code: 'target.ambiguous', message: SECOND_SERVICE, hint });
      expect(message).toContain(`${NAMESPACE}/${SERVICE}`);
      expect(message).toContain(`${SECOND}/${SECOND_SERVICE}`);
      for (const hint of [
        ['-n', SECOND],
        ['--service', `${SECOND}/${SECOND_SERVICE}`],
      ]) {
        const { code, events, log } = await runDevloop(['up', '--dry-run', ...hint], {
          cwd: checkout,
          env: env(),
        });
        // A dry run goes as far as `up` would: the Secret does not exist yet.
        expect(code, log).toBe(CATALOGUE['certificate.not-found'].exit);
        expect(events.filter((event) => event.type === 'change' && !event.temporary)).toEqual([]);
        const found = events.filter((event) => event.type === 'discovered' && event.what === 'deployment');
        expect(found).toMatchObject([{ value: `${SECOND}/${SECOND_DEPLOYMENT}` }]);
      }
    });

    const putSecret = async (data: Record<string, string>): Promise<void> => {
      const manifest = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: SECRET, namespace: SECOND },
        data,
      };
      await cluster.apply([manifest]);
    };
    const trust = async (ca: string): Promise<void> => {
      for (const kind of ['validating', 'mutating']) {
        const name = `${kind}webhookconfigurations/second-operator-${kind}-webhook-configuration`;
        await cluster.call('PATCH', `/apis/admissionregistration.k8s.io/v1/${name}`, [
          { op: 'add', path: '/webhooks/0/clientConfig/caBundle', value: base64(ca) },
        ]);
      }
    };

    describe('whose Secret', () => {
      const object = `Secret ${SECOND}/${SECRET}`;
      let good: { certificate: string; key: string };
      const pair = (certificate: string, key: string): Promise<void> =>
        putSecret({ 'tls.crt': base64(certificate), 'tls.key': base64(key) });
      const up = (refusal: Refusal): Promise<string> => refuses(['up', '-n', SECOND, ...SERVER], refusal);

      beforeAll(async () => {
        good = await selfSignedPair([SECOND_NAME], { days: 10 });
        await trust(good.certificate);
      });

      it('is missing', async () => {
        const message = `${object} does not exist`;
        await up({ code: 'certificate.not-found', message, hint: `kubectl -n ${SECOND} get` });
      });

      it('is empty', async () => {
        await putSecret({});
        await up({ code: 'certificate.invalid', message: `${object} is empty`, hint: /./ });
      });

      it('holds a key of another certificate', async () => {
        await pair(good.certificate, (await selfSignedPair([SECOND_NAME], { days: 10 })).key);
        await up({ code: 'certificate.invalid', message: new RegExp(`${object} .*tls\\.key`), hint: /./ });
      });

      it('holds no PEM', async () => {
        await pair('nothing', 'at all');
        await up({
          code: 'certificate.invalid',
          message: new RegExp(`${object} .* tls\\.crt`),
          hint: /./,
        });
      });

      it('has expired', async () => {
        const { certificate, key } = await selfSignedPair([SECOND_NAME], { days: 0 });
        await trust(certificate);
        await pair(certificate, key);
        await up({
          code: 'certificate.unusable',
          message: /it expired at 2\d{3}-/,
          hint: `kubectl -n ${SECOND}`,
        });
      });

      it('is for other names', async () => {
        const { certificate, key } = await selfSignedPair(['other.example.svc'], { days: 10 });
        await trust(certificate);
        await pair(certificate, key);
        const message = `it is not for ${SECOND_NAME}; it names only other.example.svc`;
        await up({ code: 'certificate.unusable', message, hint: `kubectl -n ${SECOND}` });
      });

      it('is named in devloop.yaml, and what cert-manager made it from is named in the hint', async () => {
        const text = `certificates: {secret: ${NAMESPACE}/${SECRET}}\n`;
        const cwd = await copy((directory) => writeFile(join(directory, 'devloop.yaml'), text));
        const message = `Secret ${NAMESPACE}/${SECRET} `;
        const hint = `kubectl -n ${NAMESPACE} describe certificate application-operator-serving-cert`;
        await refuses(
          ['up', '-n', SECOND, ...SERVER],
          { code: 'certificate.unusable', message, hint },
          { cwd },
        );
      });

      it('does not chain to the caBundle', async () => {
        await trust(await readFile(join(cluster.dir, 'pki/ca.crt'), 'utf8'));
        await pair(good.certificate, good.key);
        const message = /does not chain to the caBundle: its issuer is CN=devloop/;
        await up({ code: 'certificate.unusable', message, hint: `kubectl -n ${SECOND}` });
      });
    });

    it('whose controller needs the port of the other one', async () => {
      const { certificate, key } = await selfSignedPair([SECOND_NAME], { days: 10 });
      await trust(certificate);
      await putSecret({ 'tls.crt': base64(certificate), 'tls.key': base64(key) });
      const before = await all();
      const both = [`${NAMESPACE}/${DEPLOYMENT}`, `${SECOND}/${SECOND_DEPLOYMENT}`];
      const args = both.flatMap((name) => ['--deployment', name]);
      const refusal = {
        code: 'port.in-use',
        message: `${both.join(' and ')} both need port 9443`,
        hint: `--deployment ${both[1]}`,
      } as const;
      for (const how of [['--dry-run'], []]) {
        const run = await runDevloop(['up', ...how, ...args], { cwd: checkout, env: env() });
        const errors = run.events.filter((event) => event.type === 'error');
        expect(errors, run.log).toMatchObject(refusalEvents(refusal));
        expect(run.events.filter(({ type }) => type === 'session.started')).toEqual([]);
      }
      expect(await all()).toEqual(before);
    });

    it('whose manager gets an argument that no program can get', async () => {
      const { certificate, key } = await selfSignedPair([SECOND_NAME], { days: 10 });
      await trust(certificate);
      await putSecret({ 'tls.crt': base64(certificate), 'tls.key': base64(key), nul: base64('a\0b') });
      const env = [{ name: 'NUL', valueFrom: { secretKeyRef: { name: SECRET, key: 'nul' } } }];
      const container = '/spec/template/spec/containers/0';
      await cluster.call('PATCH', `/apis/apps/v1/namespaces/${SECOND}/deployments/${SECOND_DEPLOYMENT}`, [
        { op: 'add', path: `${container}/env`, value: env },
        { op: 'add', path: `${container}/args/-`, value: '--name=$(NUL)' },
      ]);
      await settled();
      const message = '--name=$(NUL) contains a NUL byte';
      await refuses(['up', '-n', SECOND], { code: 'controller.argument', message, hint: 'devloop up' });
    });

    describe('whose Service', () => {
      const services = `/api/v1/namespaces/${SECOND}/services`;
      const endpoints = `/api/v1/namespaces/${SECOND}/endpoints`;
      const slices = `/apis/discovery.k8s.io/v1/namespaces/${SECOND}/endpointslices`;

      /** Deletes the Service. Kubernetes' own controllers then delete its Endpoints and slices, each when it gets to it. */
      async function deleted(): Promise<void> {
        await cluster.call('DELETE', `${services}/${SECOND_SERVICE}`);
        await eventually(async () => {
          const followers = [await cluster.read(endpoints), await cluster.read(slices)];
          expect(JSON.stringify(followers)).not.toContain(SECOND_SERVICE);
        });
      }

      async function service(spec: object): Promise<void> {
        await deleted();
        await cluster.call('POST', services, { metadata: { name: SECOND_SERVICE }, spec });
        await settled();
      }
      const ports = [{ port: 443, targetPort: 9443 }];
      const selector = { 'control-plane': 'controller-manager', 'app.kubernetes.io/name': 'second-operator' };
      const object = `Service ${SECOND}/${SECOND_SERVICE}`;

      it.each([
        ['is headless', { clusterIP: 'None', selector, ports }, 'cluster IP'],
        [
          'is of type ExternalName',
          { type: 'ExternalName', externalName: 'example.com', ports },
          'ordinary Service',
        ],
        ['has no port 443', { selector, ports: [{ port: 8443 }] }, 'get service'],
      ])('%s', async (what, spec, hint) => {
        await service(spec);
        const refusal = { code: 'service.unsupported', message: `${object} ${what}`, hint } as const;
        await refuses(['up', '--service', `${SECOND}/${SECOND_SERVICE}`], refusal);
      });

      it('does not exist, but a webhook configuration calls it', async () => {
        await deleted();
        const message = /ValidatingWebhookConfiguration second-operator-/;
        await refuses(['up', '-n', SECOND], { code: 'target.not-found', message, hint: 'make deploy' });
      });
    });
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
