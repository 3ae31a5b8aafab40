import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { findMainPackage, type MainHints } from '../../../../src/checkout/go/main-package.ts';
import { directoryWith } from '../../controller/support/places.ts';

const MODULE = `module example.com/shop

go 1.24

require sigs.k8s.io/controller-runtime v0.0.0

replace sigs.k8s.io/controller-runtime => ./runtime
`;
const CHECKOUT = {
  'go.mod': MODULE,
  'runtime/go.mod': 'module sigs.k8s.io/controller-runtime\n\ngo 1.24\n',
  'runtime/manager.go': 'package runtime\n',
  'runtime/pkg/client/client.go': 'package client\n',
};
const TOOL = main();
const MANAGER = main('sigs.k8s.io/controller-runtime');

function main(...imports: string[]): string {
  return `package main\n\n${imports.map((path) => `import _ "${path}"\n`).join('')}\nfunc main() {}\n`;
}

function library(name: string, text: string): string {
  return `package ${name}\n\n${text}\n`;
}

const hooks = (...paths: string[]): string =>
  library('hooks', paths.map((path) => `// +kubebuilder:webhook:path=${path},mutating=false`).join('\n'));

interface Layout {
  is: string;
  files: Record<string, string>;
  hints?: MainHints;
  expected: string;
  because: string;
}

