import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Checkout } from '../../../../src/checkout/files.ts';
import { sourcesOf } from '../../../../src/checkout/go/kept-note.ts';
import { findMainPackage } from '../../../../src/checkout/go/main-package.ts';
import { isGoInput, watchedSources } from '../../../../src/checkout/go/program-sources.ts';
import { listSources, localSources } from '../../../../src/checkout/go/source-set.ts';
import { isGenerated, isNotSource } from '../../../../src/controller/watch/filter.ts';
import { readScope } from '../../../../src/controller/watch/scope.ts';
import { lookAt, watchSources } from '../../../../src/controller/watch/watch.ts';
import { directoryWith, put } from '../support/places.ts';
import { watchIn } from '../support/watching.ts';

const NEVER = new AbortController().signal;
const BUILT = { sinceMs: Number.POSITIVE_INFINITY, succeeded: true };
const FAILED = { ...BUILT, succeeded: false };
const MODULE = {
  'go.mod': 'module example.com/m\n\ngo 1.24\n',
  'cmd/main.go': 'package main\n\nimport _ "example.com/m/a"\n\nfunc main() {}\n',
  'a/a.go': 'package a\n',
};

const command = (directory: string) => ({ sources: sourcesOf(directory, { goPackage: './cmd' }) });

async function watchGo(files: Record<string, string> = {}) {
  const directory = await directoryWith({ ...MODULE, ...files });
  const watched = await watchIn(directory, command(directory));
  const write = (name: string, text: string) => put(directory, name, text);
  const changesAre = (...files: string[]) => watched.expectChanges(files, 'cmd/mark.go');
  return { directory, write, changesAre, ...watched };
}

test('sources of the program count; tests, other files and other directories do not', async () => {
  const { write, changesAre } = await watchGo({ 'other/o.go': 'package other\n' });
  await write('a/a.go', 'package a\n\nconst A = 1\n');
  await write('a/a_test.go', 'package a\n');
  await write('a/README.md', 'text');
  await write('a/.#a.go', 'lock');
  await write('other/o.go', 'package other\n\nconst O = 1\n');
  await write('go.mod', `${MODULE['go.mod']}// changed\n`);
  await changesAre('a/a.go', 'go.mod');
});

test('a save of the same bytes is no change', async () => {
  const { directory, write, changesAre } = await watchGo();
  await write('a/a.go', MODULE['a/a.go']);
  await write('a/a.go.new', MODULE['a/a.go']);
  await rename(join(directory, 'a/a.go.new'), join(directory, 'a/a.go'));
  await changesAre();
});

test('an atomic save, a new file and a removed one are changes', async () => {
  const { directory, write, changesAre } = await watchGo({ 'a/gone.go': 'package a\n' });
  await write('a/save.tmp', 'package a\n\nconst Saved = 1\n');
  await rename(join(directory, 'a/save.tmp'), join(directory, 'a/a.go'));
  await write('a/new.go', 'package a\n\nconst New = 1\n');
  await rm(join(directory, 'a/gone.go'));
  await changesAre('a/a.go', 'a/gone.go', 'a/new.go');
  await write('a/a.go', 'package a\n\nconst Saved = 2\n');
  await changesAre('a/a.go');
});

test('a directory that is imported for the first time is watched after the refresh', async () => {
  const { watcher, write, changesAre } = await watchGo();
  await write('b/b.go', 'package b\n');
  await write('a/a.go', 'package a\n\nimport _ "example.com/m/b"\n');
  await changesAre('a/a.go');
  await watcher.refresh(BUILT);
  await write('b/b.go', 'package b\n\nconst B = 1\n');
  await changesAre('b/b.go');
});

