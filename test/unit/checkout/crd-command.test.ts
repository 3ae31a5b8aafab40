import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { crdCommand } from '../../../src/checkout/crd-command.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'devloop-crds-'));
  return () => rm(root, { recursive: true, force: true });
});

it.each([
  ['.PHONY: install\ngenerate: x\nmanifests: y ## Generate\ninstall: manifests\n', 'make manifests install'],
  ['install : x\nmanifests := y\n', 'make install'],
  ['crds:\n\tfoo\ninstall-crds: crds', 'make crds install-crds'],
  ['', expect.stringMatching(/^Apply /)],
])('names the targets that the Makefile has: %j', async (makefile, command) => {
  await writeFile(join(root, 'Makefile'), makefile);
  expect(await crdCommand({ root, cwd: root })).toEqual(command);
});

it('names kubectl where no target applies the CRDs', async () => {
  await mkdir(join(root, 'config/crd/bases'), { recursive: true });
  expect(await crdCommand({ root, cwd: root })).toBe('kubectl apply --server-side -f config/crd/bases');
  await writeFile(join(root, 'Makefile'), 'manifests:\n');
  expect(await crdCommand({ root, cwd: root })).toBe(
    'make manifests && kubectl apply --server-side -f config/crd/bases',
  );
});

it('works in the directory where the user is', async () => {
  const cwd = join(root, 'api/v1');
  await mkdir(join(root, 'config/crd/bases'), { recursive: true });
  await writeFile(join(root, 'Makefile'), 'manifests:\n');
  expect(await crdCommand({ root, cwd })).toBe(
    'make -C ../.. manifests && kubectl apply --server-side -f ../../config/crd/bases',
  );
  expect(await crdCommand({ root: join(root, 'api'), cwd: root })).toMatch(/^Apply /);
  await writeFile(join(root, 'Makefile'), 'install:\n');
  expect(await crdCommand({ root, cwd })).toBe('make -C ../.. install');
});
