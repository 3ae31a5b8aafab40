import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { DevloopError } from '../../errors.ts';
import { runTool } from '../../machine/tool.ts';
import type { MainPackage } from './choice.ts';
import { goAdvice } from './toolchain.ts';

export interface GoModule {
  directory: string;
  /** As in import statements. */
  path: string;
}

const CONTROLLER_RUNTIME = 'sigs.k8s.io/controller-runtime';

/** The main packages where kubebuilder and operator-sdk put them. Read from the files, since `go list` takes seconds in a large module. */
export async function usualMains(directory: string): Promise<MainPackage[]> {
  const below = await readdir(join(directory, 'cmd'), { withFileTypes: true }).catch(() => []);
  const places = [
    '.',
    './cmd',
    ...below.filter((entry) => entry.isDirectory()).map(({ name }) => `./cmd/${name}`),
  ];
  const mains = await Promise.all(places.map((place) => readMain(directory, place)));
  return mains.filter((main) => main !== undefined);
}

async function readMain(directory: string, place: string): Promise<MainPackage | undefined> {
  const texts = await sourcesIn(join(directory, place));
  const mains = texts.filter((text) => /^package main\b/m.test(text) && !/^\/\/go:build ignore$/m.test(text));
  if (mains.length === 0) return undefined;
  return {
    package: place,
    importsControllerRuntime: mains.some((text) => text.includes(`"${CONTROLLER_RUNTIME}`)),
  };
}

async function sourcesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const sources = names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  return await Promise.all(sources.map((name) => readFile(join(directory, name), 'utf8')));
}

/**
 * All main packages of the module; a package counts as importing controller-runtime if one that it imports does. If several do,
 * the `paths` of the webhooks are searched in the sources of each.
 */
export async function allMains(
  module: GoModule,
  paths: string[],
  signal: AbortSignal | undefined,
): Promise<MainPackage[]> {
  const mains = await listMains(module, signal);
  const managers = mains.filter((main) => main.importsControllerRuntime);
  if (managers.length < 2) return mains;
  const holding = await directoriesWith(new Set(mains.flatMap(({ directories }) => directories)), paths);
  return mains.map((main) => {
    const own = main.directories.filter((directory) => holding.has(directory));
    if (own.length === 0) return main;
    const isBelow = own.some((directory) => directory.startsWith(`${main.directories[0]}${sep}`));
    return { ...main, webhooks: isBelow && main.package !== '.' ? 'below it' : 'elsewhere' };
  });
}

interface ListedMain extends MainPackage {
  /** Its own, and those of the packages of the module that it is built from. */
  directories: string[];
}

async function listMains(
  { directory, path }: GoModule,
  signal: AbortSignal | undefined,
): Promise<ListedMain[]> {
  const format = '{{if eq .Name "main"}}{{.Dir}}{{"\\t"}}{{join .Deps " "}}{{end}}';
  const list = ['go', 'list', '-buildvcs=false', '-e', '-f', format, './...'];
  const result = await runTool(list, { cwd: directory, signal });
  if (result.code !== 0) {
    const hint = goAdvice(result.stderr);
    throw new DevloopError(
      'controller.no-main',
      `go list failed:\n${result.stderr.trim()}`,
      hint ? { hint } : {},
    );
  }
  const lines = result.stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [found = '', imports = ''] = line.split('\t');
    const place = relative(directory, found).split(sep).join('/');
    const own = imports.split(' ').filter((one) => one.startsWith(`${path}/`));
    return {
      package: place === '' ? '.' : `./${place}`,
      importsControllerRuntime: imports.includes(CONTROLLER_RUNTIME),
      directories: [found, ...own.map((one) => join(directory, one.slice(path.length + 1)))],
    };
  });
}

/** The directories whose sources contain one of the paths. Main packages share many directories, so each is read once. */
async function directoriesWith(directories: Set<string>, paths: string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const directory of directories) {
    const texts = await sourcesIn(directory);
    if (texts.some((text) => paths.some((path) => text.includes(path)))) found.add(directory);
  }
  return found;
}
