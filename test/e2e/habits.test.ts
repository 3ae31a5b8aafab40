import { spawn } from 'node:child_process';
import { access, appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PAUSE_IMAGE } from '../cluster/build.ts';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { account } from '../support/account.ts';
import { BIN, type DevloopRun, runDevloop, startDevloop, YES } from '../support/devloop.ts';
import { eventually } from '../support/eventually.ts';
import { hookServer } from '../support/hook-server.ts';
import { createReviewer, type Reviewer } from '../support/reviews.ts';
import {
  checkoutSample,
  DEPLOYMENT,
  deploySample,
  NAMESPACE,
  rolledOut,
} from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';

/** Nothing in the Deployment tells the manager this path: it is a constant in its sources. */
const FIXED = '/tmp/devloop-test-habits/serving-certs';

/** Bytes that are no text in any encoding that files usually have. */
const KEYSTORE = Buffer.from([0xfe, 0xed, 0xfe, 0xed, 0x00, 0x80, 0xc3, 0x28, 0xff]);

const MESSAGE = 'an Application needs an image';

const HABITS = `
const fixedCertDir = "${FIXED}"

var configFile = flag.String("config", "", "Where the settings are.")

func (o *options) readSettings() error {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return err
	}
	namespace := string(text)
	fmt.Println("namespace " + namespace)
	if _, err := os.ReadFile("/etc/devloop-test-habits/controller_manager_config.yaml"); err != nil {
		return err
	}
	settings, err := os.ReadFile(*configFile)
	if err != nil {
		return err
	}
	if err := readOwnPod(namespace); err != nil {
		return err
	}
	o.leaderElect = strings.Contains(string(settings), "leaderElect: true")
	o.webhookCert.dir = fixedCertDir
	return nil
}
`;
/** A manager that uses no kubeconfig, and exits at once if it does not find the Pod that it is told it runs in. */
const OWN_POD = `package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func readOwnPod(namespace string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	pod := corev1.Pod{}
	key := client.ObjectKey{Namespace: namespace, Name: os.Getenv("POD_NAME")}
	if err := cluster.Get(context.Background(), key, &pod); err != nil {
		return err
	}
	if uid := os.Getenv("POD_UID"); uid != string(pod.UID) {
		return fmt.Errorf("POD_UID is %q, and that of the Pod is %q", uid, pod.UID)
	}
	for _, owner := range pod.OwnerReferences {
		fmt.Println("own Pod of", pod.Labels["app.kubernetes.io/name"], "belongs to", owner.Kind)
	}
	return nil
}
`;
const OWN_POD_VARIABLE = `
        env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
`;
const MAY_READ_PODS = '- {apiGroups: [""], resources: [pods], verbs: [get]}\n';
const SETTINGS = `apiVersion: v1
kind: ConfigMap
metadata: {name: manager-config, namespace: system}
data:
  controller_manager_config.yaml: |
    leaderElection:
      leaderElect: true
`;
const MOUNTED = `- op: add
  path: /spec/template/spec/containers/0/volumeMounts/-
  value: {name: settings, mountPath: /controller_manager_config.yaml, subPath: controller_manager_config.yaml}
- op: add
  path: /spec/template/spec/containers/0/volumeMounts/-
  value: {name: settings, mountPath: /etc/devloop-test-habits}
- op: add
  path: /spec/template/spec/volumes/-
  value: {name: settings, configMap: {name: manager-config}}
`;
/** A second program beside the manager, which uses controller-runtime, too. */
const AGENT = `package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	println(os.Getenv("GREETING"))
	<-ctrl.SetupSignalHandler().Done()
}
`;

const AGENT_DOCKERFILE = `FROM golang
COPY . .
RUN go build -o agent ./cmd/agent
ENTRYPOINT ["/agent"]
`;

/** In the cluster, it does not have to do anything. */
const AGENT_DEPLOYMENT = 'application-operator-agent';
const agentDeployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: AGENT_DEPLOYMENT,
    namespace: NAMESPACE,
    labels: { 'app.kubernetes.io/name': 'application-operator' },
  },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'agent' } },
    template: {
      metadata: { labels: { app: 'agent' } },
      spec: {
        serviceAccountName: AGENT_DEPLOYMENT,
        securityContext: { runAsUser: 65535, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'agent',
            image: PAUSE_IMAGE,
            env: [{ name: 'GREETING', value: 'from the agent' }],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    },
  },
};