const LAYOUTS: Layout[] = [
  {
    is: 'a thin main package beside a tool that imports the client of controller-runtime',
    files: {
      'main.go': main('example.com/shop/internal/app'),
      'internal/app/app.go': library('app', 'import _ "sigs.k8s.io/controller-runtime"'),
      'cmd/report/main.go': main('sigs.k8s.io/controller-runtime/pkg/client'),
    },
    hints: { command: ['/manager'] },
    expected: '.',
    because: 'manager library',
  },
  {
    is: 'two managers of which a shell starts one',
    files: { 'cmd/agent/main.go': MANAGER, 'cmd/shop/main.go': MANAGER },
    hints: { command: ['/bin/sh', '-ec', 'ulimit -n 1024; exec tini -- /shop --config=/etc/agent'] },
    expected: './cmd/shop',
    because: 'its name is that of the program, shop',
  },
  {
    is: 'two managers of which a shell starts one without another command',
    files: { 'cmd/agent/main.go': MANAGER, 'cmd/shop/main.go': MANAGER },
    hints: { command: ['sh', '-c', 'GOGC=50 /shop --config=/etc/agent "$@"'] },
    expected: './cmd/shop',
    because: 'its name is that of the program, shop',
  },
  {
    is: 'two programs of which one is built from all webhooks',
    files: {
      'cmd/bridge/main.go': main('sigs.k8s.io/controller-runtime', 'example.com/shop/hooks/a'),
      'cmd/shop/main.go': main('example.com/shop/hooks/a', 'example.com/shop/hooks/b'),
      'hooks/a/a.go': hooks('/validate-a'),
      'hooks/b/b.go': `${hooks('/validate-b')}\nimport _ "sigs.k8s.io/controller-runtime"\n`,
      Dockerfile: 'RUN go build -o manager ./cmd/bridge\nENTRYPOINT ["/manager"]\n',
    },
    hints: { paths: ['/validate-a', '/validate-b'] },
    expected: './cmd/shop',
    because: 'all webhook paths',
  },
  {
    is: 'a path that is the beginning of another',
    files: {
      'cmd/a/main.go': main('sigs.k8s.io/controller-runtime', 'example.com/shop/hooks/a'),
      'cmd/b/main.go': main('sigs.k8s.io/controller-runtime', 'example.com/shop/hooks/b'),
      'hooks/a/a.go': hooks('/validate-shop'),
      'hooks/b/b.go': hooks('/validate-shopper'),
    },
    hints: { paths: ['/validate-shop'] },
    expected: './cmd/a',
    because: 'all webhook paths',
  },
  {
    is: 'programs named after their images',
    files: { 'cmd/shop-webhook/main.go': MANAGER, 'cmd/shop-controller/main.go': MANAGER },
    hints: { image: 'registry.example.com:5000/team/shop-webhook:v1.2@sha256:abc' },
    expected: './cmd/shop-webhook',
    because: 'name is that of the image',
  },
  {
    is: 'the root, whose program has the name of the module',
    files: { 'main.go': MANAGER, 'cmd/allocator/main.go': MANAGER },
    hints: { image: 'example.com/shop:v1' },
    expected: '.',
    because: 'name is that of the image',
  },
  {
    is: 'programs named after their Deployments',
    files: { 'cmd/webhook/main.go': MANAGER, 'cmd/controller/main.go': MANAGER },
    hints: { workload: 'shop-webhook', container: 'main', image: 'example.com/shop' },
    expected: './cmd/webhook',
    because: 'part of shop-webhook',
  },
  {
    is: 'a manager among tools and tests',
    files: { 'main.go': MANAGER, 'hack/load/main.go': MANAGER, 'test/e2e/fake/main.go': MANAGER },
    expected: '.',
    because: 'is in a directory of tools',
  },
  {
    is: 'two managers of which one registers webhooks',
    files: {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      'cmd/b/hooks.go': 'package main\n\nfunc hooks() { ctrl.NewWebhookManagedBy(nil) }\n',
    },
    expected: './cmd/b',
    because: 'it registers webhooks',
  },
  {
    is: 'a Dockerfile without a build beside its main package',
    files: {
      'services/a/main.go': MANAGER,
      'services/b/main.go': MANAGER,
      'services/b/Dockerfile': 'FROM x\nCOPY server /\n',
    },
    expected: './services/b',
    because: 'services/b/Dockerfile is beside it',
  },
  {
    is: 'programs named after their containers',
    files: { 'cmd/webhook/main.go': MANAGER, 'cmd/controller/main.go': MANAGER },
    hints: { workload: 'shop', container: 'webhook', image: 'example.com/shop' },
    expected: './cmd/webhook',
    because: 'part of webhook',
  },
  {
    is: 'an image whose command only sets the arguments of its program',
    files: {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      Dockerfile:
        'FROM x\nRUN go build -o a ./cmd/a\nRUN go build -o b ./cmd/b\nFROM y\nENTRYPOINT ["/b"]\nCMD ["a"]\n',
    },
    expected: './cmd/b',
    because: 'the Dockerfile builds it as b',
  },
  {
    is: 'a Dockerfile for each program, of which one is named like the image',
    files: {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      'Dockerfile.hooks': 'FROM x\nRUN go build -o /app ./cmd/b\nFROM y\nENTRYPOINT ["/app"]\n',
      'build/core.Dockerfile': 'FROM x\nRUN go build -o /app ./cmd/a\nFROM y\nENTRYPOINT ["/app"]\n',
    },
    // However long the rest of the name is.
    hints: { image: `example.com/${'x'.repeat(300_000)}/shop-hooks:1` },
    expected: './cmd/b',
    because: 'Dockerfile.hooks builds it as app',
  },
  {
    is: 'a Dockerfile with an image for each of its programs',
    files: {
      'cmd/backup/main.go': MANAGER,
      'cmd/boss/main.go': MANAGER,
      Dockerfile:
        'FROM x as build\nRUN go build -o shop-boss ./cmd/boss\nRUN go build -o backup ./cmd/backup\nFROM y as boss\nENTRYPOINT ["/shop-boss"]\nFROM y\nENTRYPOINT ["/backup"]\n',
    },
    hints: { workload: 'shop-boss', container: 'main', image: 'example.com/shop' },
    expected: './cmd/boss',
    because: 'the Dockerfile builds it as shop-boss',
  },
  {
    is: 'a Dockerfile beside its main package',
    files: {
      'services/a/main.go': MANAGER,
      'services/a/Dockerfile': 'FROM x\nRUN go build -o /bin/server .\nCMD ["server"]\n',
      'services/b/main.go': MANAGER,
      'services/b/Dockerfile': 'FROM x\nRUN go build -o /bin/server .\nCMD ["server"]\n',
    },
    hints: { image: 'example.com/b' },
    expected: './services/b',
    because: 'services/b/Dockerfile builds it as server',
  },
  {
    is: 'an image that only copies what the Makefile builds',
    files: {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      Makefile:
        'B := bin\nPKG ?= ./cmd/b\nbuild:\n\tgo build -o $(B)/boss_$(ARCH) $(PKG)\ntool:\n\tgo build -o bin/a ./cmd/a\n',
      'build/Dockerfile':
        'FROM x\nCOPY bin/boss_$TARGETARCH /boss\nENTRYPOINT ["/sbin/tini", "--", "/boss"]\n',
    },
    expected: './cmd/b',
    because: 'Makefile builds it as boss',
  },
  {
    is: 'a Makefile in several files',
    files: {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      Makefile: 'include make/build.mk\n',
      'make/build.mk': 'bin/boss:\n\tgo build -o $@ ./cmd/b\n',
    },
    hints: { command: ['/boss'] },
    expected: './cmd/b',
    because: 'Makefile builds it as boss',
  },
  {
    is: 'a module below the root',
    files: {
      'cmd/cli/main.go': TOOL,
      'operator/go.mod': MODULE.replace('shop', 'shop/operator').replace('./runtime', '../runtime'),
      'operator/cmd/main.go': MANAGER,
    },
    expected: './cmd',
    because: 'the only one that can be a manager',
  },
  {
    is: 'a workspace whose modules import each other',
    files: {
      'go.mod': 'module example.com/shop\n\ngo 1.24\n',
      'go.work': 'go 1.24\n\nuse (\n\t.\n\t./lib\n\t./runtime\n)\n',
      'main.go': main('example.com/lib/app'),
      'lib/go.mod': 'module example.com/lib\n\ngo 1.24\n',
      'lib/app/app.go': library('app', 'import _ "sigs.k8s.io/controller-runtime"'),
      'cmd/cli/main.go': TOOL,
    },
    expected: '.',
    because: 'the only one that can be a manager',
  },
  {
    is: 'a manager that a library of another module runs',
    files: {
      'main.go': main('example.org/framework'),
      'cmd/cli/main.go': main('example.org/cli'),
      'go.mod':
        'module example.com/shop\n\ngo 1.24\n\nrequire example.org/cli v1.0.0\nrequire example.org/framework v1.0.0\nrequire sigs.k8s.io/controller-runtime v0.0.0\n',
      'vendor/modules.txt': [
        'example.org/cli v1.0.0',
        'example.org/framework v1.0.0',
        'sigs.k8s.io/controller-runtime v0.0.0',
      ]
        .map((one) => `# ${one}\n## explicit; go 1.24\n${one.split(' ')[0]}\n`)
        .join(''),
      'vendor/example.org/cli/cli.go': library('cli', ''),
      'vendor/example.org/framework/framework.go': library(
        'framework',
        'import _ "sigs.k8s.io/controller-runtime"',
      ),
      'vendor/sigs.k8s.io/controller-runtime/runtime.go': library('runtime', ''),
    },
    expected: '.',
    because: 'the only one that can be a manager',
  },
  {
    is: 'a webhook server without a library of managers',
    files: { 'server.go': `${TOOL}\nconst path = "/mutate"\n`, 'cmd/cli/main.go': TOOL },
    hints: { paths: ['/mutate', '/convert'] },
    expected: '.',
    because: 'all webhook paths',
  },
  {
    is: 'generated informers',
    files: {
      'main.go': main('example.com/shop/generated'),
      'generated/informers.go': library(
        'generated',
        'import (\n\t// informers\n\tcache "k8s.io/client-go/tools/cache"\n)\n',
      ),
      'cmd/cli/main.go': TOOL,
    },
    expected: '.',
    because: 'the only one that can be a manager',
  },
  {
    is: 'files that are not part of the build',
    files: {
      'main.go': MANAGER,
      'gen.go': '//go:build ignore\n\npackage other\n',
      'cmd/old/main.go': `//go:build plan9 && !linux\n\n${MANAGER}`,
      'cmd/new/main_test.go': MANAGER,
      'testdata/main.go': MANAGER,
      'vendor/example.org/x/main.go': MANAGER,
      '_old/main.go': MANAGER,
    },
    expected: '.',
    because: 'the only main package',
  },
];

