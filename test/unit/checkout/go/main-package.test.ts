import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { goAdvice } from '../../../../src/checkout/go/toolchain.ts';
import { directoryWith } from '../../controller/support/places.ts';

const MODULE = `module example.com/operator

go 1.24

require sigs.k8s.io/controller-runtime v0.0.0

replace sigs.k8s.io/controller-runtime => ./runtime
`;
const RUNTIME = {
  'runtime/go.mod': 'module sigs.k8s.io/controller-runtime\n\ngo 1.24\n',
  'runtime/manager.go': 'package runtime\n',
};
const MANAGER = 'package main\n\nimport _ "sigs.k8s.io/controller-runtime"\n\nfunc main() {}\n';
const TOOL = 'package main\n\nfunc main() {}\n';

async function find(files: Record<string, string>, command?: string[], paths: string[] = []) {
  const directory = await directoryWith({ 'go.mod': MODULE, ...RUNTIME, ...files });
  return findMainPackage(new Checkout(directory), command ? { command, paths } : { paths });
}

test('a link to nothing, with which Emacs locks a file, and a directory named as a file are not sources', async () => {
  const directory = await directoryWith({ 'go.mod': MODULE, ...RUNTIME, 'main.go': MANAGER, 'x.go/y': '' });
  await symlink('ann@desk.1:2', join(directory, '.#main.go'));
  await symlink('nothing', join(directory, 'gone.go'));
  expect(await findMainPackage(new Checkout(directory), {})).toMatchObject({ package: '.' });
});

test.each<[string, Record<string, string>, string[] | undefined, string]>([
  ['main.go at the root', { 'main.go': MANAGER }, undefined, '.'],
  ['cmd/main.go', { 'cmd/main.go': MANAGER }, ['/manager'], './cmd'],
  ['cmd/manager', { 'cmd/manager/main.go': MANAGER }, undefined, './cmd/manager'],
  ['cmd/<name>', { 'cmd/widget-operator/main.go': MANAGER }, undefined, './cmd/widget-operator'],
  [
    'a manager and a tool',
    { 'cmd/main.go': MANAGER, 'cmd/gen/main.go': TOOL, 'hack/main.go': TOOL },
    undefined,
    './cmd',
  ],
  [
    'two managers, one of which the Deployment runs',
    { 'cmd/agent/main.go': MANAGER, 'cmd/manager/main.go': MANAGER },
    ['/usr/bin/agent'],
    './cmd/agent',
  ],
  [
    'two managers, one of which the Dockerfile builds',
    {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      Dockerfile: 'RUN go build -a -o manager ./cmd/b\n',
    },
    ['/manager'],
    './cmd/b',
  ],
  [
    'two managers, one of which the Makefile builds',
    {
      'cmd/a/main.go': MANAGER,
      'cmd/b/main.go': MANAGER,
      Makefile: 'build:\n\tgo build -o bin/manager cmd/a/main.go\n',
    },
    undefined,
    './cmd/a',
  ],
  ['an unusual place', { 'operator/main.go': MANAGER, 'cmd/gen/main.go': TOOL }, undefined, './operator'],
  [
    'controller-runtime imported by another package of the module',
    {
      'cmd/main.go': 'package main\n\nimport "example.com/operator/app"\n\nfunc main() { app.Run() }\n',
      'app/app.go': 'package app\n\nimport _ "sigs.k8s.io/controller-runtime"\n\nfunc Run() {}\n',
      'tools/x/main.go': TOOL,
    },
    undefined,
    './cmd',
  ],
])('%s', async (_, files, command, expected) => {
  const found = await find(files, command);
  expect(found.package).toBe(expected);
  expect(found.source).toMatch(/\w/);
});

test.each<[string, string, string[] | undefined, string | undefined]>([
  ['of the container', 'filepath.Base(os.Args[0])', ['/shop/shop-webhook', '--v=3'], 'shop-webhook'],
  ['of its image', 'filepath.Base(os.Args[0])', undefined, 'shop-hooks'],
  ['that it does not look at', 'os.Args[1]', ['/shop/shop-webhook'], undefined],
  ['of another word', 'filepath.Base(os.Args[1])', ['/shop/shop-webhook'], undefined],
])('a program that looks at its own name is started under that %s', async (_, expression, command, name) => {
  const files = {
    'cmd/main.go': MANAGER.replace('func', `var name = ${expression}\n\nfunc`),
    Dockerfile: 'FROM golang\nRUN go build -o shop-hooks ./cmd\nENTRYPOINT ["/shop-hooks"]\n',
  };
  expect((await find(files, command)).runAs).toBe(name);
});