test('a directory that is removed and made again, with those above it, is watched again', async () => {
  const { directory, write, changesAre } = await watchGo({
    'go.mod': `${MODULE['go.mod']}\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./deps/lib\n`,
    'cmd/main.go':
      'package main\n\nimport (\n\t_ "example.com/lib/b"\n\t_ "example.com/m/a"\n)\n\nfunc main() {}\n',
    'deps/lib/go.mod': 'module example.com/lib\n\ngo 1.24\n',
    'deps/lib/b/b.go': 'package b\n',
  });
  for (const round of [1, 2]) {
    await rm(join(directory, 'a'), { recursive: true });
    await rm(join(directory, 'deps'), { recursive: true });
    await changesAre('a/a.go', 'deps/lib/b/b.go', 'deps/lib/go.mod');
    await write('a/a.go', 'package a\n');
    await write('deps/lib/b/b.go', 'package b\n');
    await write('deps/lib/go.mod', 'module example.com/lib\n\ngo 1.24\n');
    await changesAre('a/a.go', 'deps/lib/b/b.go', 'deps/lib/go.mod');
    await write('a/a.go', `package a\n\nconst A = ${round}\n`);
    await write('deps/lib/b/b.go', `package b\n\nconst B = ${round}\n`);
    await changesAre('a/a.go', 'deps/lib/b/b.go');
  }
});

test('a directory that is missing below another one is watched when it is there', async () => {
  const { watcher, write, changesAre } = await watchGo();
  await write('a/a.go', 'package a\n\nimport _ "example.com/m/new/b"\n');
  await changesAre('a/a.go');
  await watcher.refresh(BUILT);
  await write('new/b/b.go', 'package b\n');
  await changesAre('new/b/b.go');
  await write('new/b/b.go', 'package b\n\nconst B = 1\n');
  await changesAre('new/b/b.go');
});

test('what the go tool cannot list while the build fails is watched further', async () => {
  const { directory, watcher, write, expectChanges } = await watchGo({
    'go.mod': `${MODULE['go.mod']}\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n`,
    'a/a.go': 'package a\n\nimport _ "example.com/lib"\n',
    'lib/go.mod': 'module example.com/lib\n\ngo 1.24\n',
    'lib/lib.go': 'package lib\n',
  });
  const changesAre = (...files: string[]) => expectChanges(files, 'a/mark.go');
  await write('lib/go.mod', '<<<<<<< HEAD\n');
  await changesAre('lib/go.mod');
  await watcher.refresh(FAILED);
  await write('lib/go.mod', 'module example.com/lib\n\ngo 1.24\n');
  await changesAre('lib/go.mod');
  await watcher.refresh(BUILT);
  await rm(join(directory, 'cmd'), { recursive: true });
  await changesAre('cmd/main.go');
  await watcher.refresh(FAILED);
  expect(watcher.scope.sources).toBeUndefined();
  await write('cmd/main.go', MODULE['cmd/main.go']);
  await write('lib/lib.go', 'package lib\n\nconst L = 1\n');
  await changesAre('cmd/main.go', 'lib/lib.go');
  await watcher.refresh(BUILT);
  expect(watcher.scope.sources?.directories).toContain(join(directory, 'lib'));
});

test('a new directory below what is embedded, and a file in it, count', async () => {
  const directory = await directoryWith({
    'go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'cmd/main.go':
      'package main\n\nimport "embed"\n\n//go:embed texts/* all:pages one.yaml\nvar files embed.FS\n\nfunc main() { _ = files }\n',
    'cmd/one.yaml': '1',
    'cmd/texts/en/hello.txt': 'hello',
    'cmd/pages/index.html': '<p>',
  });
  const { expectChanges } = await watchIn(directory, command(directory));
  await mkdir(join(directory, 'cmd/texts/fr'));
  await put(directory, 'cmd/texts/de/hello.txt', 'hallo');
  await put(directory, 'cmd/texts/en/more/deep/hello.txt', 'hello');
  await put(directory, 'cmd/pages/_parts/head.html', '<head>');
  await put(directory, 'cmd/texts/en/.cache/x', 'left out');
  await put(directory, 'cmd/other/hello.txt', 'embedded by nobody');
  const made = ['texts/de/hello.txt', 'texts/en/more/deep/hello.txt', 'pages/_parts/head.html'];
  await expectChanges(
    made.map((name) => `cmd/${name}`),
    'cmd/mark.go',
  );
  await put(directory, 'cmd/texts/de/hello.txt', 'guten Tag');
  await put(directory, 'cmd/texts/fr/hello.txt', 'salut');
  await expectChanges(['cmd/texts/de/hello.txt', 'cmd/texts/fr/hello.txt'], 'cmd/mark.go');
});

