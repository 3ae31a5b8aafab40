import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { isFile } from '../../../../src/checkout/files.ts';
import { ARCH, OS } from '../../../../src/machine/host.ts';
import { findingOf } from '../../../../src/session/doctor/check.ts';
import { envtestCheck } from '../../../../src/session/doctor/envtest.ts';
import { directoryWith } from '../../controller/support/places.ts';

const OWN = `bin/k8s/1.36.2-${OS}-${ARCH}`;

/** A checkout whose own programs leave a file behind when they run. */
async function checkout(directory: string) {
  const root = await directoryWith({ 'go.mod': 'module x\n' });
  const ran = join(root, 'ran');
  await mkdir(join(root, directory), { recursive: true });
  for (const name of ['etcd', 'kube-apiserver']) {
    await writeFile(
      join(root, directory, name),
      `#!/bin/sh\ntouch ${ran}\necho etcd Version: 3.6.8\necho Kubernetes v1.36.9\n`,
    );
    await chmod(join(root, directory, name), 0o755);
  }
  const check = async (env: Record<string, string> = {}) => {
    const run = {
      ...{ root, io: { env: { HOME: root, XDG_DATA_HOME: root, ...env } } },
      version: Promise.reject(new Error('no cluster')),
    };
    run.version.catch(() => {});
    return await Promise.resolve(envtestCheck.run(run as never, new AbortController().signal)).catch(
      (error) => findingOf(error, true),
    );
  };
  return { root, check, hasRun: () => isFile(ran) };
}

test('programs of the checkout are not run: their directory says their version', async () => {
  const { check, hasRun } = await checkout(OWN);
  expect(await check()).toMatchObject({
    verdict: 'ok',
    proof: expect.arrayContaining([expect.stringContaining('v1.36.2')]),
  });
  expect(hasRun()).toBe(false);
});

test('nor are they by another way: a variable, or a link', async () => {
  const { root, check, hasRun } = await checkout('tools');
  const link = join(await directoryWith(), 'assets');
  await symlink(join(root, 'tools'), link);
  for (const KUBEBUILDER_ASSETS of [join(root, 'tools'), link])
    expect(await check({ KUBEBUILDER_ASSETS })).toMatchObject({
      verdict: 'unknown',
      answer: expect.stringMatching(/^not checked/),
    });
  expect(hasRun()).toBe(false);
});

test('programs of a link in the checkout to another place are not run', async () => {
  const { root, hasRun } = await checkout('tools');
  const other = await checkout(OWN);
  await mkdir(dirname(join(other.root, OWN)), { recursive: true });
  await symlink(join(root, 'tools'), join(other.root, dirname(OWN), `1.37.0-${OS}-${ARCH}`));
  expect(await other.check()).toMatchObject({ verdict: 'ok', answer: expect.stringContaining('1.37') });
  expect(hasRun()).toBe(false);
});