/** The program in the image, built as its Dockerfile builds it. */
const TAGGED = `//go:build everything

package main

import "fmt"

func init() { fmt.Println("everything is in it") }
`;

let cluster: TestCluster;
let checkout: Awaited<ReturnType<typeof checkoutSample>>;
let reviewer: Reviewer & AsyncDisposable;

beforeAll(async () => {
  cluster = await startCluster({ log: (line) => console.error(line) });
  checkout = await checkoutSample();
  await takeUpHabits();
  await deploySample(cluster, checkout.directory);
  await addSecrets();
  reviewer = await createReviewer(cluster.kubeconfig);
});

afterAll(async () => {
  await reviewer?.[Symbol.asyncDispose]();
  await checkout?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

async function takeUpHabits(): Promise<void> {
  await edit('cmd/main.go', '\t"os"\n', '\t"os"\n\t"strings"\n');
  await edit(
    'cmd/main.go',
    '\tif err := run(opts)',
    '\tif err := opts.readSettings(); err != nil {\n\t\tpanic(err)\n\t}\n\tif err := run(opts)',
  );
  await appendFile(at('cmd/main.go'), HABITS);
  await mkdir(dirname(at('cmd/agent/main.go')));
  await writeFile(at('cmd/agent/main.go'), AGENT);
  await writeFile(at('Dockerfile.agent'), AGENT_DOCKERFILE);
  await writeFile(at('cmd/tagged.go'), TAGGED);
  await writeFile(at('cmd/own_pod.go'), OWN_POD);
  await appendFile(at('config/rbac/role.yaml'), MAY_READ_PODS);
  const manager = 'config/manager/manager.yaml';
  await edit(manager, '        ports: []\n', `        ports: []${OWN_POD_VARIABLE}`);
  const managed = 'app.kubernetes.io/managed-by: kustomize\n';
  await edit(manager, managed, `${managed}    pod-security.kubernetes.io/enforce: restricted\n`);
  await edit('Dockerfile', 'go build', 'go build -tags everything');
  await appendFile(at(manager), `---\n${SETTINGS}`);
  await edit(manager, '- --leader-elect\n', '- --config=/controller_manager_config.yaml\n');
  const webhook = 'config/default/manager_webhook_patch.yaml';
  await edit(
    webhook,
    '  value: --webhook-cert-path=/tmp/k8s-webhook-server/serving-certs',
    '  value: --zap-devel',
  );
  await edit(webhook, 'mountPath: /tmp/k8s-webhook-server/serving-certs', `mountPath: ${FIXED}`);
  await appendFile(at(webhook), MOUNTED);
}

const at = (file: string): string => join(checkout.directory, file);

async function edit(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(at(file), 'utf8');
  expect(text).toContain(from);
  await writeFile(at(file), text.replace(from, to));
}

async function standIns(): Promise<object[]> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=devloop.dev/session`;
  return ((await cluster.read(path)) as { items: object[] }).items;
}

const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig });
it('a manager that looks where its sources say, in a mounted file, and in a file of its Pod runs without configuration, its Secrets unprinted', async () => {
  // The Pods of an earlier rollout stay in the slices for a while.
  const before = await eventually(async () => {
    const now = await snapshot(cluster, NAMESPACE);
    expect(JSON.stringify(now)).not.toContain('"ready":false');
    return now;
  });
  await edit('internal/webhook/v1/application_webhook.go', MESSAGE, 'answered here');
  await using up = startDevloop(['up', '--verbose'], { cwd: checkout.directory, env: env() });
  await up.waitFor('session.ready', undefined, 300_000);
  expect(await reviewer.ask()).toContain('answered here');
  const found = up.events.filter((event) => event.type === 'discovered');
  expect(found).toContainEqual(expect.objectContaining({ what: 'main package', value: './cmd' }));
  expect(up.events).toContainEqual(
    expect.objectContaining({ type: 'controller.output', line: `namespace ${NAMESPACE}` }),
  );
  expect(found).toContainEqual(expect.objectContaining({ what: 'build tags', value: 'everything' }));
  expect(up.events).toContainEqual(
    expect.objectContaining({ type: 'controller.output', line: 'everything is in it' }),
  );
  const printed = up.events.flatMap((event) => (event.type === 'controller.output' ? [event.line] : []));
  expect(printed).toContain('own Pod of application-operator belongs to ReplicaSet');
  expect(printed).toContain('own Pod of application-operator belongs to Deployment');
  expect(await standIns()).toMatchObject([{ spec: { schedulingGates: [{}] }, status: { phase: 'Pending' } }]);
  await access(join(FIXED, 'tls.key'));
  await expectOnlyOwnVariables(up);
  // When devloop asks which paths it serves, the manager does not complain.
  const output = up.events.flatMap((event) => (event.type === 'controller.output' ? [event.line] : []));
  expect(output.filter((line) => /\tERROR\t|panic|devloop\.dev/.test(line))).toEqual([]);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  expect(await reviewer.ask()).toContain(MESSAGE);
  await expect(access(dirname(FIXED))).rejects.toThrow('ENOENT');
  await expectUnprinted(up.log());
});

it('two Deployments of the operator run here, each as a process of its own, and one down restores both', async () => {
  await cluster.kubectl(['-n', NAMESPACE, 'create', 'serviceaccount', AGENT_DEPLOYMENT]);
  await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(agentDeployment) });
  await cluster.kubectl([
    '-n',
    NAMESPACE,
    'rollout',
    'status',
    `deployment/${AGENT_DEPLOYMENT}`,
    '--timeout=60s',
  ]);
  const before = await snapshot(cluster, NAMESPACE);
  const both = [DEPLOYMENT, AGENT_DEPLOYMENT].flatMap((name) => ['--deployment', `${NAMESPACE}/${name}`]);
  const here = { cwd: checkout.directory, env: { ...env(), DISPLAY: '', WAYLAND_DISPLAY: '' } };
  await runDevloop(['context', 'forget'], here);
  const unasked = await runDevloop(['up', ...both], { ...here, isAsked: true });
  expect(
    unasked.events.filter(({ type }) => type === 'error'),
    'both are asked about at once',
  ).toMatchObject([
    {
      code: 'consent.missing',
      message: expect.stringMatching(`${DEPLOYMENT}\n[\\s\\S]*${AGENT_DEPLOYMENT}\n`),
    },
  ]);
  await using up = startDevloop(['up', '--open', '--replay', ...both], here);
  await up.waitFor('session.ready', undefined, 300_000);
  await up.waitFor('session.ready', undefined, 300_000);
  const of = (deployment: string, type: string): object[] =>
    up.events.filter(
      (event) =>
        event.type === type && 'deployment' in event && event.deployment === `${NAMESPACE}/${deployment}`,
    );
  expect(of(DEPLOYMENT, 'discovered')).toContainEqual(expect.objectContaining({ value: './cmd' }));
  expect(of(AGENT_DEPLOYMENT, 'discovered')).toContainEqual(
    expect.objectContaining({ value: './cmd/agent' }),
  );
  expect(of(AGENT_DEPLOYMENT, 'controller.output')).toContainEqual(
    expect.objectContaining({ line: 'from the agent' }),
  );
  expect(await reviewer.ask()).toContain('answered here');
  // Each controller reaches the API server by a way of its own, as its own account.
  const ways = await Promise.all(
    [DEPLOYMENT, AGENT_DEPLOYMENT].map(async (name) => {
      const [{ pid }] = of(name, 'controller.started') as [{ pid: number }];
      const variables = (await readFile(`/proc/${pid}/environ`, 'latin1')).split('\0');
      const kubeconfig = variables.find((one) => one.startsWith('KUBECONFIG='))!.slice('KUBECONFIG='.length);
      const whoAmI = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
      const server = ['config', 'view', '-o', 'jsonpath={.clusters[0].cluster.server}'];
      return {
        account: await cluster.kubectl(whoAmI, { kubeconfig }),
        server: await cluster.kubectl(server, { kubeconfig }),
      };
    }),
  );
  expect(ways.map(({ account }) => account.trim())).toEqual(
    [DEPLOYMENT, AGENT_DEPLOYMENT].map((name) => `system:serviceaccount:${NAMESPACE}:${name}`),
  );
  expect(new Set(ways.map(({ server }) => server)).size).toBe(2);
  // Each session has its own page and its own reviews.
  const pages = [DEPLOYMENT, AGENT_DEPLOYMENT].flatMap((name) => of(name, 'page.served'));
  expect(new Set(pages.map((page) => (page as { url: string }).url)).size).toBe(2);
  const which = await runDevloop(['reviews'], here);
  const [started] = of(DEPLOYMENT, 'session.started') as { session: string }[];
  const lines = [new RegExp(`${started!.session} +${DEPLOYMENT} `), new RegExp(` ${AGENT_DEPLOYMENT} `)];
  expect(which.events).toMatchObject([{ code: 'session.not-found' }]);
  for (const line of lines) expect(which.events[0]).toMatchObject({ hint: expect.stringMatching(line) });
  const again = await runDevloop(['reviews', 'replay', '--session', started!.session], here);
  expect(again, again.log).toMatchObject({ code: 0 });
  const status = await runDevloop(['status'], { cwd: tmpdir(), env: env() });
  const shown = status.events.flatMap((event) => (event.type === 'status' ? event.sessions : []));
  expect(shown.map(({ state }) => state)).toEqual(['live', 'live']);
  // Both sessions are of this checkout, and one of them has webhooks.
  for (const [command, type] of [
    ['hold', 'reviews.held'],
    ['release', 'reviews.released'],
  ] as const) {
    const both = await runDevloop([command], { cwd: checkout.directory, env: env() });
    expect(both, both.log).toMatchObject({ code: 0, events: [{ type }, { type: 'note' }] });
  }
  const { code, log } = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
  expect(code, log).toBe(0);
  expect(await up.exited, up.log()).toBe(130);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  await cluster.kubectl(['-n', NAMESPACE, 'delete', 'deployment,serviceaccount', AGENT_DEPLOYMENT]);
});

it('a session that is killed leaves its key pair there and prints no Secret, and down removes it with all else', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const state = await mkdtemp(join(tmpdir(), 'devloop-test-state-'));
  const quiet = { cwd: checkout.directory, env: { ...env(), XDG_STATE_HOME: state } };
  const printed = [
    (await printedBy(['up', '--dry-run', '--verbose', YES], quiet.env)).text,
    (await runDevloop(['up', '--dry-run', '--verbose'], quiet)).log,
  ];
  const text = await printedBy(['up', '--verbose', YES], quiet.env, /taken over in/);
  printed.push((await runDevloop(['status'], quiet)).log, (await printedBy(['status'], quiet.env)).text);
  const values = await secretValues();
  const keystores: Buffer[] = [];
  const files = await readdir(state, { recursive: true, withFileTypes: true });
  for (const file of files.filter((one) => one.isFile())) {
    const path = join(file.parentPath, file.name);
    const content = await readFile(path, 'latin1');
    const { mode } = await stat(path);
    if (values.some(({ value }) => content.includes(value))) expect([path, mode & 0o077]).toEqual([path, 0]);
    if (file.name === 'controller.json') printed.push(content);
    if (file.name === 'store.jks') keystores.push(Buffer.from(content, 'latin1'));
  }
  expect(keystores).toEqual([KEYSTORE]);
  printed.push(text.end('SIGKILL').text);
  await access(join(FIXED, 'tls.key'));
  const { code, log } = await runDevloop(['down'], { ...quiet, cwd: tmpdir() });
  expect(code, log).toBe(0);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  await expect(access(dirname(FIXED))).rejects.toThrow('ENOENT');
  await expectUnprinted([...printed, log].join('\n'));
  await rm(state, { recursive: true });
});

it('an account that may not create Pods is warned before the take-over, which goes on without', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  const verbs = (verbs: string[], ...resources: string[]) => ({ apiGroups: ['*'], resources, verbs });
  const kubeconfig = await account(cluster, 'without-pods', [
    verbs(['get', 'list', 'watch'], '*'),
    verbs(['*'], 'services', 'deployments', 'deployments/scale', 'leases', 'endpoints', 'endpointslices'),
    verbs(['*'], 'configmaps', 'validatingwebhookconfigurations'),
  ]);
  const server = hookServer('local', '9443');
  const options = { cwd: checkout.directory, env: { ...env(), KUBECONFIG: kubeconfig } };
  await using up = startDevloop(['up', '--route', 'direct', ...server], options);
  await up.waitFor('session.ready', undefined, 120_000);
  const warned = up.events.findIndex(({ type }) => type === 'warning');
  expect(up.events[warned]).toMatchObject({
    message: expect.stringMatching(/-devloop-<session>.*create.* pods/),
  });
  expect(warned).toBeLessThan(up.events.findIndex(({ type }) => type === 'change'));
  expect(await standIns()).toEqual([]);
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
});

/** With these variables of the Deployment, the build would fail, and each program would load a library that exists only in the image. */
async function expectOnlyOwnVariables(up: DevloopRun): Promise<void> {
  const started = up.events.find((event) => event.type === 'controller.started');
  const variables = await readFile(`/proc/${started!.pid}/environ`, 'latin1');
  const names = variables.split('\0').map((one) => one.split('=', 1)[0]);
  expect(names).toContain('POD_NAME');
  expect(names.filter((name) => name === 'LD_PRELOAD' || name === 'GOFLAGS')).toEqual([]);
  const message = expect.stringMatching(/LD_PRELOAD.*GOFLAGS/);
  expect(up.events).toContainEqual(expect.objectContaining({ type: 'note', message }));
}

/** The references to Secrets are printed, but no value of a Secret. */
async function expectUnprinted(text: string): Promise<void> {
  expect(text).toMatch(/\$\(TOKEN\)/);
  const values = await secretValues();
  expect(values.filter(({ value }) => text.includes(value)).map(({ name }) => name)).toEqual([]);
}

/**
 * The Deployment uses a Secret in every possible way: one variable, all keys as variables, inside another variable, in an argument, as a
 * file.
 */
async function addSecrets(): Promise<void> {
  const [token, password] = ['tok-4f1c9a77e2', 'pw/5d0b81c6aa+='];
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'credentials', namespace: NAMESPACE },
    stringData: { token, password, 'config.yaml': `leaderElect: true\nsecret: ${token}\n` },
  };
  const keystore = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keystore', namespace: NAMESPACE },
    data: { 'store.jks': KEYSTORE.toString('base64') },
  };
  await cluster.apply([secret, keystore]);
  const container = '/spec/template/spec/containers/0';
  const add = (path: string, value: unknown) => ({ op: 'add', path, value });
  const mount = { name: 'credentials', mountPath: '/credentials' };
  const patch = [
    add(`${container}/env/-`, {
      name: 'TOKEN',
      valueFrom: { secretKeyRef: { name: 'credentials', key: 'token' } },
    }),
    add(`${container}/env/-`, { name: 'LD_PRELOAD', value: '/image/lib.so' }),
    add(`${container}/env/-`, { name: 'GOFLAGS', value: '-mod=nonsense' }),
    add(`${container}/env/-`, { name: 'DSN', value: 'postgres://me:$(C_password)@db/$(TOKEN)' }),
    add(`${container}/envFrom`, [{ prefix: 'C_', secretRef: { name: 'credentials' } }]),
    // Words after the flags mean nothing to this manager.
    ...['$(TOKEN)', '$(DSN)', '/credentials/$(TOKEN)', '/credentials/config.yaml', '/keystore'].map((word) =>
      add(`${container}/args/-`, word),
    ),
    add(`${container}/volumeMounts/-`, mount),
    add('/spec/template/spec/volumes/-', { name: 'credentials', secret: { secretName: 'credentials' } }),
    add(`${container}/volumeMounts/-`, { name: 'keystore', mountPath: '/keystore' }),
    add('/spec/template/spec/volumes/-', { name: 'keystore', secret: { secretName: 'keystore' } }),
  ];
  await cluster.call('PATCH', `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${DEPLOYMENT}`, patch);
  await rolledOut(cluster);
}

/** The values of all Secrets in the namespace, decoded and not decoded, except certificates, which are public. */
async function secretValues(): Promise<{ name: string; value: string }[]> {
  const { items } = (await cluster.read(`/api/v1/namespaces/${NAMESPACE}/secrets`)) as {
    items: { metadata: { name: string }; data?: Record<string, string> }[];
  };
  return items.flatMap(({ metadata, data = {} }) =>
    Object.entries(data)
      .filter(([key]) => !key.endsWith('.crt'))
      .flatMap(([key, encoded]) => {
        const name = `${metadata.name}/${key}`;
        const text = Buffer.from(encoded, 'base64').toString('latin1');
        // The second line of a private key occurs in no other key.
        const value = text.startsWith('-----BEGIN') ? text.split('\n')[2]! : text.trim();
        return [
          { name, value },
          { name: `${name} in base64`, value: encoded },
        ];
      }),
  );
}

interface Printed {
  text: string;
  end(signal: NodeJS.Signals): Printed;
}

/** What devloop prints for people, on both streams, until it ends or has printed this text. */
async function printedBy(args: string[], more: Record<string, string>, until?: RegExp): Promise<Printed> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: checkout.directory,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: '', ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed: Printed = {
    text: '',
    end(signal) {
      child.kill(signal);
      return printed;
    },
  };
  await new Promise<void>((resolve) => {
    const read = (chunk: Buffer): void => {
      printed.text += chunk;
      if (until?.test(printed.text)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('close', () => resolve());
  });
  if (until) expect(printed.text).toMatch(until);
  return printed;
}
