import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { scriptRecipes } from '../../../../src/checkout/go/scripts.ts';
import { directoryWith } from '../../controller/support/places.ts';

const MAIN = 'package main\n\nconst path = "/validate-shop"\n\nfunc main() {}\n';
const SCRIPT = `#!/usr/bin/env bash
set -euo pipefail
PKG=example.com/shop/internal/version
LDFLAGS="-X \${PKG}.Number=1.2.3"
LDFLAGS+=" -X \${PKG}.Commit=$(git rev-parse HEAD)"
go build -tags netgo -ldflags "\${LDFLAGS}" -o bin/manager ./cmd/manager
`;

async function flagsWith(files: Record<string, string>) {
  const all = { 'go.mod': 'module example.com/shop\n', 'cmd/manager/main.go': MAIN, ...files };
  const { flags } = await findMainPackage(new Checkout(await directoryWith(all)), {
    command: ['/manager'],
    paths: ['/validate-shop'],
  });
  return flags.map(({ value, source }) => [value, source]);
}

test.each<[string, Record<string, string>]>([
  ['a Makefile', { Makefile: 'build:\n\t@VERBOSE=1 ./hack/build.sh\n' }],
  ['a Makefile with a shell', { Makefile: 'build:\n\tbash hack/build.sh "$(V)"\n' }],
  [
    'a Dockerfile',
    { Dockerfile: 'FROM golang\nRUN ["hack/build.sh"]\nFROM scratch\nENTRYPOINT ["/manager"]\n' },
  ],
])('flags that only a script sets which %s calls', async (_, files) => {
  const [tags, linker] = await flagsWith({ 'hack/build.sh': SCRIPT, ...files });
  expect(tags).toEqual(['netgo', 'hack/build.sh']);
  expect(linker![0]).toBe('-X example.com/shop/internal/version.Number=1.2.3 -s');
  expect(linker![1]).toContain('hack/build.sh');
  expect(linker![1]).toContain('-X example.com/shop/internal/version.Commit=$(git rev-parse HEAD)');
});

test('what the Makefile itself says counts more than its scripts', async () => {
  const Makefile = 'build:\n\tgo build -tags own -o bin/manager ./cmd/manager\n\t./hack/build.sh\n';
  const flags = await flagsWith({ 'hack/build.sh': SCRIPT, Makefile });
  expect(flags[0]).toEqual(['own', 'the Makefile']);
});

test('nothing outside the directory is read, and no name that only ends like a script', async () => {
  const directory = await directoryWith({ 'in/Makefile': '', 'out.sh': SCRIPT, 'in/a.shop': SCRIPT });
  const text = '\t../out.sh\n\t./a.shop\n\t/out.sh\n\tin/../../out.sh\n';
  const inside = { checkout: new Checkout(directory), directory: `${directory}/in`, module: '' };
  expect(scriptRecipes(text, inside)).toEqual([]);
});
