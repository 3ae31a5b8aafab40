import { access, appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCluster, type TestCluster } from '../cluster/cluster.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { application, checkoutSample, deploySample, NAMESPACE } from '../support/sample-operator.ts';
import { snapshot } from '../support/snapshot.ts';

/** Nobody tells the manager of it: it is a constant of its sources. */
const FIXED = '/tmp/devloop-test-habits/serving-certs';

const MESSAGE = 'an Application needs an image';

const HABITS = `
const fixedCertDir = "${FIXED}"

var configFile = flag.String("config", "", "Where the settings are.")

func (o *options) readSettings() error {
	namespace := os.Getenv("OPERATOR_NAMESPACE")
	if namespace == "" {
		text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		if err != nil {
			return err
		}
		namespace = string(text)
	}
	fmt.Println("namespace " + namespace)
	settings, err := os.ReadFile(*configFile)
	if err != nil {
		return err
	}
	o.leaderElect = strings.Contains(string(settings), "leaderElect: true")
	o.webhookCert.dir = fixedCertDir
	return nil
}
`;
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
  path: /spec/template/spec/volumes/-
  value: {name: settings, configMap: {name: manager-config}}
`;
/** Beside the manager, and of controller-runtime too. */
const AGENT = `package main

import ctrl "sigs.k8s.io/controller-runtime"

func main() { <-ctrl.SetupSignalHandler().Done() }
`;

/** The program of the image, as its Dockerfile builds it. */
const TAGGED = `//go:build everything

package main

import "fmt"

func init() { fmt.Println("everything is in it") }
`;

let cluster: TestCluster;
let checkout: Awaited<ReturnType<typeof checkoutSample>>;

beforeAll(async () => {
  cluster = await startCluster({ log: (line) => console.error(line) });
  checkout = await checkoutSample();
  await takeUpHabits();
  await deploySample(cluster, checkout.directory);
});

afterAll(async () => {
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
  await writeFile(at('cmd/tagged.go'), TAGGED);
  await edit('Dockerfile', 'go build', 'go build -tags everything');
  await appendFile(at('config/manager/manager.yaml'), `---\n${SETTINGS}`);
  await edit(
    'config/manager/manager.yaml',
    '- --leader-elect\n',
    '- --config=/controller_manager_config.yaml\n',
  );
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

const env = (): Record<string, string> => ({ KUBECONFIG: cluster.kubeconfig, CGO_ENABLED: '0' });
const start = (): DevloopRun => startDevloop(['up'], { cwd: checkout.directory, env: env() });
const review = (): Promise<string> =>
  cluster
    .kubectl(['apply', '--dry-run=server', '-f', '-'], { input: application('fail', '') })
    .then(String, (error: Error) => error.message);

it('a manager that looks where its sources say, in a mounted file, and in a file of its Pod runs without configuration', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  await edit('internal/webhook/v1/application_webhook.go', MESSAGE, 'answered here');
  await using up = start();
  await up.waitFor('session.ready', undefined, 300_000);
  expect(await review()).toContain('answered here');
  const found = up.events.filter((event) => event.type === 'discovered');
  expect(found).toContainEqual(expect.objectContaining({ what: 'main package', value: './cmd' }));
  expect(up.events).toContainEqual(
    expect.objectContaining({ type: 'controller.output', line: `namespace ${NAMESPACE}` }),
  );
  expect(found).toContainEqual(expect.objectContaining({ what: 'build tags', value: 'everything' }));
  expect(up.events).toContainEqual(
    expect.objectContaining({ type: 'controller.output', line: 'everything is in it' }),
  );
  await access(join(FIXED, 'tls.key'));
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  expect(await review()).toContain(MESSAGE);
  await expect(access(dirname(FIXED))).rejects.toThrow('ENOENT');
});

it('a session that is killed leaves its key pair there, and down removes it with all else', async () => {
  const before = await snapshot(cluster, NAMESPACE);
  await using up = start();
  await up.waitFor('session.ready', undefined, 300_000);
  up.signal('SIGKILL');
  await up.exited;
  await access(join(FIXED, 'tls.key'));
  const { code, log } = await runDevloop(['down'], { cwd: tmpdir(), env: env() });
  expect(code, log).toBe(0);
  expect(await snapshot(cluster, NAMESPACE)).toEqual(before);
  await expect(access(dirname(FIXED))).rejects.toThrow('ENOENT');
});
