import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { buildFlags, goBuildCommand, withoutChosen } from '../../../../src/checkout/go/build-command.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { buildRecipes } from '../../../../src/checkout/go/recipes.ts';
import { directoryWith } from '../../controller/support/places.ts';

/** The linker flag for the first build in a Dockerfile or Makefile. */
function linkerFlag(text: string, goFlags = '') {
  const [recipe] = buildRecipes(text, 'example.com/operator');
  expect(recipe).toBeDefined();
  return buildFlags({ recipe: recipe!, source: 'the Makefile' }, { userFlags: goFlags }).find(
    ({ what }) => what === 'linker flags',
  );
}

test('for a debugger, nothing is optimized, and no debug information is left out', () => {
  const [recipe] = buildRecipes('RUN go build -tags=a -ldflags="-s -w -X main.v=1" -o m .', 'example.com/x');
  const forDebugger = { userFlags: '', forDebugger: 'all' as const };
  const flags = buildFlags({ recipe: recipe!, source: 'the Dockerfile' }, forDebugger).map(
    ({ flag }) => flag,
  );
  expect(flags).toEqual(['-tags=a', '-ldflags=-X main.v=1', '-gcflags=all=-N -l']);
  const none = buildRecipes('RUN go build -ldflags=-s -o m .', 'example.com/x')[0]!;
  expect(buildFlags({ recipe: none, source: 'the Dockerfile' }, forDebugger)[0]).toMatchObject({
    flag: '-ldflags=',
    value: 'none',
  });
  expect(buildFlags(undefined, forDebugger)[0]).toMatchObject({ value: 'none', source: 'for the debugger' });
  expect(
    buildFlags(undefined, { ...forDebugger, userFlags: '-ldflags=-X=a.b=c' }).map(({ flag }) => flag),
  ).toEqual(['-gcflags=all=-N -l']);
});

test.each([
  ['RUN GOEXPERIMENT=strictfipsruntime CGO_ENABLED=1 go build -tags strictfipsruntime,openssl -o m .', ''],
  ['ENV GOEXPERIMENT=strictfipsruntime\nRUN go build -tags=strictfipsruntime,openssl -o m .', ''],
  [
    'FIPS = GOEXPERIMENT=strictfipsruntime\nm:\n\t$(FIPS) go build -tags strictfipsruntime,openssl -o m .',
    'x',
  ],
])('the tags of a build with an experiment come with the experiment or not at all: %j', (text, other) => {
  const [recipe] = buildRecipes(text, 'example.com/x');
  const tagsWith = (experiments: string) =>
    buildFlags({ recipe: recipe!, source: 'the Dockerfile' }, { userFlags: '', experiments })[0];
  expect(tagsWith(other)).toMatchObject({
    flag: '-tags=',
    source: expect.stringContaining('GOEXPERIMENT=strictfipsruntime'),
  });
  expect(tagsWith('strictfipsruntime,loopvar')?.flag).toBe('-tags=strictfipsruntime,openssl');
});

test('whoever cannot build with the flags that devloop chose learns which, and how to drop them', () => {
  const flagsOf = (text: string) => {
    const [recipe] = buildRecipes(text, 'example.com/x');
    return buildFlags({ recipe: recipe!, source: 'the Dockerfile' }, { userFlags: '' });
  };
  const chosen = flagsOf('RUN go build -tags fips -ldflags "-X main.v=1" -o m .');
  const advice = withoutChosen(chosen, '');
  expect(advice).toContain('-tags=fips (the Dockerfile)');
  expect(advice).toContain("GOFLAGS='-tags= -ldflags=' devloop up");
  // The variable replaces the user's own flags.
  expect(withoutChosen(chosen, `-mod=mod '-gcflags=-N -l'`)).toContain(
    `GOFLAGS='-mod=mod '\\''-gcflags=-N -l'\\'' -tags= -ldflags=' devloop up`,
  );
  expect(withoutChosen(flagsOf('RUN go build -o m .'), '')).toBeUndefined();
  expect(withoutChosen(flagsOf('RUN go build -ldflags "-s -w" -o m .'), '')).toBeUndefined();
});

test('of the own modules alone, nothing is optimized for a debugger', () => {
  const own = { userFlags: '', forDebugger: 'own modules' as const, ownModules: ['example.com/x', 'a.b/c'] };
  expect(buildFlags(undefined, own).map(({ flag }) => flag)).toEqual([
    '-ldflags=',
    '-gcflags=example.com/x/...=-N -l',
    '-gcflags=a.b/c/...=-N -l',
  ]);
});

