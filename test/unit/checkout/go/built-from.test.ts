import { mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { builtFrom, type GoSettings, unchangedSources } from '../../../../src/checkout/go/built-from.ts';
import { noSources, type SourceSet } from '../../../../src/checkout/go/source-set.ts';
import { directoryWith, put } from '../../controller/support/places.ts';

interface Place {
  cwd: string;
  /** A directory with a file that is named go and is not a script. */
  tools: string;
  sources: SourceSet;
  settings: GoSettings;
}

async function place(): Promise<Place> {
  const cwd = await directoryWith({
    'go.mod': 'module example.com/x\n\nreplace example.com/y => ./y\n',
    'y/go.mod': 'module example.com/y\n',
    'cmd/main.go': 'package main\n',
    'web/index.html': '<p>',
  });
  const tools = await directoryWith({ go: '\x7fELF', 'settings/env': 'GOPROXY=off\n' });
  const sources = {
    directories: new Set([cwd, join(cwd, 'cmd'), join(cwd, 'missing')]),
    embedded: new Set([join(cwd, 'web/index.html')]),
    embeddedDirectories: new Set([join(cwd, 'web')]),
    embeds: [[cwd, 'web'] as [string, string]],
    packages: new Map([['example.com/x/cmd', join(cwd, 'cmd')]]),
  };
  const env = { PATH: tools, HOME: tools, GOENV: join(tools, 'settings/env') };
  return { cwd, tools, sources, settings: { cwd, env } };
}

/** The same in a workspace, with the answer of `go env GOWORK`. */
async function workspace(): Promise<Place> {
  const cwd = await directoryWith({
    'go.work': 'go 1.26\n\nuse (\n\t.\n\t"./api" // the types\n\tlib\n)\n\nreplace example.com/z => ./z\n',
    'go.mod': 'module example.com/x\n',
    'cmd/main.go': 'package main\n',
    'api/go.mod': 'module example.com/api\n\nreplace example.com/deep => ./deep\n',
    'api/deep/go.mod': 'module example.com/deep\n',
    'lib/go.mod': 'module example.com/lib\n',
  });
  const { tools } = await place();
  const sources = { ...noSources(), directories: new Set([cwd, join(cwd, 'cmd')]) };
  return { cwd, tools, sources, settings: { cwd: join(cwd, 'cmd'), env: { PATH: tools, HOME: tools } } };
}

/** A moment at which the times of all files are certainly earlier. */
async function later(): Promise<number> {
  await pause(30);
  return Date.now();
}

test('what nobody has touched is unchanged, however often it is looked at', async () => {
  const { sources, settings } = await place();
  const from = builtFrom(sources, settings, await later())!;
  const read = JSON.parse(JSON.stringify(from)) as typeof from;
  expect(unchangedSources(read, settings)).toEqual(sources);
  expect(unchangedSources(read, { ...settings, env: { ...settings.env, GOGC: '50', LANG: 'C' } })).toEqual(
    sources,
  );
});

test.each<[string, (place: Place) => Promise<unknown>]>([
  ['an edit', ({ cwd }) => writeFile(join(cwd, 'cmd/main.go'), 'package other\n')],
  [
    'an edit of the same length, with the time of before',
    async ({ cwd }) => {
      const file = join(cwd, 'cmd/main.go');
      const { atime, mtime } = await stat(file);
      await writeFile(file, 'package mine\n');
      await utimes(file, atime, mtime);
    },
  ],
  [
    'another file in its place',
    async ({ cwd }) => {
      await writeFile(join(cwd, 'new'), 'package main\n');
      await rename(join(cwd, 'new'), join(cwd, 'cmd/main.go'));
    },
  ],
  ['a new file', ({ cwd }) => writeFile(join(cwd, 'cmd/more.go'), '')],
  ['a removed file', ({ cwd }) => rm(join(cwd, 'cmd/main.go'))],
  ['an embedded file', ({ cwd }) => writeFile(join(cwd, 'web/index.html'), '<b>')],
  ['one more directory to embed', ({ cwd }) => mkdir(join(cwd, 'web/more'))],
  ['one more file to embed', ({ cwd }) => writeFile(join(cwd, 'web/more.html'), '')],
  ['a profile', ({ cwd }) => writeFile(join(cwd, 'cmd/default.pgo'), '')],
  ['the package that was missing', ({ cwd }) => put(cwd, 'missing/it.go', 'package missing\n')],
  ['the requirements of a replaced module', ({ cwd }) => writeFile(join(cwd, 'y/go.mod'), 'module y\n')],
  ['a workspace', ({ cwd }) => writeFile(join(cwd, 'go.work'), 'go 1.26\n')],
  ['a vendor directory', ({ cwd }) => mkdir(join(cwd, 'vendor'))],
  ['go env -w', ({ tools }) => writeFile(join(tools, 'settings/env'), 'GOFLAGS=-mod=mod\n')],
  ['another go', ({ tools }) => writeFile(join(tools, 'go'), '\x7fELF2')],
  ['no go', ({ tools }) => rm(join(tools, 'go'))],
])('%s is a change', async (_, change) => {
  const all = await place();
  const { sources, settings } = all;
  const from = builtFrom(sources, settings, await later())!;
  await change(all);
  expect(unchangedSources(from, settings)).toBeUndefined();
});

test('a workspace that nobody has touched is unchanged', async () => {
  const { sources, settings } = await workspace();
  const from = builtFrom(sources, settings, await later())!;
  expect(unchangedSources(from, settings)).toEqual(sources);
});

test.each<[string, (place: Place) => Promise<unknown>]>([
  ['one more module', ({ cwd }) => writeFile(join(cwd, 'go.work'), 'go 1.26\n\nuse . ./more\n')],
  ['its sums', ({ cwd }) => writeFile(join(cwd, 'go.work.sum'), 'x')],
  ['the requirements of a module', ({ cwd }) => writeFile(join(cwd, 'api/go.mod'), 'module api\n')],
  ['those of one without ./', ({ cwd }) => writeFile(join(cwd, 'lib/go.mod'), 'module lib\n')],
  ['the sums of a module', ({ cwd }) => writeFile(join(cwd, 'api/go.sum'), 'x')],
  ['a module that it replaces', ({ cwd }) => put(cwd, 'z/go.mod', 'module z\n')],
  ['a module that a module replaces', ({ cwd }) => writeFile(join(cwd, 'api/deep/go.mod'), 'module d\n')],
  ['a nearer workspace', ({ cwd }) => writeFile(join(cwd, 'cmd/go.work'), 'go 1.26\n')],
  ['its vendor directory', ({ cwd }) => mkdir(join(cwd, 'vendor'))],
])('of a workspace, %s is a change', async (_, change) => {
  const all = await workspace();
  const from = builtFrom(all.sources, all.settings, await later())!;
  await change(all);
  expect(unchangedSources(from, all.settings)).toBeUndefined();
});

test('a workspace above the directory that the shell is in, by a link, counts', async () => {
  const { cwd, sources, settings } = await place();
  const links = await directoryWith({});
  await symlink(cwd, join(links, 'here'));
  const throughLink = { ...settings, env: { ...settings.env, PWD: join(links, 'here') } };
  const from = builtFrom(sources, throughLink, await later())!;
  await writeFile(join(links, 'go.work'), 'go 1.26\n');
  expect(unchangedSources(from, throughLink)).toBeUndefined();
});

test.each(['GOFLAGS', 'GOOS', 'CGO_ENABLED', 'CC', 'GOTOOLCHAIN', 'PKG_CONFIG_PATH'])(
  '%s counts',
  async (name) => {
    const { sources, settings } = await place();
    const from = builtFrom(sources, settings, await later())!;
    expect(unchangedSources(from, { ...settings, env: { ...settings.env, [name]: 'x' } })).toBeUndefined();
  },
);

test.each<[string, (place: Place) => Promise<unknown>]>([
  ['saved during the build', ({ cwd }) => writeFile(join(cwd, 'cmd/main.go'), 'package late\n')],
  ['removed during the build', ({ cwd }) => rm(join(cwd, 'cmd/main.go'))],
])('what was %s is not known to be in the program', async (_, change) => {
  const all = await place();
  const fromMs = await later();
  await change(all);
  expect(builtFrom(all.sources, all.settings, fromMs)).toBeUndefined();
});

test('of a workspace, what was written during the build is not known to be in the program', async () => {
  const { cwd, sources, settings } = await workspace();
  const fromMs = await later();
  await writeFile(join(cwd, 'api/go.mod'), 'module api\n');
  expect(builtFrom(sources, settings, fromMs)).toBeUndefined();
});

test('the shim of a version manager could be any go', async () => {
  const { tools, sources, settings } = await place();
  await writeFile(join(tools, 'go'), '#!/bin/sh\nexec asdf exec go "$@"\n');
  expect(builtFrom(sources, settings, await later())).toBeUndefined();
  await rename(join(tools, 'go'), join(tools, 'mise'));
  await writeFile(join(tools, 'mise'), '\x7fELF');
  await symlink(join(tools, 'mise'), join(tools, 'go'));
  expect(builtFrom(sources, settings, await later())).toBeUndefined();
});