test('of two managers, the one whose sources contain the webhook paths is chosen', async () => {
  const manager = (name: string) =>
    MANAGER.replace('import', `import _ "example.com/operator/${name}/hooks"\nimport`);
  const hooks = (path: string) => `package hooks\n\n// +kubebuilder:webhook:path=${path},mutating=false\n`;
  const files = {
    'main.go': manager('core'),
    'core/hooks/hooks.go': hooks('/validate-core'),
    'bootstrap/main.go': manager('bootstrap'),
    'bootstrap/hooks/hooks.go': hooks('/validate-bootstrap'),
    // Both images give their program this name.
    Makefile: 'manager:\n\tgo build -o bin/manager .\n',
    Dockerfile: 'RUN go build -o manager $package\n',
  };
  const found = (path: string) => find({ ...files, 'cmd/other/main.go': MANAGER }, ['/manager'], [path]);
  expect(await found('/validate-core')).toMatchObject({
    package: '.',
    source: expect.stringContaining('all webhook paths'),
  });
  expect((await found('/validate-bootstrap')).package).toBe('./bootstrap');
});

test('what the container names runs before another program, but without webhooks only if it can be a manager', async () => {
  const files = { 'cmd/shop-controller/main.go': MANAGER, 'cmd/shop-webhook/main.go': TOOL };
  const found = await find(files, ['shop-webhook'], ['/']);
  expect(found.package).toBe('./cmd/shop-webhook');
  // Only the go tool can tell what the other module links.
  const client = {
    'runtime/pkg/client/client.go': 'package client\n',
    'cmd/shop-webhook/main.go': MANAGER.replace('controller-runtime', 'controller-runtime/pkg/client'),
  };
  for (const more of [{}, client])
    await expect(find({ ...files, ...more }, ['shop-webhook'])).rejects.toMatchObject({
      code: 'target.not-found',
      hint: expect.stringContaining('--package ./cmd/shop-webhook'),
    });
});

test('a command line tool that installs the webhooks is no manager, though the manager computes their paths', async () => {
  const files = {
    'cmd/manager/main.go': MANAGER,
    'cmd/kubectl-shop/main.go': MANAGER.replace('import', 'import _ "example.com/operator/init"\nimport'),
    'init/init.go': 'package init\n\nconst path = "/admit-shop-v1-order"\n',
    Makefile: 'cli:\n\tgo build -o bin/kubectl-shop ./cmd/kubectl-shop\n',
    Dockerfile: 'RUN go build -o manager ./cmd/manager\n',
  };
  expect(await find(files, ['/root/manager'], ['/admit-shop-v1-order'])).toMatchObject({
    package: './cmd/manager',
    source: expect.stringContaining('command line tool'),
  });
});

test('of two managers that contain the same webhooks, the one with them in its subdirectories is chosen', async () => {
  const manager = MANAGER.replace('import', 'import _ "example.com/operator/bootstrap/hooks"\nimport');
  const files = {
    'bootstrap/main.go': manager,
    'bootstrap/hooks/hooks.go': 'package hooks\n\nconst path = "/validate-bootstrap"\n',
    'plane/main.go': manager,
  };
  const source = expect.stringContaining('subdirectories');
  expect(await find(files, ['/manager'], ['/validate-bootstrap'])).toMatchObject({
    package: './bootstrap',
    source,
  });
});

test('several that no clue distinguishes are listed, with the command for each', async () => {
  await expect(
    find({ 'cmd/a/main.go': MANAGER, 'cmd/b/main.go': MANAGER }, ['/manager']),
  ).rejects.toMatchObject({
    code: 'controller.no-main',
    message: expect.stringMatching(/\.\/cmd\/a .*\n.*\.\/cmd\/b /),
    hint: expect.stringContaining('devloop up --package ./cmd/b'),
  });
});

test('a name that is none of the main packages gets all of them, also where it is an absolute path', async () => {
  const directory = await directoryWith({
    'go.mod': MODULE,
    ...RUNTIME,
    'cmd/a/main.go': MANAGER,
    'cmd/b/main.go': TOOL,
  });
  const named = (goPackage: string) =>
    findMainPackage(new Checkout(directory), { named: { package: goPackage, source: 'devloop.yaml' } });
  expect(await named(join(directory, 'cmd/a'))).toMatchObject({ package: './cmd/a' });
  await expect(named('./cmd/c')).rejects.toMatchObject({
    message: expect.stringMatching(/^\.\/cmd\/c \(devloop\.yaml\).* `\.\/cmd\/a`, `\.\/cmd\/b`\.$/),
    hint: 'devloop up --package ./cmd/a\ndevloop up --package ./cmd/b',
  });
});

