import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import type { Checkout } from '../files.ts';
import type { GoFiles } from './files.ts';
import { type GoModule, packageDirectory, replacedIn, wordAfter } from './go-mod.ts';
import type { GoSource } from './sources.ts';
import { workspaceDirectories } from './workspace.ts';

/**
 * The modules beside the checkout that the go tool builds from their sources: those that the checkout replaces with directories (`replace example.com/api => ../api`), and the other modules of its go.work, if
 * they are in the same repository. Anything else that a go.mod names belongs to somebody else.
 */
export async function localModules(root: string): Promise<GoModule[]> {
  const replaced = replacedIn(await readTextFile(join(root, 'go.mod')), root);
  const found = [...replaced, ...(await workspaceModules(root))];
  const repository = nearestWith(root, ['.git', 'go.work']) ?? dirname(root);
  return found.filter(({ directory }) => isBelow(directory, repository) && !isBelow(directory, root));
}

async function workspaceModules(root: string): Promise<GoModule[]> {
  const directories = await workspaceDirectories(root);
  return await Promise.all(
    directories.map(async (directory) => {
      const path = wordAfter('module', await readTextFile(join(directory, 'go.mod'))) ?? '';
      return { directory, path };
    }),
  );
}

/**
 * The sources of all packages in the modules `beside` the checkout that are imported, directly or through other such packages. A repository
 * can contain several operators, so packages that this operator does not import are not read.
 */
export function importedSources(
  checkout: Checkout,
  sources: GoSource[],
  { beside, files }: { beside: GoModule[]; files: GoFiles },
): string[] {
  const found = new Map<string, string[]>();
  const queue = [...sources];
  for (const { file } of queue) {
    for (const directory of file.imports.flatMap(({ path }) => packageDirectory(path, beside) ?? [])) {
      if (found.has(directory)) continue;
      const paths = sourcesIn(directory, checkout);
      found.set(directory, paths);
      queue.push(...paths.map((path) => files.header(path)));
    }
  }
  return [...found.values()].flat();
}

/** The sources of a package, without tests. */
export function sourcesIn(directory: string, checkout: Checkout): string[] {
  const names = checkout.entries(directory).map(({ name }) => name);
  const sources = names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  return sources.map((name) => join(directory, name));
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
