import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test as plain } from 'vitest';
import { ARCH, OS } from '../../../src/machine/host.ts';
import { findAssets, inspectAssets, installCommand } from '../../../src/session/context/envtest-assets.ts';

const HERE = `${OS}-${ARCH}`;
const VERSIONS = { etcd: 'etcd Version: 3.6.8', 'kube-apiserver': 'Kubernetes v1.36.3' };

const test = plain.extend<{ root: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from the pattern
  root: async ({}, use) => {
    const root = await mkdtemp(join(tmpdir(), 'devloop-assets-'));
    await use(root);
    await rm(root, { recursive: true });
  },
});

async function put(directory: string, says: Partial<typeof VERSIONS> = VERSIONS): Promise<string> {
  await mkdir(directory, { recursive: true });
  for (const [name, text] of Object.entries(says))
    await writeFile(join(directory, name), `#!/bin/sh\necho "${text}"\n`, { mode: 0o755 });
  return directory;
}

const signal = new AbortController().signal;

test('programs are found in the store of setup-envtest, the newest first, in the checkout before, and where the variable says before all', async ({
  root,
}) => {
  const data = join(root, 'data');
  const stored =
    OS === 'darwin' ? 'Library/Application Support/io.kubebuilder.envtest' : 'kubebuilder-envtest';
  const env = { HOME: data, XDG_DATA_HOME: data };
  expect(await findAssets(root, env)).toEqual({ problems: [] });
  const old = await put(join(data, stored, 'k8s', `1.9.1-${HERE}`));
  const recent = await put(join(data, stored, 'k8s', `1.36.0-${HERE}`));
  expect((await findAssets(root, env)).directory).toBe(recent);
  expect(await inspectAssets(recent, signal)).toEqual({ version: 'v1.36.3' });
  const own = await put(join(root, 'bin/k8s', `1.35.0-${HERE}`));
  expect((await findAssets(root, env)).directory).toBe(own);
  await writeFile(join(root, 'Makefile'), 'ENVTEST_K8S_VERSION = 1.9\n');
  expect((await findAssets(root, env)).directory).toBe(old);
  expect((await findAssets(root, { ...env, KUBEBUILDER_ASSETS: own })).directory).toBe(own);
});

test('what cannot be used names the file, and nothing is used in its place if the variable is set', async ({
  root,
}) => {
  const env = { HOME: root, XDG_DATA_HOME: root };
  await put(join(root, 'bin/k8s', '1.36.0-plan9-mips'));
  expect(await findAssets(root, env)).toEqual({ problems: [expect.stringContaining('is for plan9/mips')] });
  await put(join(root, 'bin/k8s', `1.36.0-${HERE}`));
  const half = await put(join(root, 'half'), { etcd: VERSIONS.etcd });
  const named = { ...env, KUBEBUILDER_ASSETS: half };
  expect(await findAssets(root, named)).toEqual({ problems: [`${half}/kube-apiserver is missing`] });
  await put(half);
  await chmod(join(half, 'etcd'), 0o644);
  expect(await findAssets(root, named)).toEqual({ problems: [`${half}/etcd is not executable`] });
  await writeFile(join(half, 'etcd'), '\x7fELF of another machine', { mode: 0o755 });
  await chmod(join(half, 'etcd'), 0o755);
  expect(await inspectAssets(half, signal)).toEqual({
    problem: `${half}/etcd is not a program for ${OS}/${ARCH}`,
  });
  await put(half, { ...VERSIONS, etcd: 'Ohai' });
  expect(await inspectAssets(half, signal)).toEqual({
    problem: `${half}/etcd --version prints no version, but: Ohai`,
  });
});

test('the checkout installs them by its own target, or setup-envtest does, for its version', async ({
  root,
}) => {
  const [makefile, line] = [join(root, 'Makefile'), 'sigs.k8s.io/controller-runtime/tools/setup-envtest'];
  expect(await installCommand(root)).toBe(`go run ${line}@latest use`);
  await writeFile(makefile, 'ENVTEST_K8S_VERSION = 1.31.0\nenvtest: $(ENVTEST)\n');
  expect(await installCommand(root)).toBe(`go run ${line}@latest use 1.31.x`);
  await writeFile(makefile, 'setup-envtest: envtest\n');
  expect(await installCommand(root)).toBe('make setup-envtest');
});