test.each(LAYOUTS)('$is', async ({ files, hints = {}, expected, because }) => {
  const directory = await directoryWith({ ...CHECKOUT, ...files });
  const found = await findMainPackage(new Checkout(directory), hints);
  expect(found).toMatchObject({ package: expected, source: expect.stringContaining(because) });
});

test.each([
  'sigs.k8s.io/controller-runtime/pkg/manager',
  'github.com/operator-framework/helm-operator-plugins/pkg/reconciler',
  'knative.dev/pkg/injection/sharedmain',
  'k8s.io/client-go/informers',
  'k8s.io/client-go/tools/leaderelection',
  'k8s.io/api/admission/v1',
])('a program that links %s is a manager, and a tool beside it is none', async (library) => {
  const files = { ...CHECKOUT, 'cmd/tool/main.go': TOOL, 'cmd/x/main.go': main(library) };
  expect(await findMainPackage(new Checkout(await directoryWith(files)), {})).toMatchObject({
    package: './cmd/x',
  });
});

test.each([
  ['a list', 'use (\r\n\t./operator // this\r\n\t../shop/api\r\n)\r\n'],
  ['lines', 'use ./operator\nuse "./api"\n'],
])('the webhooks of a module beside the checkout count that its go.work names: %s', async (_, uses) => {
  const manager = main('k8s.io/client-go/informers', 'example.com/api/v1');
  const parent = await directoryWith({
    'shop/go.work': `go 1.24\n\n${uses}`,
    'shop/api/go.mod': 'module example.com/api\n\ngo 1.24\n',
    'shop/api/v1/webhook.go': hooks('/validate-shop'),
    'shop/operator/go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'shop/operator/cmd/one/main.go': main('k8s.io/client-go/informers'),
    'shop/operator/cmd/two/main.go': manager,
  });
  const found = await findMainPackage(new Checkout(`${parent}/shop/operator`), { paths: ['/validate-shop'] });
  expect(found).toMatchObject({ package: './cmd/two', hasWebhooks: true });
});