test.each([
  'replace example.com/api v1.0.0 => ../api',
  'replace "example.com/api" => "../api" // here',
  'replace (\n\t`example.com/api` v1.0.0 => ../api\n)',
])('own modules are those of go.work, and those that replace others: %s', async (replace) => {
  const root = await directoryWith({
    'go.work': 'go 1.26\n\nuse (\n\t./shop\n\t./lib\n)\n\nreplace example.com/deep => ./deep\n',
    'lib/go.mod': 'module "example.com/lib"\n',
    'shop/go.mod': `module example.com/shop\n\n${replace}\n`,
    'shop/tools/go.mod': 'module example.com/tools\n',
    'shop/main.go': 'package main\n\nfunc main() {}\n',
  });
  const named = { package: '.', source: 'the test' };
  const { flags } = await findMainPackage(new Checkout(join(root, 'shop')), {
    named,
    forDebugger: 'own modules',
  });
  expect(flags.flatMap(({ flag }) => (flag.startsWith('-gcflags') ? [flag] : []))).toEqual(
    ['shop', 'api', 'lib', 'deep'].map((name) => `-gcflags=example.com/${name}/...=-N -l`),
  );
});

test('what is left out is shown in part where a Makefile nests it to any length', () => {
  const found = linkerFlag(`build:\n\tgo build -ldflags "$(call ${'x'.repeat(5_000)},-s)" -o m .\n`);
  expect(found!.source.length).toBeLessThan(400);
  expect(found!.source).toContain('x…');
});

test('of many flags that are left out, each is named', () => {
  const names = Array.from({ length: 12 }, (_, index) => `image${index}`);
  const flags = names.map(
    (name) => `-X example.com/operator/version.${name}="$(shell awk /${name}/ versions)"`,
  );
  const found = linkerFlag(`build:\n\tgo build -ldflags '${flags.join(' ')}' -o m .\n`);
  for (const name of names) expect(found!.source).toContain(`-X version.${name}=…`);
});

test.each<[string, string, string]>([
  ['none', 'RUN go build -o manager .', '-s'],
  ['of the Dockerfile', 'RUN go build -ldflags="-s -w" -o manager .', '-s -w'],
  ['-s, which implies -w', 'RUN go build -ldflags -s -o manager .', '-s'],
  ['-w=0', "RUN go build --ldflags='-w=0' -o manager .", '-w=0'],
  ['a value', '\tgo build -ldflags "-X main.version=1.2" -o m .', '-X main.version=1.2 -s'],
  ['a value with spaces', `\tgo build -ldflags "-X 'main.name=a b'" -o m .`, "-X 'main.name=a b' -s"],
  [
    'of variables',
    'V ?= 1.2\nLDFLAGS := -s\nLDFLAGS += -X main.v=$(V)\nbuild:\n\tgo build -ldflags="$(LDFLAGS)" -o m .',
    '-s -X main.v=1.2',
  ],
  [
    'of a variable that holds the whole flag',
    'LDFLAGS = -ldflags "-X main.v=1 -s"\nbuild:\n\tgo build $(LDFLAGS) -o m .',
    '-X main.v=1 -s',
  ],
  ['of a quoted ARG', 'ARG LDFLAGS="-s -w"\nRUN go build -ldflags="$LDFLAGS" -o m .', '-s -w'],
  ['a value like a flag', '\tgo build -ldflags "-extldflags -static -s" -o m .', '-extldflags -static -s'],
  [
    'quotes in quotes',
    '\tgo build -ldflags "-extldflags \'-static -z now\'" -o m .',
    "-extldflags '-static -z now' -s",
  ],
  ["with Go's own linker", `RUN go build -ldflags="-s -linkmode=external -X a.b=1" -o m .`, '-s -X a.b=1'],
  ["with Go's own linker, in two words", `RUN go build -ldflags="-s -linkmode external" -o m .`, '-s'],
  ['without a build id', 'RUN go build -ldflags="-s -w -buildid=" -o m .', '-s -w'],
  ['for all packages', 'RUN go build -ldflags=all=-s -o m .', '-s'],
  ['the last of two', 'RUN go build -ldflags=-X=a.b=1 -ldflags=-X=a.b=2 -o m .', '-X=a.b=2 -s'],
])('linker flags: %s', (_, text, value) => {
  expect(linkerFlag(text)).toMatchObject({ value, flag: `-ldflags=${value}` });
});