test('a directory that is made below what is embedded before that is watched counts, at the start and after a refresh', async () => {
  const embedding = (name: string) =>
    `package ${name}\n\nimport "embed"\n\n//go:embed texts/*\nvar files embed.FS\n`;
  const directory = await directoryWith({
    'go.mod': 'module example.com/operator\n\ngo 1.24\n',
    'cmd/main.go': `${embedding('main')}\nfunc main() { _ = files }\n`,
    'cmd/texts/en/hello.txt': 'hello',
    'a/a.go': embedding('a'),
    'a/texts/en/hello.txt': 'hello',
  });
  const list = sourcesOf(directory, { goPackage: './cmd' });
  const sources = async (signal: AbortSignal) => {
    const listed = await list(signal);
    const last = listed.directories.includes(join(directory, 'a')) ? 'a' : 'cmd';
    await put(directory, `${last}/texts/de/deep/hello.txt`, 'hallo');
    return listed;
  };
  const { watcher, seen } = await watchIn(directory, { sources }, Date.now());
  await expect.poll(() => seen.flat()).toContain('cmd/texts/de/deep/hello.txt');
  await put(directory, 'cmd/more.go', 'package main\n\nimport _ "example.com/operator/a"\n');
  await expect.poll(() => seen.flat()).toContain('cmd/more.go');
  await watcher.refresh({ sinceMs: Date.now(), succeeded: true });
  await expect.poll(() => seen.flat()).toContain('a/texts/de/deep/hello.txt');
});

test('embedded files and local replacements count', async () => {
  const { write, changesAre } = await watchGo({
    'go.mod': `${MODULE['go.mod']}\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n`,
    'lib/go.mod': 'module example.com/lib\n\ngo 1.24\n',
    'lib/lib.go': 'package lib\n',
    'a/a.go':
      'package a\n\nimport (\n\t"embed"\n\n\t_ "example.com/lib"\n)\n\n//go:embed one.yaml templates\nvar Files embed.FS\n',
    'a/one.yaml': 'a: 1\n',
    'a/two.yaml': 'a: 1\n',
    'a/templates/x.tmpl': 'x',
  });
  await write('lib/lib.go', 'package lib\n\nconst L = 1\n');
  await write('a/one.yaml', 'a: 2\n');
  await write('a/two.yaml', 'a: 2\n');
  await write('a/templates/y.tmpl', 'y');
  await changesAre('a/one.yaml', 'a/templates/y.tmpl', 'lib/lib.go');
});

test('what was saved after the build had started is reported at once', async () => {
  const directory = await directoryWith(MODULE);
  const { seen } = await watchIn(directory, command(directory), 0);
  expect(seen.flat().sort()).toEqual(['a/a.go', 'cmd/main.go', 'go.mod']);
});

test('200 changes at once are all reported', async () => {
  const { write, changesAre } = await watchGo();
  const names = Array.from({ length: 200 }, (_, index) => `a/f${String(index).padStart(3, '0')}.go`);
  await Promise.all(names.map((name) => write(name, 'package a\n')));
  await changesAre(...names);
});

test('directories and globs are watched recursively, except what tools and editors write', async () => {
  const directory = await directoryWith({
    'src/a.rs': '1',
    'conf/x.yaml': '1',
    'conf/x.txt': '1',
    'src/target/t.rs': '1',
  });
  const { expectChanges } = await watchIn(directory, { paths: ['src', 'conf/**/*.yaml'] });
  await mkdir(join(directory, 'src/deep/er'), { recursive: true });
  await writeFile(join(directory, 'src/deep/er/new.rs'), '1');
  for (const name of [
    'src/a.rs',
    'conf/x.yaml',
    'conf/x.txt',
    'src/target/t.rs',
    'src/.git/index',
    'src/a.rs~',
    'src/.a.rs.swp',
  ]) {
    await put(directory, name, '2');
  }
  await expectChanges(['conf/x.yaml', 'src/a.rs', 'src/deep/er/new.rs'], 'src/mark');
});