test('the program of a module below the root is built in its module', async () => {
  const directory = await directoryWith({
    'operator/go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'operator/main.go': main('k8s.io/client-go/informers'),
    'operator/Makefile': 'build:\n\tgo build -tags all -o bin/operator .\n',
  });
  expect(await findMainPackage(new Checkout(directory), {})).toMatchObject({
    package: '.',
    directory: `${directory}/operator`,
    flags: [{ flag: '-tags=all', source: 'the Makefile' }, {}],
  });
});

test.each<[string, Record<string, string>]>([
  ['a command line tool', { 'main.go': TOOL, 'cmd/x/main.go': TOOL }],
  [
    'a tool with the client of controller-runtime',
    { 'main.go': main('sigs.k8s.io/controller-runtime/pkg/client') },
  ],
  [
    'a main package beside a library of managers that it does not link',
    { 'main.go': TOOL, 'lib/a.go': MANAGER.replace('main', 'lib') },
  ],
])('runs nothing of a checkout that is no operator: %s', async (_, files) => {
  const directory = await directoryWith({ ...CHECKOUT, ...files });
  const error = await findMainPackage(new Checkout(directory), { paths: ['/validate-a'] }).catch(
    (thrown) => thrown,
  );
  expect(error).toMatchObject({ code: 'target.not-found', hint: expect.stringContaining('--package .') });
  expect(error.message.includes('none of')).toBe(Object.keys(files).includes('cmd/x/main.go'));
  // The remedy that the error names.
  const named = { package: '.', source: '--package' };
  expect((await findMainPackage(new Checkout(directory), { named })).package).toBe('.');
});

test('each cure that an error prints works', async () => {
  const files = { ...CHECKOUT, 'cmd/a/main.go': MANAGER, 'cmd/b/main.go': MANAGER };
  const directory = await directoryWith(files);
  const error = await findMainPackage(new Checkout(directory), {}).catch((thrown) => thrown);
  const printed = [...String(error.hint).matchAll(/^devloop up --package (\S+)$/gm)].map(([, name]) => name!);
  expect(printed).toEqual(['./cmd/a', './cmd/b']);
  for (const name of printed) {
    const named = { package: name, source: '--package' };
    expect(await findMainPackage(new Checkout(directory), { named })).toMatchObject({
      package: name,
      source: '--package',
    });
  }
});

test('a package that go cannot load is no proof that there is no manager', async () => {
  const before = process.env.GOPROXY;
  process.env.GOPROXY = 'off';
  try {
    const directory = await directoryWith({
      'go.mod': 'module example.com/shop\n\ngo 1.24\n\nrequire example.org/missing v1.0.0\n',
      'main.go': main('example.org/missing'),
    });
    await expect(findMainPackage(new Checkout(directory), {})).rejects.toMatchObject({
      code: 'controller.no-main',
      message: expect.stringContaining('example.org/missing'),
    });
  } finally {
    if (before === undefined) delete process.env.GOPROXY;
    else process.env.GOPROXY = before;
  }
});