test('a misspelt name gets the similar ones, and the package in the root can be read', async () => {
  const files = { 'main.go': MANAGER, 'cmd/manager/main.go': MANAGER, 'cmd/tool/main.go': TOOL };
  const directory = await directoryWith({ 'go.mod': MODULE, ...RUNTIME, ...files });
  const named = { package: './cmd/manger', source: '--package' };
  await expect(findMainPackage(new Checkout(directory), { named })).rejects.toMatchObject({
    message: expect.stringContaining('`.`'),
    hint: 'devloop up --package ./cmd/manager',
  });
});

test('a module without a main package is not a directory without Go', async () => {
  await expect(find({ 'a.go': 'package a\n' })).rejects.toMatchObject({
    code: 'controller.no-main',
    message: expect.stringContaining('no main package'),
  });
  await expect(findMainPackage(new Checkout(await directoryWith()), {})).rejects.toMatchObject({
    code: 'controller.no-main',
    hint: expect.stringContaining('devloop up -- <command>'),
  });
});

test('without go on the PATH the toolchain is missing', async () => {
  const directory = await directoryWith({ 'go.mod': MODULE });
  const path = process.env.PATH;
  process.env.PATH = directory;
  try {
    await expect(findMainPackage(new Checkout(directory), {})).rejects.toMatchObject({
      code: 'controller.no-toolchain',
    });
  } finally {
    process.env.PATH = path;
  }
});

test.each<[string, Record<string, string>, string[] | undefined, string | undefined]>([
  ['none', { Makefile: 'build:\n\tgo build -o bin/manager .\n' }, undefined, undefined],
  [
    'the Makefile',
    { Makefile: 'T ?= all\nbuild:\n\tgo build -tags $(T) -o bin/x main.go\n' },
    undefined,
    'all',
  ],
  [
    'the only Makefile that make reads',
    {
      GNUmakefile: 'all:\n\tgo vet .\n',
      Makefile: 'build:\n\tgo build -tags b -o bin/x main.go\n',
    },
    undefined,
    undefined,
  ],
  [
    'the Dockerfile, which has none',
    { Dockerfile: 'RUN go build -o x .\n', Makefile: 'build:\n\tgo build -tags debug -o x .\n' },
    undefined,
    undefined,
  ],
  [
    'the Makefile, which builds the program that the Dockerfile copies, though another Dockerfile builds it without',
    {
      Dockerfile:
        'ARG TARGETARCH\nFROM scratch\nCOPY bin/shop-linux-$TARGETARCH /bin/shop\nENTRYPOINT ["/bin/shop"]\n',
      'Dockerfile.standalone':
        'FROM golang\nRUN go build -o shop .\nFROM scratch\nENTRYPOINT ["/bin/shop"]\n',
      Makefile: "T ?= all\nbuild-%:\n\tgo build -tags $(T) -o '$(OUT)/shop-linux-$*' main.go\n",
    },
    undefined,
    'all',
  ],
  [
    'the Dockerfile that builds the program, though another one copies what the Makefile does not build',
    {
      Dockerfile: 'FROM scratch\nCOPY bin/shop /bin/shop\nENTRYPOINT ["/bin/shop"]\n',
      'Dockerfile.standalone': 'FROM golang\nRUN go build -tags a -o shop .\n',
      Makefile: 'run:\n\tgo run -tags b .\n',
    },
    undefined,
    'a',
  ],
  [
    'the build of that program',
    { Dockerfile: 'RUN go build -o agent -tags a .\nRUN go build -o manager -tags m .\n' },
    ['/manager'],
    'm',
  ],
  ['of another package', { Dockerfile: 'RUN go build -o agent -tags a ./cmd/a\n' }, undefined, undefined],
  [
    'in one of several variables of a Dockerfile',
    { Dockerfile: 'ENV CGO_ENABLED=0 \\\n  TAGS="fips"\nRUN go build -tags $TAGS -o x .\n' },
    undefined,
    'fips',
  ],
  [
    'in a variable of a Dockerfile without an equals sign',
    { Dockerfile: 'ENV TAGS fips\nENV GOFLAGS -mod=mod\nRUN go build -tags $TAGS -o x .\n' },
    undefined,
    'fips',
  ],
  [
    'behind a comment in the middle of an instruction, with the line ends of Windows',
    { Dockerfile: 'RUN go build \\\r\n  # for FIPS\r\n  -tags fips \\\r\n  -o x .\r\n' },
    undefined,
    'fips',
  ],
])('build tags: %s', async (_, files, command, expected) => {
  const main = await find({ 'main.go': MANAGER, ...files }, command);
  expect(main.flags.find(({ what }) => what === 'build tags')?.value).toBe(expected);
});