test('a file that is named itself is a change if it was saved after the build had started, and not if it is saved as it was', async () => {
  const directory = await directoryWith({ 'server.py': '1', 'src/a.py': '1' });
  const target = { paths: ['server.py', 'src'] };
  const late = await watchIn(directory, target, 0);
  expect(late.seen.flat().sort()).toEqual(['server.py', 'src/a.py']);
  const { expectChanges } = await watchIn(directory, target);
  await put(directory, 'server.py', '1');
  await expectChanges([], 'src/mark');
  await put(directory, 'server.py', '2');
  await expectChanges(['server.py'], 'src/mark');
});

test('a package that is imported after the scope was read is watched after the refresh', async () => {
  const directory = await directoryWith(MODULE);
  const target = command(directory);
  const scope = await readScope(directory, target, NEVER);
  const buildAt = Date.now();
  await put(directory, 'b/b.go', 'package b\n');
  await put(directory, 'a/a.go', 'package a\n\nimport _ "example.com/m/b"\n');
  const { watcher, seen } = await watchIn(directory, target, buildAt, lookAt(Promise.resolve(scope)));
  expect(seen.flat()).toEqual(['a/a.go']);
  await watcher.refresh({ sinceMs: Date.now(), succeeded: true });
  await put(directory, 'b/b.go', 'package b\n\nconst B = 1\n');
  await expect.poll(() => seen.flat()).toEqual(['a/a.go', 'b/b.go']);
});

test('a file that is edited between the first look and the watching is a change, and no other file is read for it', async () => {
  const directory = await directoryWith(MODULE);
  const reading = readScope(directory, command(directory), NEVER);
  const look = await lookAt(reading);
  await put(directory, 'a/a.go', 'package a\n\nconst A = 2\n');
  await rm(join(directory, 'cmd/main.go'));
  const far = Number.POSITIVE_INFINITY;
  const { watcher, seen } = await watchIn(directory, command(directory), far, Promise.resolve(look));
  expect(seen.flat().sort()).toEqual(['a/a.go', 'cmd/main.go']);
  await put(directory, 'cmd/main.go', 'package main\n\nimport _ "example.com/m/a"\n\nfunc main() {}\n');
  await expect.poll(() => seen.flat()).toHaveLength(3);
  expect(watcher.scope).toBe(look.scope);
});

test('a generated file that the build wrote is no change', async () => {
  const directory = await directoryWith(MODULE);
  const changes: string[] = [];
  let own = true;
  const watcher = await watchSources({
    cwd: directory,
    target: command(directory),
    sinceMs: Number.POSITIVE_INFINITY,
    isOfBuild: () => own,
    signal: NEVER,
    onChange: (files) => changes.push(...files),
    onError: (message) => expect.unreachable(message),
  });
  onTestFinished(() => watcher[Symbol.asyncDispose]());
  const text = '// Code generated by controller-gen. DO NOT EDIT.\n\npackage a\n';
  const generated = await put(directory, 'a/zz_generated.go', text);
  await put(directory, 'a/a.go', 'package a\n\nconst A = 1\n');
  await expect.poll(() => changes).toEqual([join(directory, 'a/a.go')]);
  own = false;
  await put(directory, 'a/zz_generated.go', `${text}\nconst Z = 1\n`);
  await expect.poll(() => changes).toContain(generated);
});

test('neither the module cache nor the standard library is a source', async () => {
  const directory = await directoryWith(MODULE);
  const sources = await listSources(directory, { goPackage: './cmd' }, NEVER);
  expect([...sources!.directories].sort()).toEqual([directory, join(directory, 'a'), join(directory, 'cmd')]);
});

test('a go.mod that the go tool cannot read has no list of sources, nor has a package that is gone', async () => {
  const directory = await directoryWith({ ...MODULE, 'gone/README.md': 'text' });
  expect(await listSources(directory, { goPackage: './gone' }, NEVER)).toBeUndefined();
  expect(await listSources(directory, { goPackage: './never' }, NEVER)).toBeUndefined();
  await put(directory, 'go.mod', 'nonsense');
  expect(await listSources(directory, { goPackage: './cmd' }, NEVER)).toBeUndefined();
});

