import { isAbsolute, join, relative, sep } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { type Checkout, MAX_DIRECTORIES } from '../files.ts';
import { isDockerfile } from '../image/workload-image.ts';
import { isBuilt } from './constraints.ts';
import { type GoFiles, goFiles } from './files.ts';
import { type GoModule, replacedIn, wordAfter } from './go-mod.ts';
import { nearestWorkspace, workspaceDirectories } from './workspace.ts';

/** A directory of a checkout with Go files of a `package main`. */
export interface MainDirectory {
  /** The argument for the go tool in the root of the checkout: './cmd'. */
  package: string;
  directory: string;
  module: GoModule;
}

/** What a checkout consists of. */
export interface GoCheckout {
  checkout: Checkout;
  root: string;
  /** The modules in the checkout, and those outside it that its go.work names or its go.mod files use as replacements. */
  modules: GoModule[];
  mains: MainDirectory[];
  /** The paths of the Dockerfiles, relative to the root. */
  dockerfiles: string[];
}

const SKIPPED = new Set(['vendor', 'node_modules', 'testdata']);

/** A directory of the checkout, with only the entries that matter here. */
interface Directory {
  directory: string;
  /** Its Go files, without tests. */
  sources: string[];
  dockerfiles: string[];
  hasModule: boolean;
}

/** Walks the checkout. `tags` are the build tags that count as set. */
export async function readGoCheckout(checkout: Checkout, tags: ReadonlySet<string>): Promise<GoCheckout> {
  const { root } = checkout;
  const found = directoriesOf(checkout);
  const own = found.filter(({ hasModule }) => hasModule).map(({ directory }) => directory);
  // If the checkout has no module of its own, a go.work above it does not belong to it.
  const others = own.length === 0 ? [] : await workspaceDirectories(root);
  const modules = (await Promise.all([...new Set([...own, ...others])].map(readModules))).flat();
  const files = await goFiles(checkout);
  const mains = found.filter((one) => isMain(one, files, tags)).map(({ directory }) => directory);
  const dockerfiles = found.flatMap((one) => one.dockerfiles.map((name) => join(one.directory, name)));
  return {
    ...{ checkout, root, modules },
    mains: mains.sort().flatMap((directory) => mainDirectory(root, directory, modules)),
    dockerfiles: dockerfiles.map((file) => relative(root, file)).sort(),
  };
}

function directoriesOf(checkout: Checkout): Directory[] {
  const queue = [checkout.root];
  const found: Directory[] = [];
  for (const directory of queue) {
    if (found.length >= MAX_DIRECTORIES) break;
    const [below, others] = [[] as string[], [] as string[]];
    for (const entry of checkout.entries(directory)) (entry.isDirectory() ? below : others).push(entry.name);
    found.push({
      directory,
      sources: others.filter(isSource),
      dockerfiles: others.filter(isDockerfile),
      hasModule: others.includes('go.mod'),
    });
    queue.push(...below.filter(isWalked).map((name) => `${directory}/${name}`));
  }
  return found;
}

function isWalked(name: string): boolean {
  return !SKIPPED.has(name) && !name.startsWith('.') && !name.startsWith('_');
}

export function isSource(name: string): boolean {
  return name.endsWith('.go') && !name.endsWith('_test.go') && !/^[._]/.test(name);
}

/** The first file that is built decides. Generated files are large, so they come last. */
function isMain({ directory, sources }: Directory, files: GoFiles, tags: ReadonlySet<string>): boolean {
  const rank = (name: string): number => (name === 'main.go' ? 0 : name.startsWith('zz_') ? 2 : 1);
  for (const name of sources.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))) {
    const { file } = files.header(join(directory, name));
    if (file.package !== '' && isBuilt(name, file.constraint, tags)) return file.package === 'main';
  }
  return false;
}

/** The main package in a directory; none for a directory outside all modules. */
function mainDirectory(root: string, directory: string, modules: GoModule[]): MainDirectory[] {
  const module = moduleOf(directory, modules);
  return module ? [{ package: asPackage(root, directory), directory, module }] : [];
}

/** './cmd', or '.' for the root itself. */
export function asPackage(root: string, directory: string): string {
  const place = relative(root, directory).split(sep).join('/');
  if (place === '') return '.';
  return place.startsWith('../') || isAbsolute(place) ? place : `./${place}`;
}

/** The innermost module that a directory belongs to. */
export function moduleOf(directory: string, modules: GoModule[]): GoModule | undefined {
  return modules
    .filter((one) => directory === one.directory || directory.startsWith(`${one.directory}${sep}`))
    .sort((a, b) => b.directory.length - a.directory.length)[0];
}

/** The module of a go.mod, and the modules that it replaces with directories. */
async function readModules(directory: string): Promise<GoModule[]> {
  const text = await readTextFile(join(directory, 'go.mod'));
  return [{ directory, path: wordAfter('module', text) ?? '' }, ...replacedIn(text, directory)];
}

/**
 * The paths of the modules that a program of the module in `directory` is built from, if they are in directories of the developer: that
 * module, those of its go.work, and those that replace others.
 */
export async function ownModules(directory: string): Promise<string[]> {
  const workspace = nearestWorkspace(directory);
  const all = await Promise.all([directory, ...(await workspaceDirectories(directory))].map(readModules));
  const replaced =
    workspace === undefined ? [] : replacedIn(await readTextFile(join(workspace, 'go.work')), workspace);
  return [...new Set([...all.flat(), ...replaced].map(({ path }) => path))].filter((path) => path !== '');
}