test('of many programs, the one that ko builds for the Deployment is chosen', async () => {
  const manifest = (name: string) =>
    `kind: Deployment\nmetadata: {name: ${name}}\nspec: {template: {spec: {containers: [{image: "ko://example.com/operator/cmd/${name}"}]}}}\n`;
  const directory = await directoryWith({
    'go.mod': MODULE,
    ...RUNTIME,
    'cmd/controller/main.go': MANAGER,
    'cmd/webhook/main.go': TOOL,
    'cmd/nop/main.go': TOOL,
    'config/all.yaml': `${manifest('controller')}---\n${manifest('webhook')}`,
    'config/broken.yaml': 'a: ko://\n\t{{ b }}: {',
  });
  expect(await findMainPackage(new Checkout(directory), { workload: 'webhook' })).toMatchObject({
    package: './cmd/webhook',
    source: expect.stringMatching(/^ko /),
  });
  expect(await findMainPackage(new Checkout(directory), { workload: 'other' })).toMatchObject({
    package: './cmd/controller',
  });
});

test('a recipe without an output does not match a program without a known name', async () => {
  const files = { 'cmd/a/main.go': MANAGER, 'cmd/b/main.go': MANAGER, Makefile: 'run:\n\tgo run ./cmd/a\n' };
  expect((await find(files)).source).toBe('the Makefile builds it');
});

test('known complaints of the go tool have a command that fixes them', () => {
  expect(goAdvice('main.go:4:2: missing go.sum entry for module providing package a.b/c')).toBe(
    'go mod tidy',
  );
  expect(goAdvice('go: inconsistent vendoring in /src:')).toBe('go mod vendor');
  expect(goAdvice('undefined: nonsense')).toBeUndefined();
});

test.each<[string, string, Record<string, string>, string[]]>([
  ['several packages', 'go build -tags own -o bin/ ./cmd/gen ./cmd/shop', {}, ['own']],
  ['a pattern', 'go build -tags own -o bin/ ./cmd/...', {}, ['own']],
  ['a pattern of everything', 'go install -tags own ./...', {}, ['own']],
  ['a pattern of a shell', 'go build -tags own -o bin/ ./cmd/*', {}, ['own']],
  [
    'a pattern beside its own command',
    'go vet\n\tgo build -tags x ./...\n\tgo build -tags own ./cmd/shop',
    {},
    ['own'],
  ],
  ['a pattern of other packages', 'go build -tags other -o bin/ ./hack/...', {}, []],
  ['a pattern of another module', 'go build -tags other ./...', { 'cmd/shop/go.mod': MODULE }, []],
])('the flags of a build command that names %s', async (_, command, more, tags) => {
  const files = {
    'cmd/shop/main.go': MANAGER,
    'cmd/gen/main.go': TOOL,
    'hack/main.go': TOOL,
    'pkg/a.go': 'package a\n',
  };
  const { flags } = await find({ ...files, Makefile: `build:\n\t${command}\n`, ...more }, ['/shop']);
  expect(flags.filter(({ what }) => what === 'build tags').map(({ value }) => value)).toEqual(tags);
});

test.each(['', 'op/'])(
  'a pattern in the Dockerfile %sDockerfile builds what its image starts',
  async (place) => {
    const Dockerfile = 'RUN go build -tags own -o /out/ ./cmd/...\nENTRYPOINT ["/shop"]\nCMD ["serve"]\n';
    const files = {
      [`${place}cmd/shop/main.go`]: MANAGER,
      [`${place}Dockerfile`]: `FROM golang\n${Dockerfile}`,
    };
    const found = await find(files);
    expect(found).toMatchObject({
      package: `./${place}cmd/shop`,
      image: { cmd: ['serve'] },
      flags: [{ value: 'own' }, {}],
    });
  },
);

test('programs of tools and tests are offered instead of the chosen one only if webhooks are among what they are built from', async () => {
  const served = `${MANAGER}\nconst path = "/validate-shop"\n`;
  const others = ['cmd/agent', 'hack/gen', 'test/e2e/server', 'tools/load'];
  const files = Object.fromEntries(others.map((place) => [`${place}/main.go`, MANAGER]));
  const all = { ...files, 'cmd/shop/main.go': served, 'test/stand-in/main.go': served };
  const { name, rivals } = await find(all, ['/shop'], ['/validate-shop']);
  expect([name, ...rivals]).toEqual(['./cmd/shop', './test/stand-in', './cmd/agent']);
});
