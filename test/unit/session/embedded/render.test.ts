import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Io } from '../../../../src/session/context/options.ts';
import { renderCheckout } from '../../../../src/session/embedded/render.ts';
import { projectRoot, sourceOf } from '../../../../src/session/embedded/source.ts';
import { overlay } from '../../../../src/session/generated/generate.ts';
import { partly } from '../../../support/partly.ts';
import { directoryWith, put } from '../../controller/support/places.ts';

const object = (kind: string, name: string, more = '') =>
  `kind: ${kind}\napiVersion: v1\nmetadata: {name: ${name}${more}}\n`;

/** What is rendered of a checkout with these files: `Kind namespace/name` of each object, and where it is from. */
async function rendered(files: Record<string, string>) {
  const root = await directoryWith(files);
  const io = partly<Io>({
    cwd: root,
    env: process.env,
    signal: new AbortController().signal,
    emit: () => {},
  });
  const { objects, from, watched, added } = await renderCheckout(
    { root, generated: undefined, assets: '', scratch: root },
    io,
  );
  const names = objects.map(
    ({ kind, metadata: { namespace = '-', name } }) => `${kind} ${namespace}/${name}`,
  );
  return { names, from, watched, ...(added && { added }) };
}

test('a bundle that the checkout has built is enough', async () => {
  const files = { 'dist/install.yaml': `${object('Service', 'a')}---\n---\n${object('ConfigMap', 'b')}` };
  expect(await rendered(files)).toEqual({
    names: ['Service -/a', 'ConfigMap -/b'],
    from: 'dist/install.yaml',
    watched: ['dist/install.yaml'],
  });
});

test('a bundle that is being written is an error, and not a bundle with less in it', async () => {
  const files = { 'dist/install.yaml': `${object('Service', 'a')}---\nkind: [` };
  await expect(rendered(files)).rejects.toMatchObject({ code: 'embedded.manifests' });
});

test('without a bundle, the YAML files of an operator are, without samples, tests and templates', async () => {
  const files = {
    'deploy/a.yaml': `${object('Deployment', 'manager')}---\n${object('Shop', 'own')}`,
    'deploy/copy.yaml': object('Deployment', 'manager'),
    'deploy/samples/b.yaml': object('ConfigMap', 'sample'),
    'deploy/template.yaml': `${object('Service', 'template')}spec: {type: "{{ .Values.a }}"}\n`,
    'deploy/other-template.yaml': `${object('Service', '{{ .Values.name }}')}`,
    'deploy/control.yaml': `{{- if .Values.a }}\n${object('Service', 'control')}{{- end }}\n`,
    'deploy/text.yaml': `# {{ a comment }}\n${object('ConfigMap', 'text')}data: {a: "{{ .Name }}"}\n`,
    'crds/c.yaml': object('CustomResourceDefinition', 'shops.example.com'),
    'internal/testing/d.yaml': object('ConfigMap', 'test'),
  };
  expect(await rendered(files)).toEqual({
    names: ['CustomResourceDefinition -/shops.example.com', 'Deployment -/manager', 'ConfigMap -/text'],
    from: 'the YAML files below crds, deploy',
    watched: ['crds', 'deploy'],
  });
});

const HOOK = object('MutatingWebhookConfiguration', 'hook');

test.each<[string, Record<string, string>, string[], string]>([
  [
    'any other place, and the root',
    {
      'config/app.yaml': object('ConfigMap', 'settings'),
      'dev/manifests/hook.yaml': HOOK,
      'deployment.yaml': object('Deployment', 'manager'),
      'examples/a.yaml': object('Deployment', 'sample'),
      'test/b.yaml': object('Deployment', 'test'),
    },
    ['ConfigMap -/settings', 'Deployment -/manager', 'MutatingWebhookConfiguration -/hook'],
    'the YAML files below config, deployment.yaml, dev',
  ],
  [
    'examples, if they register webhooks',
    { 'examples/kubernetes/a.yaml': `${HOOK}---\n${object('Deployment', 'manager')}` },
    ['MutatingWebhookConfiguration -/hook', 'Deployment -/manager'],
    'the YAML files below examples',
  ],
  [
    'files that a script fills in, except what is filled in beside them',
    {
      'deploy/hook.yaml.tpl': `${object('MutatingWebhookConfiguration', 'hook', ', labels: {a: T}')}`,
      'deploy/hook.yaml': HOOK,
      'deploy/manager.yaml.template': `${object('Deployment', 'manager')}caBundle: \${CA}\n`,
      'deploy/other.yaml.in': `${object('Deployment', 'other')}a: @A@\n`,
    },
    ['MutatingWebhookConfiguration -/hook', 'Deployment -/manager'],
    'the YAML files below deploy',
  ],
])('manifests are found in %s', async (_, files, names, from) => {
  expect(await rendered(files)).toMatchObject({ names, from });
});

