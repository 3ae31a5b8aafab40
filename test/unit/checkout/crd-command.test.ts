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
  expect(await crdCommand(root)).toEqual(command);
});

it('names kubectl where no target applies the CRDs', async () => {
  await mkdir(join(root, 'config/crd/bases'), { recursive: true });
  expect(await crdCommand(root)).toBe('kubectl apply --server-side -f config/crd/bases');
  await writeFile(join(root, 'Makefile'), 'manifests:\n');
  expect(await crdCommand(root)).toBe('make manifests && kubectl apply --server-side -f config/crd/bases');
});