test('a file with a build tag is a source only of a build with that tag', async () => {
  const directory = await directoryWith({
    ...MODULE,
    'cmd/tagged.go': '//go:build all\n\npackage main\n\nimport _ "example.com/m/tagged"\n',
    'tagged/tagged.go': 'package tagged\n',
  });
  const has = async (...flags: string[]): Promise<boolean> => {
    const sources = await listSources(directory, { goPackage: './cmd', flags }, NEVER);
    return sources!.directories.has(join(directory, 'tagged'));
  };
  expect([await has('-tags=all', '-ldflags=-w'), await has()]).toEqual([true, false]);
});

test('the output of go list is parsed', () => {
  const list = [
    { Dir: '/go/src/fmt', ImportPath: 'fmt', Standard: true },
    { Dir: '/cache/lib@v1', ImportPath: 'lib', Module: { Path: 'lib', GoMod: '/cache/lib.mod' } },
    {
      Dir: '/cache/fork@v1',
      ImportPath: 'forked',
      Module: { Path: 'forked', Replace: { Version: 'v1', Dir: '/cache/fork@v1' } },
    },
    {
      Dir: '/m/cmd',
      ImportPath: 'm/cmd',
      Imports: ['fmt', 'lib', 'm/missing'],
      Module: { Path: 'm', Main: true, Dir: '/m', GoMod: '/m/go.mod' },
    },
  ];
  const { directories } = localSources(list.map((one) => JSON.stringify(one, null, '\t')).join('\n'));
  expect([...directories].sort()).toEqual(['/m', '/m/cmd', '/m/missing']);
});

test('whether a path is a source depends on its name and directory', () => {
  const sources = {
    directories: new Set(['/m']),
    embedded: new Set(['/m/x.yaml']),
    embeddedDirectories: new Set(['/m/t']),
    embeds: [],
    packages: new Map(),
  };
  const inputs = ['/m/a.go', '/m/go.mod', '/m/go.work', '/m/a.s', '/m/a.h', '/m/x.yaml', '/m/t/any'];
  const others = [
    '/m/a_test.go',
    '/m/_a.go',
    '/m/.#a.go',
    '/m/y.yaml',
    '/m/sub/a.go',
    '/m/t/any~',
    '/m/a.go~',
  ];
  expect(inputs.filter((path) => isGoInput(path, sources))).toEqual(inputs);
  expect(others.filter((path) => isGoInput(path, sources))).toEqual([]);
  expect(isNotSource('/bin/project/src/a.py', '/bin/project')).toBe(false);
  expect(isNotSource('/p/node_modules/a/b.js', '/p')).toBe(true);
  // What devloop saves there is not a new program.
  expect(isNotSource('/p/testdata/reviews/create-web.ndjson', '/p')).toBe(true);
  expect(isNotSource('/p/testdata/reviews.py', '/p')).toBe(false);
});

test('the structure of a file is its package, imports, embeds and build tags', () => {
  const file = '//go:build linux\n\npackage a\n\nimport (\n\t"fmt"\n)\n\n//go:embed x\nvar X string\n';
  expect(watchedSources(undefined, '/m').structureOf('/m/a.go', file)).toBe(
    '//go:build linux\npackage a\nimport (\n\t"fmt"\n)\n//go:embed x',
  );
  expect(watchedSources(undefined, '/m').structureOf('/m/a.go', `${file}\nfunc f() {}\n`)).toBe(
    watchedSources(undefined, '/m').structureOf('/m/a.go', file),
  );
  expect(isGenerated('// Code generated by controller-gen. DO NOT EDIT.\n')).toBe(true);
  expect(isGenerated('// Not: Code generated\n')).toBe(false);
});