test.each<[string, string, string, string]>([
  [
    'a version from git',
    '\tgo build -ldflags "-s -X main.v=$(shell git describe --tags | head -1)" -o m .',
    '-s',
    '-X main.v=$(shell git describe --tags | head -1)',
  ],
  [
    'a version from nested commands, with flags of their own',
    '\tgo build -ldflags "-s -X main.v=$(shell a $(b $(c (d) -e) -w) -linkmode) -X main.w=1" -o m .',
    '-s -X main.w=1',
    '-X main.v=$(shell a $(b $(c (d) -e) -w) -linkmode)',
  ],
  [
    'a version from a command in quotes in quotes',
    '\tgo build -ldflags "-s -X \'main.v=$(shell git describe --match "v*; -x" -w)\'" -o m .',
    '-s',
    "-X 'main.v=$(shell git describe --match v*; -x -w)'",
  ],
  [
    'a variable with a version from git',
    'VERSION ?= $(shell git describe --tags)\nbuild:\n\tgo build -ldflags="-X main.v=$(VERSION)" -o m .',
    '-s',
    '-X main.v=$(shell git describe --tags)',
  ],
  ['a variable that is not set', 'ARG V\nRUN go build -ldflags="-X main.v=$V" -o m .', '-s', '-X main.v=$V'],
  ['a shell', '\tgo build -ldflags="-X main.v=`date -u` -s" -o m .', '-s', '-X main.v=`date -u`'],
  ['a variable of the shell', '\tgo build -ldflags="-X main.v=$$V" -o m .', '-s', '-X main.v=$$V'],
  ['all of them', '\tgo build -ldflags="$(shell ./ldflags.sh)" -o m .', '-s', '$(shell ./ldflags.sh)'],
  [
    'all of them, without quotes',
    '\tgo build -ldflags=$(shell a.sh; b.sh) -o m .',
    '-s',
    '$(shell a.sh; b.sh)',
  ],
  ['a variable that contains itself', 'L = $(L)\nbuild:\n\tgo build -ldflags="$(L)" -o m .', '-s', '$(L)'],
])('linker flags that are left out: %s', (_, text, value, leftOut) => {
  const flag = linkerFlag(text);
  expect(flag).toMatchObject({ value });
  expect(flag!.source).toContain(leftOut);
});

test('a flag that cannot be evaluated does not hide the recipe', () => {
  const [recipe] = buildRecipes(
    '\tgo build -ldflags "-X a=$(shell x | y)" -o bin/manager ./cmd && echo done',
  );
  expect(recipe).toMatchObject({ package: './cmd', output: 'manager' });
});

test.each<[string, string | undefined]>([
  ['-ldflags=-X=main.v=1', undefined],
  ["-mod=mod '-ldflags=-X main.v=1'", undefined],
  ['--ldflags=', undefined],
  ['-mod=mod', '-s'],
])('GOFLAGS %s', (goFlags, expected) => {
  expect(linkerFlag('RUN go build -ldflags=-s -o m .', goFlags)?.value).toBe(expected);
});

test('the program has the flags that are known, and lacks those that are left out', async () => {
  const main = `package main\n\nvar name, version = "none", "development"\n\nfunc main() { println(name, version) }\n`;
  const directory = await directoryWith({
    'go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'main.go': main,
    Makefile: `NAME = a 'b\nbuild:\n\tgo build -ldflags "-X \\"main.name=$(NAME)\\" -X main.version=$(shell git describe)" -o m .\n`,
  });
  const { flags, package: place } = await findMainPackage(new Checkout(directory), {
    named: { package: '.', source: '--package' },
  });
  const binary = join(directory, 'manager');
  const [go, ...args] = goBuildCommand(
    place,
    binary,
    flags.map(({ flag }) => flag),
  );
  execFileSync(go!, args, { cwd: directory });
  expect(execFileSync('sh', ['-c', '"$0" 2>&1', binary], { encoding: 'utf8' })).toBe("a 'b development\n");
});

