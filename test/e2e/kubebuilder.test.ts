/** Projects as kubebuilder makes them, without generated manifests and without a cluster. */
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { ensureClusterBinaries } from '../cluster/build.ts';
import { hashOf } from '../cluster/cache.ts';
import { run } from '../cluster/run.ts';
import { DapClient, delve } from '../support/delve.ts';
import { type DevloopRun, runDevloop, startDevloop } from '../support/devloop.ts';
import { freePort } from '../support/free-port.ts';
import { kubebuilderProject, TYPES, WEBHOOK } from '../support/kubebuilder.ts';

const BUILT_MS = 240_000;
const CRD = 'config/crd/bases/shop.example.com_guestbooks.yaml';
const HOOKS = 'config/webhook/manifests.yaml';
const DEFAULT = 'config/default/kustomization.yaml';
const SOURCES = ['{api,cmd,config,internal}/**/*.{go,yaml}', 'Makefile', 'PROJECT'];

it('a new project has its webhooks called and its CRDs follow its types, and nothing of it is written', async () => {
  await using checkout = await kubebuilderProject('new');
  const { cwd, env } = await withAssets(checkout.directory);
  const controllerGen = join(cwd, 'bin/controller-gen');
  await rename(controllerGen, join(cwd, 'elsewhere'));
  const without = await runDevloop(['up', '--embedded'], { cwd, env });
  expect(without.code, without.log).toBe(2);
  expect(without.log).toContain('controller-gen v0.22.0');
  expect(without.log).toContain('make manifests generate');
  await rename(join(cwd, 'elsewhere'), controllerGen);

  const before = await hashOf(cwd, SOURCES);
  await using up = startDevloop(['up', '--embedded'], { cwd, env });
  const generated = await up.waitFor('note', ({ code }) => code === 'manifests.generated', BUILT_MS);
  expect(generated.values).toEqual({
    missing: [CRD, HOOKS],
    old: ['config/rbac/role.yaml'],
    command: 'make manifests',
  });
  const { apply, kubectl } = await answered(up);
  const reconcile = await up.waitFor('reconcile');
  expect(reconcile).toMatchObject({ kind: 'Guestbook', name: 'good', result: 'success' });
  expect(await hashOf(cwd, SOURCES)).toBe(before);

  const types = join(cwd, TYPES);
  const field = '\t// +optional\n\tColour string `json:"colour,omitempty"`\n}\n\n// GuestbookStatus';
  await writeFile(types, (await readFile(types, 'utf8')).replace(/}\n\n\/\/ GuestbookStatus/, field));
  const updated = await up.waitFor('note', ({ code }) => code === 'manifests.updated');
  expect(updated.values).toEqual({ objects: ['CustomResourceDefinition guestbooks.shop.example.com'] });
  await apply('painted', '{colour: red}');
  expect(await kubectl(['get', 'guestbook', 'painted', '-o', 'jsonpath={.spec.colour}'])).toBe('red');
  await expect(stat(join(cwd, CRD))).rejects.toThrow('ENOENT');
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
});

it('a project whose [WEBHOOK] sections are comments has its webhooks called, too, and they stop at breakpoints', async () => {
  await using checkout = await kubebuilderProject('old');
  const { cwd, env } = await withAssets(checkout.directory);
  const bin = join(cwd, 'tools');
  await mkdir(bin);
  await rename(join(cwd, 'bin/controller-gen'), join(bin, 'controller-gen'));
  const kustomization = join(cwd, DEFAULT);
  const commented = (await readFile(kustomization, 'utf8'))
    .replace('\n- ../webhook', '\n#- ../webhook')
    .replace(/\n(- path: manager_webhook_patch.yaml)\n {2}target:\n {4}kind: Deployment/, '\n#$1');
  await writeFile(kustomization, commented);
  const [dlv, port] = [await delve(), await freePort()];
  const PATH = `${bin}:${dirname(dlv)}:${process.env.PATH}`;
  await using up = startDevloop(['up', '--embedded', `--debug=${port}`], { cwd, env: { ...env, PATH } });
  const added = await up.waitFor('warning', ({ code }) => code === 'manifests.webhooks-added', BUILT_MS);
  expect(added.values).toEqual({ directory: 'config/default', webhooks: 'config/webhook' });
  const { apply } = await answered(up);
  expect(await readFile(kustomization, 'utf8')).toBe(commented);
  using editor = new DapClient(port);
  const file = join(cwd, WEBHOOK);
  const lines = (await readFile(file, 'utf8')).split('\n');
  const line = lines.findIndex((one) => one.includes('GetName() == "bad"')) + 1;
  await editor.begin(file, [line]);
  const applied = apply('stopped');
  expect(await editor.stoppedAt()).toBe(line);
  await editor.go('continue');
  await applied;
  up.signal('SIGINT');
  expect(await up.exited, up.log()).toBe(130);
});

async function withAssets(cwd: string): Promise<{ cwd: string; env: Record<string, string> }> {
  const { cluster } = await ensureClusterBinaries({ log: (line) => console.error(line) });
  const assets = join(cwd, 'bin/k8s/1.36.0-linux-amd64');
  await mkdir(assets, { recursive: true });
  for (const name of ['etcd', 'kube-apiserver'])
    await writeFile(join(assets, name), `#!/bin/sh\nexec ${cluster} ${name} "$@"\n`, { mode: 0o755 });
  return {
    cwd,
    env: { XDG_STATE_HOME: join(cwd, '.state'), KUBECONFIG: join(cwd, 'none'), KUBEBUILDER_ASSETS: '' },
  };
}

/** The first objects that somebody applies: one is admitted, the other is refused by the code. */
async function answered(up: DevloopRun) {
  await up.waitFor('session.ready', ({ embedded }) => embedded === true, BUILT_MS);
  const { values } = await up.waitFor('note', ({ code }) => code === 'embedded.started');
  const { kubeconfig } = values as { kubeconfig: string };
  const kubectl = (words: string[], input?: string): Promise<string> =>
    run('kubectl', ['--kubeconfig', kubeconfig, ...words], input === undefined ? {} : { input });
  const apply = async (name: string, spec = '{foo: bar}'): Promise<string> => {
    const head = `apiVersion: shop.example.com/v1\nkind: Guestbook\nmetadata: {name: ${name}, namespace: default}\n`;
    return await kubectl(['apply', '-f', '-'], `${head}spec: ${spec}\n`);
  };
  await apply('good');
  const review = await up.waitFor('review', ({ verdict }) => verdict === 'allowed');
  expect(review).toMatchObject({ operation: 'CREATE', object: { name: 'good', namespace: 'default' } });
  await expect(apply('bad')).rejects.toThrow('no guestbook is called bad');
  return { apply, kubectl };
}