test('examples that only show workloads are no manifests of the operator', async () => {
  const files = { 'examples/a.yaml': object('Deployment', 'sample') };
  await expect(rendered(files)).rejects.toMatchObject({ code: 'embedded.manifests' });
});

test('with none of these, the error says what is looked for; a chart needs helm', async () => {
  await expect(rendered({})).rejects.toMatchObject({ code: 'embedded.manifests' });
  await expect(rendered({})).rejects.toThrow('config/default/kustomization.yaml');
});

test.each([
  ['..', 'files', ''],
  ['in/../..', 'files', ''],
  ['/', 'files', ''],
  ['./deploy/', 'overlay', 'deploy'],
  ['.', 'overlay', '.'],
  ['overlays/$(KIND)', 'overlay', 'overlays/plain'],
])('what the Makefile builds is followed within the checkout: %s', async (built, is, name) => {
  const outside = await directoryWith({
    'kustomization.yaml': '',
    'checkout/Makefile': `KIND ?= plain\ndeploy:\n\tkustomize build ${built}\n`,
    'checkout/deploy/kustomization.yaml': '',
    'checkout/overlays/plain/kustomization.yaml': '',
    ...(built === '.' && { 'checkout/kustomization.yaml': '' }),
  });
  const root = join(outside, 'checkout');
  if (built === '/') await put(root, 'Makefile', `deploy:\n\tkustomize build ${outside}\n`);
  expect(await sourceOf(root)).toEqual({ is, name });
});

const MANAGER = object('Deployment', 'manager', '');
const OVERLAY = {
  'config/default/kustomization.yaml': 'resources: [manager.yaml]\n',
  'config/default/manager.yaml':
    `${MANAGER}spec: {template: {spec: {containers: [{name: a, args: []}]}}}\n`.replace('v1', 'apps/v1'),
  'config/webhook/kustomization.yaml': 'resources: [manifests.yaml]\n',
  'config/webhook/manifests.yaml': object('ValidatingWebhookConfiguration', 'hook'),
};
const patchOf = (...lists: string[]) =>
  lists.map((list) => `- {op: add, path: /spec/template/spec/${list}/-, value: {name: b}}\n`).join('');

test('webhooks that the overlay leaves out are added, also as a component, and to a manager that has none of the lists that their patch adds to', async () => {
  const all = ['Deployment -/manager', 'ValidatingWebhookConfiguration -/hook'];
  const names = async (more: Record<string, string>) =>
    (await rendered({ ...OVERLAY, ...more })).names.sort();
  expect(await names({})).toEqual(all);
  const component =
    'kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nresources: [manifests.yaml]\n';
  expect(await names({ 'config/webhook/kustomization.yaml': component })).toEqual(all);
  const patch = 'config/default/manager_webhook_patch.yaml';
  expect(await names({ [patch]: patchOf('volumes', 'containers/0/ports', 'containers/0/args') })).toEqual(
    all,
  );
});

test('a patch that is newer than the program gives it no flag that its sources do not name', async () => {
  const flag = (name: string) =>
    `- {op: add, path: /spec/template/spec/containers/0/args/-, value: --${name}=/certs}\n`;
  const root = await directoryWith({
    ...OVERLAY,
    'config/default/manager_webhook_patch.yaml': `${flag('webhook-cert-path')}${flag('cert-dir')}`,
    'cmd/main.go': 'package main\n\nvar dir = flag.String("cert-dir", "", "")\n',
  });
  const io = { cwd: root, env: process.env, signal: new AbortController().signal, emit() {} };
  const from = { root, generated: undefined, assets: '', scratch: root };
  const { objects } = await renderCheckout(from, partly<Io>(io));
  const [manager] = objects.filter(({ kind }) => kind === 'Deployment');
  expect(manager).toMatchObject({
    spec: { template: { spec: { containers: [{ args: ['--cert-dir=/certs'] }] } } },
  });
});