const MAKEFILE = `
VERSION ?= $(shell awk -F= '/^shop=/ {print $$2}' versions.txt)
IMAGE = "$(shell grep '^image(s)=' versions.txt | cut -d= -f2)"
BUILT = $(shell date -u +%s)
FLAGS = -X main.version=\${VERSION} -X main.image=$(IMAGE) -X main.built=$(BUILT) -X main.no=$(shell cat missing) -X main.d=$(shell echo $(D))
build:
\tgo build -ldflags "-s $(FLAGS)" -o bin/shop .
`;

async function flagsOf(isBuilt: boolean) {
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': 'package main\n\nfunc main() {}\n',
    'versions.txt': 'shop=1.2.3\nimage(s)=shop:7\n',
    Makefile: MAKEFILE,
  });
  const named = { package: '.', source: '--package' };
  return (await findMainPackage(new Checkout(directory), { named, isBuilt })).flags[0]!;
}

test('for a program that is built and run, commands of the Makefile are run as make runs them', async () => {
  const { value, source } = await flagsOf(true);
  expect(value).toBe('-s -X main.version=1.2.3 -X main.image=shop:7');
  // One that prints the time, one that fails, and one with an unknown variable.
  expect(source).toMatch(
    /without -X main\.no=\$\(shell cat missing\) .* fails; without -X main\.built=\$\(shell date -u \+%s\) -X main\.d=\$\(shell echo \$\(D\)\) /,
  );
});

test('for any other program, none is run', async () => {
  const { value, source } = await flagsOf(false);
  expect(value).toBe('-s');
  expect(source).toMatch(
    /-X main\.no=\$\(shell cat missing\) .* only when it builds\b.*without -X main\.built=\$\(shell date -u \+%s\) -X main\.d=\$\(shell echo \$\(D\)\) /,
  );
});

test('what the Makefile gives to the image counts in its Dockerfile, unless several builds give different values', async () => {
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'main.go': 'package main\n\nfunc main() {}\n',
    'versions.txt': 'proxy=7\n',
    Makefile: `
VERSION ?= 1.2.3
PROXY ?= "$(shell cut -d= -f2 versions.txt)"
docker-build:
\tdocker build --build-arg VERSION=\${VERSION} --build-arg=PROXY=$(PROXY) --build-arg TAGS=fips --build-arg NAME="a" --build-arg U=$(U) .
\tdocker build --build-arg NAME=b -t shop .
\trm -f Dockerfile.tmp && docker build --build-arg VERSION=9 --build-arg TAGS=x -f other.Dockerfile .
`,
    Dockerfile: `FROM golang
ARG VERSION=dev
ARG PROXY
ARG TAGS
ARG NAME=c
ARG U
RUN go build -tags=\${TAGS} -ldflags="-X main.v=$VERSION -X main.proxy=$PROXY -X main.n=$NAME -X main.u=$U" -o shop .
FROM scratch
COPY --from=0 /shop /shop
ENTRYPOINT ["/shop"]
`,
  });
  const named = { package: '.', source: '--package' };
  const { flags } = await findMainPackage(new Checkout(directory), { named, isBuilt: true });
  expect(flags.map(({ value }) => value)).toEqual(['fips', '-X main.v=1.2.3 -X main.proxy=7 -X main.n=c -s']);
});

test('a Dockerfile that builds the package that the Makefile names has a recipe for each, and its last build counts', async () => {
  const main = 'package main\n\nfunc main() {}\n';
  const directory = await directoryWith({
    'go.mod': 'module example.com/shop\n\ngo 1.24\n',
    'cmd/webhook/main.go': main,
    'cmd/manager/main.go': main,
    Makefile: `
build-webhook:
\tgo build -tags=local -o bin/webhook ./cmd/webhook
image-webhook:
\tcat Dockerfile | docker build --build-arg package=./cmd/webhook --build-arg N=webhook . --file -
image-manager:
\tdocker build --build-arg package=./cmd/manager --build-arg N=manager -f ./Dockerfile .
`,
    Dockerfile: `FROM golang
ARG package=.
ARG N
RUN go build -o shop \${package}
RUN go build -tags=image -ldflags "-X main.n=\${N}" -o shop \${package}
FROM scratch
COPY --from=0 /shop /shop
ENTRYPOINT ["/shop"]
`,
  });
  for (const name of ['webhook', 'manager']) {
    const named = { package: `./cmd/${name}`, source: '--package' };
    const { flags } = await findMainPackage(new Checkout(directory), { named, isBuilt: true });
    expect(flags.map(({ value }) => value)).toEqual(['image', `-X main.n=${name} -s`]);
  }
});
