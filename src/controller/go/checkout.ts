import { readdir } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { isBuilt } from './constraints.ts';
import { readSourceFile } from './source-file.ts';
import { nearestWorkspace, workspaceDirectories } from './workspace.ts';

export interface GoModule {
  directory: string;
  /** The path in import statements. */
  path: string;
}

/** A directory of a checkout with Go files of a `package main`. */
export interface MainDirectory {
  /** The argument for the go tool in the root of the checkout: './cmd'. */
  package: string;
  directory: string;
  module: GoModule;
}

/** What a checkout consists of. */
export interface GoCheckout {
  root: string;
  /** The modules in the checkout, and those outside it that its go.work names or its go.mod files use as replacements. */
  modules: GoModule[];
  mains: MainDirectory[];
  /** The paths of the Dockerfiles, relative to the root. */
  dockerfiles: string[];
}

const SKIPPED = new Set(['vendor', 'node_modules', 'testdata']);
const DOCKERFILE = /^(?:Docker|Container)file(?:\..+)?$|\.(?:Docker|Container)file$/i;
const MOST_DIRECTORIES = 10_000;
const AT_ONCE = 32;

/** A directory of the checkout, with only the entries that matter here. */
interface Directory {
  directory: string;
  below: string[];
  /** Its Go files, without tests. */
  sources: string[];
  dockerfiles: string[];
  hasModule: boolean;
}

/** Walks the checkout. `tags` are the build tags that count as set. */
export async function readGoCheckout(root: string, tags: ReadonlySet<string>): Promise<GoCheckout> {
  const found: Directory[] = [];
  const queue = [root];
  while (queue.length > 0 && found.length < MOST_DIRECTORIES) {
    const read = await Promise.all(queue.splice(0, AT_ONCE).map(readDirectory));
    found.push(...read);
    for (const { directory, below } of read) queue.push(...below.map((name) => join(directory, name)));
  }
  const own = found.filter(({ hasModule }) => hasModule).map(({ directory }) => directory);
  // If the checkout has no module of its own, a go.work above it does not belong to it.
  const others = own.length === 0 ? [] : await workspaceDirectories(root);
  const modules = (await Promise.all([...new Set([...own, ...others])].map(readModules))).flat();
  const areMain = await Promise.all(found.map((one) => isMain(one, tags)));
  const mains = found.filter((_, index) => areMain[index]).map(({ directory }) => directory);
  const dockerfiles = found.flatMap((one) => one.dockerfiles.map((name) => join(one.directory, name)));
  return {
    root,
    modules,
    mains: mains.sort().flatMap((directory) => mainDirectory(root, directory, modules)),
    dockerfiles: dockerfiles.map((file) => relative(root, file)).sort(),
  };
}

async function readDirectory(directory: string): Promise<Directory> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  return {
    directory,
    below: entries.filter((entry) => entry.isDirectory() && isWalked(entry.name)).map(({ name }) => name),
    sources: files.filter(isSource),
    dockerfiles: files.filter((name) => DOCKERFILE.test(name) && !name.endsWith('.dockerignore')),
    hasModule: files.includes('go.mod'),
  };
}

function isWalked(name: string): boolean {
  return !SKIPPED.has(name) && !name.startsWith('.') && !name.startsWith('_');
}

export function isSource(name: string): boolean {
  return name.endsWith('.go') && !name.endsWith('_test.go') && !/^[._]/.test(name);
}

/** The first file that is built decides. Generated files are large, so they come last. */
async function isMain({ directory, sources }: Directory, tags: ReadonlySet<string>): Promise<boolean> {
  const rank = (name: string): number => (name === 'main.go' ? 0 : name.startsWith('zz_') ? 2 : 1);
  for (const name of sources.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))) {
    const file = readSourceFile(await readTextFile(join(directory, name)));
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

/** Whether an import path is one of the module's packages. */
export function isIn(path: string, module: string): boolean {
  return module !== '' && (path === module || path.startsWith(`${module}/`));
}

const MODULE = /^module\s+"?([^\s"]+)/m;
const REPLACED = /^\s*(?:replace\s+)?([^\s=]+)(?:\s+v\S+)?\s+=>\s+(\.{1,2}(?:\/\S*)?|\/\S+)\s*(?:\/\/.*)?$/gm;

/** The module of a go.mod, and the modules that it replaces with directories. */
async function readModules(directory: string): Promise<GoModule[]> {
  const text = await readTextFile(join(directory, 'go.mod'));
  return [{ directory, path: MODULE.exec(text)?.[1] ?? '' }, ...replacedIn(text, directory)];
}

/** The modules that the text of a go.mod or go.work in `directory` replaces with directories. */
function replacedIn(text: string, directory: string): GoModule[] {
  return [...text.matchAll(REPLACED)].map(([, path = '', place = '']) => ({
    directory: resolve(directory, place),
    path,
  }));
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
