/** Without a cluster, the sample runs against an API server of its own, and nothing is left of it. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { runDevloop, startDevloop } from '../support/devloop.ts';
import { application, checkoutSample, NAMESPACE } from '../support/sample-operator.ts';
import { addSettings } from '../support/settings-of-sample.ts';

const BUILT_MS = 240_000;
const LOG = (line: string) => console.error(line);

it('a checkout that was never deployed has its first review answered, its reconciles seen, and leaves nothing', async () => {
  await using checkout = await checkoutSample();
  const cwd = checkout.directory;
  await addSettings(cwd);
  const state = join(cwd, '.state');
  const env = { XDG_STATE_HOME: state, KUBECONFIG: join(cwd, 'no-kubeconfig'), KUBEBUILDER_ASSETS: '' };
  const without = await runDevloop(['up', '--embedded'], { cwd, env });
  expect(without.code, without.log).toBe(2);
  expect(without.log).toContain('setup-envtest@latest use');

  const { cluster } = await ensureClusterBinaries({ log: LOG });
  const assets = join(cwd, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  await using killed = startDevloop(['up', '--embedded'], { cwd, env });
  const before = await killed.waitFor('session.ready', ({ embedded }) => embedded === true, BUILT_MS);
  const second = await runDevloop(['up', '--embedded'], { cwd, env });
  expect(second.code, second.log).toBe(4);
  expect(second.log).toContain(`Session ${before.session} (pid ${killed.pid})`);
  killed.signal('SIGKILL');
  await killed.exited;

  await using up = startDevloop(['up', '--embedded'], { cwd, env });
  await up.waitFor('session.ready', ({ embedded }) => embedded === true, BUILT_MS);
  const started = await up.waitFor('note', ({ code }) => code === 'embedded.started');
  const { kubeconfig } = started.values as { kubeconfig: string };
  const file = join(cwd, 'web.yaml');
  await writeFile(file, application('web', 'example.com/shop:1'));
  const kubectl = async (...words: string[]) =>
    (await promisify(execFile)('kubectl', ['--kubeconfig', kubeconfig, ...words])).stdout;
  await kubectl('apply', '-f', file);
  const review = await up.waitFor('review', ({ verdict }) => verdict === 'allowed');
  expect(review).toMatchObject({ operation: 'CREATE', object: { name: 'web', namespace: 'default' } });
  const reconcile = await up.waitFor('reconcile', ({ calls }) => calls.length > 2);
  expect(reconcile).toMatchObject({ kind: 'Application', name: 'web', result: 'success' });
  expect(await kubectl('get', 'deployment', 'web', '-o', 'name')).toBe('deployment.apps/web\n');
  const bad = join(cwd, 'config/samples/apps_v1_application_bad.yaml');
  await expect(kubectl('apply', '-f', bad)).rejects.toThrow('is invalid');

  const output = (text: string) => up.waitFor('controller.output', ({ line }) => line.includes(text));
  const level = (text: string) =>
    kubectl(
      'patch',
      'configmap',
      'application-operator-settings',
      '-n',
      NAMESPACE,
      '-p',
      `{"data":{"level.txt":"${text}"}}`,
    );
  await output('starts with one in settings, variable one, subPath one');
  await level('two');
  await output('sees two in settings, variable one, subPath one');
  await output('sees two in applicat, variable one, subPath one');
  const objects = [{ kind: 'ConfigMap', namespace: NAMESPACE, name: 'application-operator-settings' }];
  for (const [code, values] of [
    ['configuration.updated', { objects, paths: ['/settings', '/etc/application-operator'] }],
    ['configuration.variables', { objects, variables: ['SETTINGS_LEVEL'] }],
    ['configuration.sub-path', { objects, path: '/fixed.txt' }],
  ] as const)
    expect((await up.waitFor('note', (note) => note.code === code)).values).toEqual(values);
  await writeFile(
    join(cwd, 'cmd/settings_more.go'),
    'package main\n\nfunc init() { println("another build") }\n',
  );
  await output('starts with two in settings, variable two, subPath two');

  const running = (await readdir(join(state, 'devloop'))).find((name) => name.startsWith('embedded-'))!;
  const record = await readFile(join(state, 'devloop', running, 'etcd.json'), 'utf8');
  process.kill((JSON.parse(record) as { pid: number }).pid, 'SIGKILL');
  expect(await up.exited, up.log()).toBe(3);
  expect((await up.waitFor('error')).message).toMatch(/its etcd \(pid \d+\) was killed by SIGKILL/);
  await expect(kubectl('get', 'namespaces')).rejects.toThrow('refused');
  expect(up.log()).not.toContain('identity.as-user');
  expect((await readdir(join(state, 'devloop'))).filter((name) => !name.startsWith('.'))).toEqual([]);
  await rm(file);
});