test('in a checkout, what git ignores does not count, new files included; what it does not ignore does', async () => {
  const directory = await directoryWith({
    '.gitignore': '*.log\nstate/\n',
    'src/main.rs': '1',
    'src/.gitignore': 'generated.rs\n',
    'state/db': '1',
    'tracked.log': '1',
  });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: directory, stdio: 'ignore' });
  git('init');
  git('add', '--force', 'tracked.log');
  const { expectChanges } = await watchIn(directory, { checkout: directory });
  await put(directory, 'state/db', '2');
  await put(directory, 'controller.log', 'new');
  await put(directory, 'src/generated.rs', 'new');
  await put(directory, 'src/main.rs', '2');
  await put(directory, 'tracked.log', '2');
  await put(directory, 'src/new.rs', '2');
  await expectChanges(['src/main.rs', 'src/new.rs', 'tracked.log'], 'mark.rs');
  await put(directory, 'state/db', '3');
  await expectChanges([], 'mark.rs');
});

test('a temporary file with which an editor saves is no change of its own', async () => {
  const directory = await directoryWith({ 'main.rs': '1' });
  const { expectChanges, seen } = await watchIn(directory, { checkout: directory });
  for (const name of ['main.rs.tmp.4711', '.goutputstream-AB12', 'sedX1Y2Z3']) {
    const temporary = await put(directory, name, name);
    // Long enough to be noticed.
    await new Promise((done) => setTimeout(done, 60));
    await rename(temporary, join(directory, 'main.rs'));
  }
  await expectChanges(['main.rs'], 'mark.rs');
  expect(seen).toEqual([]);
});

test.each([
  ['watches', 'fs.inotify.max_user_watches'],
  ['instances', 'fs.inotify.max_user_instances'],
])(
  'if the system allows no more inotify %s, one message names the limit and how to raise it',
  async (what, limit) => {
    const directory = await directoryWith({ 'a/x': '1', 'b/x': '1', 'c/x': '1' });
    // The limits of a user namespace are its own.
    const limited = `echo 0 > /proc/sys/user/max_inotify_${what} && exec "$@"`;
    const script = join(import.meta.dirname, '../support/watch-limited.ts');
    const command = [
      '--user',
      '--map-root-user',
      'sh',
      '-c',
      limited,
      'sh',
      process.execPath,
      script,
      directory,
    ];
    const errors = JSON.parse(execFileSync('unshare', command, { encoding: 'utf8' }));
    expect(errors).toEqual([
      [expect.stringContaining(limit), expect.stringMatching(`^sudo sysctl ${limit}=`)],
    ]);
  },
);

test('in a directory without git everything counts', async () => {
  const directory = await directoryWith({ '.gitignore': '*.log\n', 'a.log': '1' });
  const { expectChanges } = await watchIn(directory, { checkout: directory });
  await put(directory, 'a.log', '2');
  await expectChanges(['a.log'], 'mark.rs');
});

test('listing sources starts no program that the checkout names', async () => {
  const directory = await directoryWith({ ...MODULE, 'evil.sh': '#!/bin/sh\ntouch "$(dirname "$0")/RAN"\n' });
  chmodSync(join(directory, 'evil.sh'), 0o755);
  const git = (...args: string[]) => execFileSync('git', args, { cwd: directory, stdio: 'ignore' });
  git('init');
  git('add', '.');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-m', 'x');
  git('config', 'core.fsmonitor', join(directory, 'evil.sh'));
  await listSources(directory, { goPackage: './cmd' }, NEVER);
  await expect(findMainPackage(new Checkout(directory), {})).rejects.toMatchObject({
    code: 'target.not-found',
  });
  await readScope(directory, { checkout: directory }, NEVER);
  expect(existsSync(join(directory, 'RAN'))).toBe(false);
});

test('a look finds what was saved before it, without an event, and once', async () => {
  const { directory, write, changesAre, watcher, seen } = await watchGo({ 'a/gone.go': 'package a\n' });
  await write('a/a.go', 'package a\n\nconst A = 1\n');
  await write('a/new.go', 'package a\n\nconst New = 1\n');
  await rm(join(directory, 'a/gone.go'));
  await watcher.look();
  expect(new Set(seen.flat())).toEqual(new Set(['a/a.go', 'a/new.go', 'a/gone.go']));
  await watcher.look();
  expect(seen.flat()).toHaveLength(3);
  await changesAre('a/a.go', 'a/new.go', 'a/gone.go');
});
