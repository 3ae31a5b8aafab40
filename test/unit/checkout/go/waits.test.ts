/** What devloop asks the go tool before a build, and what it prints while it waits for the answer. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { linkedPackages } from '../../../../src/checkout/go/linked-packages.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import type { DevloopEvent } from '../../../../src/report/events.ts';
import { emptyGoProxy, MISSING, MISSING_SUM, setForTest } from '../../../support/go-proxy.ts';
import { directoryWith } from '../../controller/support/places.ts';

const GO_MOD = `module example.com/shop\n\ngo 1.24\n\nrequire ${MISSING} v1.0.0\n`;

function main(...imports: string[]): string {
  return `package main\n\n${imports.map((path) => `import _ "${path}"\n`).join('')}\nfunc main() {}\n`;
}

/** What devloop waits for; `begun` resolves with the first wait. */
function waits() {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const all: string[] = [];
  const emit = (event: DevloopEvent): void => {
    if (event.type !== 'waiting') return;
    all.push(event.for);
    resolve();
  };
  return { begun, all, emit };
}

test('what the cache has is asked first, and modules that only another program needs are not asked for', async () => {
  // The library of the manager is a module beside the checkout, so only the go tool knows what either program links.
  const workspace = await directoryWith({
    'go.work': 'go 1.24\n\nuse (\n\t./shop\n\t./runtime\n)\n',
    'go.work.sum': MISSING_SUM,
    'runtime/go.mod': 'module sigs.k8s.io/controller-runtime\n\ngo 1.24\n',
    'runtime/runtime.go': 'package runtime\n',
    'runtime/framework/framework.go': 'package framework\n\nimport _ "sigs.k8s.io/controller-runtime"\n',
    'shop/go.mod': GO_MOD,
    'shop/go.sum': MISSING_SUM,
    'shop/cmd/manager/main.go': main('sigs.k8s.io/controller-runtime/framework'),
    'shop/cmd/other/main.go': main(MISSING),
  });
  const requests = await emptyGoProxy();
  const found = await findMainPackage(new Checkout(join(workspace, 'shop')), {});
  expect(found).toMatchObject({ package: './cmd/manager', rivals: [] });
  expect(requests).toEqual([]);
});

test('where the choice needs a download, the wait says so', async () => {
  const directory = await directoryWith({
    'go.mod': GO_MOD,
    'go.sum': MISSING_SUM,
    'cmd/shop/main.go': main(MISSING),
  });
  const { begun, all, emit } = waits();
  const requests = await emptyGoProxy(begun);
  await expect(findMainPackage(new Checkout(directory), { emit })).rejects.toMatchObject({
    code: 'controller.no-main',
  });
  expect(requests).not.toEqual([]);
  expect(new Set(all)).toEqual(new Set(['go list ./cmd/shop, which downloads modules']));
});

test('where the packages of the program have to be downloaded, the wait says so', async () => {
  const directory = await directoryWith({
    'go.mod': GO_MOD,
    'go.sum': MISSING_SUM,
    'main.go': main(MISSING, 'flag'),
  });
  const { begun, all, emit } = waits();
  const requests = await emptyGoProxy(begun);
  const linked = linkedPackages({ directory, goPackage: '.', flags: [] }, { emit });
  // What is known counts nevertheless.
  expect((await linked()).has('flag')).toBe(true);
  expect(requests).not.toEqual([]);
  expect(new Set(all)).toEqual(new Set(['go list ., which downloads modules']));
});

test('where go has to download its own toolchain first, the wait says so', async () => {
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.99.0\n',
    'main.go': main('k8s.io/client-go/informers'),
  });
  const { begun, all, emit } = waits();
  setForTest('GOTOOLCHAIN', 'auto');
  const requests = await emptyGoProxy(begun);
  expect(await findMainPackage(new Checkout(directory), { emit })).toMatchObject({ package: '.' });
  expect(requests[0]).toContain('toolchain');
  expect(all[0]).toContain('toolchain');
});

test('a Go that is older than go.mod requires, and that must not download another one, is refused', async () => {
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.99.0\n',
    'main.go': main('flag'),
  });
  setForTest('GOTOOLCHAIN', 'local');
  const linked = linkedPackages({ directory, goPackage: '.', flags: [] });
  await expect(linked()).rejects.toMatchObject({
    code: 'controller.no-toolchain',
    message: expect.stringContaining('requires go >= 1.99.0'),
    hint: expect.stringContaining('GOTOOLCHAIN=auto'),
  });
});