test('CRDs that the Makefile installs apart from the overlay are there, too', async () => {
  const crds = { 'config/crd/kustomization.yaml': 'resources: [shops.yaml]\n' };
  const files = { ...OVERLAY, ...crds, 'config/webhook/manifests.yaml': '' };
  const crd = object('CustomResourceDefinition', 'shops.example.com');
  expect(await rendered({ ...files, 'config/crd/shops.yaml': crd })).toMatchObject({
    names: ['CustomResourceDefinition -/shops.example.com', 'Deployment -/manager'],
    from: 'config/default, config/crd',
  });
  const both = 'resources: [manager.yaml, ../crd]\n';
  const together = { ...files, 'config/crd/shops.yaml': crd, 'config/default/kustomization.yaml': both };
  expect((await rendered(together)).from).toBe('config/default');
});

test('without webhooks that cannot be added, the rest is there', async () => {
  const { names, added } = await rendered({
    ...OVERLAY,
    'config/webhook/kustomization.yaml': 'resources: [none.yaml]\n',
  });
  expect(names).toEqual(['Deployment -/manager']);
  expect(added).toMatchObject({ webhooks: 'config/webhook', whyNot: expect.stringContaining('none.yaml') });
});

const WORKLOAD = object('Deployment', 'manager');

test.each<[string, Record<string, string>, string | undefined]>([
  [
    'an overlay that no other lists, and of several the one for development',
    {
      'deploy/base/kustomization.yaml': 'resources: [manager.yaml]',
      'deploy/base/manager.yaml': WORKLOAD,
      'deploy/overlays/prod/kustomization.yaml': 'bases: [../../base]',
      'deploy/overlays/dev/kustomization.yaml': 'resources:\n- ../../base/',
      'deploy/overlays/monitoring/kustomization.yaml': 'resources: [monitor.yaml]',
      'deploy/overlays/monitoring/monitor.yaml': object('ServiceMonitor', 'm'),
    },
    'deploy/overlays/dev',
  ],
  ['the root', { Kustomization: 'resources: [a.yaml]', 'a.yaml': HOOK }, '.'],
  [
    'no parts of an overlay that is not there, nor samples, nor a circle',
    {
      'config/manager/kustomization.yaml': 'resources: [manager.yaml]',
      'config/manager/manager.yaml': WORKLOAD,
      'samples/kustomization.yaml': 'resources: [a.yaml]',
      'samples/a.yaml': WORKLOAD,
      'a/kustomization.yaml': 'resources: [../a, b.yaml]',
    },
    undefined,
  ],
])('without config/default and a name in the Makefile, what is rendered is %s', async (_, files, name) => {
  const expected = name === undefined ? { is: 'files', name: '' } : { is: 'overlay', name };
  expect(await sourceOf(await directoryWith(files))).toEqual(expected);
});

test('one module can have several projects: the nearest one is rendered, and at the top they are named', async () => {
  const overlays = ['a', 'b/c'].flatMap((one) => [
    [`${one}/config/default/kustomization.yaml`, 'resources: [manager.yaml]'] as const,
    [`${one}/config/default/manager.yaml`, WORKLOAD] as const,
  ]);
  const root = await directoryWith({
    'go.mod': 'module a\n',
    'b/c/api/v1/a.go': '',
    ...Object.fromEntries(overlays),
  });
  expect(await projectRoot(join(root, 'b/c/api/v1'), root)).toBe(join(root, 'b/c'));
  expect(await projectRoot(join(root, 'b'), root)).toBe(root);
  await expect(rendered(Object.fromEntries(overlays))).rejects.toMatchObject({
    code: 'embedded.manifests',
    hint: 'cd a && devloop up --embedded\ncd b/c && devloop up --embedded',
  });
});

test('a copy has a limit, and neither repositories nor packages', async () => {
  const files = { '.git/HEAD': '', 'a/b.yaml': '', 'a/node_modules/c.js': '', 'kustomization.yaml': '' };
  const root = await directoryWith(files);
  const scratch = await directoryWith({});
  const copy = await overlay({ root, scratch }, '.');
  expect((await readdir(copy, { recursive: true })).sort()).toEqual(['a', 'a/b.yaml', 'kustomization.yaml']);
  await truncate(join(root, 'a/b.yaml'), 200 * 1024 * 1024);
  await expect(overlay({ root, scratch }, '.')).rejects.toMatchObject({ code: 'embedded.manifests' });
});
