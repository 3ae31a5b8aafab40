import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { workspaceDirectories } from '../controller/go/workspace.ts';
import { readTextFile } from '../machine/text-file.ts';

/** A module beside the checkout that the go tool builds from its sources. */
export interface LocalModule {
  directory: string;
  /** The module's path, as in import statements. */
  path: string;
}

const MODULE = /^module\s+"?([^\s"]+)/m;
const REPLACED = /^\s*(?:replace\s+)?"?([^\s="]+)"?(?:\s+v\S+)?\s+=>\s+"?(\.{1,2}(?:\/[^\s"]*)?|\/[^\s"]+)/gm;

/**
 * The modules that the checkout replaces with directories (`replace example.com/api => ../api`), and the other modules of its go.work, if
 * they are in the same repository. Anything else that a go.mod names belongs to somebody else.
 */
export async function localModules(root: string): Promise<LocalModule[]> {
  const found = [...(await replacedModules(root)), ...(await workspaceModules(root))];
  const repository = nearestWith(root, ['.git', 'go.work']) ?? dirname(root);
  return found.filter(({ directory }) => isBelow(directory, repository) && !isBelow(directory, root));
}

async function replacedModules(root: string): Promise<LocalModule[]> {
  const text = await readTextFile(join(root, 'go.mod'));
  return [...text.matchAll(REPLACED)].map(([, path = '', place = '']) => ({
    directory: resolve(root, place),
    path,
  }));
}

async function workspaceModules(root: string): Promise<LocalModule[]> {
  const directories = await workspaceDirectories(root);
  return await Promise.all(
    directories.map(async (directory) => {
      const path = MODULE.exec(await readTextFile(join(directory, 'go.mod')))?.[1] ?? '';
      return { directory, path };
    }),
  );
}

/**
 * The sources of all packages in these modules that the texts import, directly or through other such packages. A repository can contain
 * several operators, so packages that this operator does not import are not read.
 */
export async function importedSources(texts: Iterable<string>, modules: LocalModule[]): Promise<string[]> {
  const found = new Map<string, string[]>();
  let next = [...texts].flatMap((text) => importedDirectories(text, modules));
  while (next.length > 0) {
    const level = [...new Set(next)].filter((directory) => !found.has(directory));
    const read = await Promise.all(
      level.map(async (directory) => [directory, await sourcesIn(directory)] as const),
    );
    for (const [directory, sources] of read) found.set(directory, sources);
    next = read.flatMap(([, sources]) => sources.flatMap((text) => importedDirectories(text, modules)));
    next = next.filter((directory) => !found.has(directory));
  }
  return [...found.values()].flat();
}

const QUOTED = /"([^"\s]+)"/g;

function importedDirectories(text: string, modules: LocalModule[]): string[] {
  const paths = [...text.matchAll(QUOTED)].map(([, path = '']) => path);
  return modules.flatMap((module) =>
    paths
      .filter((path) => path === module.path || path.startsWith(`${module.path}/`))
      .map((path) => join(module.directory, path.slice(module.path.length))),
  );
}

async function sourcesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const sources = names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  return await Promise.all(sources.map((name) => readTextFile(join(directory, name))));
}

function nearestWith(from: string, signs: string[]): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    if (signs.some((sign) => existsSync(join(directory, sign)))) return directory;
    if (dirname(directory) === directory) return undefined;
  }
}

function isBelow(directory: string, parent: string): boolean {
  return !relative(parent, directory).startsWith('..');
}
