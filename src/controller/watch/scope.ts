import { readdir, stat } from 'node:fs/promises';
import { join, matchesGlob, resolve } from 'node:path';
import type { Sources } from '../../checkout/language.ts';
import { runGit } from '../../machine/git.ts';
import { isNotSource } from './filter.ts';

/** The sources of a program, files and directories that the user named, or a whole checkout. */
export type WatchTarget =
  | { sources: (signal: AbortSignal) => Promise<Sources> }
  | { paths: string[] }
  | { checkout: string };

/** What is watched: the directories, and which of the files in them count. */
export interface WatchScope {
  directories: string[];
  recursive: boolean;
  /** What the program is built from; absent if the user named the files, or any file of the checkout can be a source. */
  sources?: Sources;
  /** Whether a path is in a subtree that is not watched at all. */
  isOutside(path: string): boolean;
  counts(path: string): boolean;
  /** Takes in a new directory, and those below it, if files there count. Returns those that are now also watched. */
  takeIn?(directory: string): Promise<string[]>;
  /** Returns those of the paths that are not ignored. `counts` must hold for all of the paths. */
  notIgnored(paths: string[]): Promise<string[]>;
}

/**
 * What to watch for a target: everything that a program is built from, what git does not ignore in a checkout, or the directories and
 * globs of devloop.yaml as they are.
 */
export async function readScope(cwd: string, target: WatchTarget, signal: AbortSignal): Promise<WatchScope> {
  if ('paths' in target) return pathScope(cwd, target.paths);
  if ('checkout' in target) return await checkoutScope(target.checkout, signal);
  return scopeOf(await target.sources(signal));
}

/** All files of a scope that count. */
export async function filesOf(scope: WatchScope): Promise<string[]> {
  return (await Promise.all(scope.directories.map((place) => filesAt(place, scope)))).flat();
}

/** The files at one place of a scope: users can also name single files. */
async function filesAt(place: string, scope: WatchScope): Promise<string[]> {
  const isFile = scope.recursive && (await stat(place).catch(() => undefined))?.isFile();
  return isFile ? [place] : await filesIn(place, scope);
}

async function filesIn(directory: string, scope: WatchScope): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const found = entries.map((entry) => ({ entry, path: join(directory, entry.name) }));
  const here = found
    .filter(({ entry, path }) => entry.isFile() && scope.counts(path))
    .map(({ path }) => path);
  if (!scope.recursive) return here;
  const below = found.filter(({ entry, path }) => entry.isDirectory() && !scope.isOutside(path));
  return here.concat(...(await Promise.all(below.map(({ path }) => filesIn(path, scope)))));
}

/** The scope of everything that a program is built from. */
export function scopeOf(sources: Sources): WatchScope {
  return {
    sources,
    directories: sources.directories,
    recursive: false,
    isOutside: () => false,
    counts: sources.counts,
    takeIn: sources.takeIn,
    notIgnored: async (paths) => paths,
  };
}

/** Where a path is watched: a glob from the directory before its first wildcard. */
export function watchRoot(cwd: string, path: string): string {
  const wildcard = wildcardIn(path);
  return resolve(cwd, wildcard < 0 ? path : path.split('/').slice(0, wildcard).join('/') || '.');
}

function wildcardIn(path: string): number {
  return path.split('/').findIndex((part) => /[*?[{]/.test(part));
}

function pathScope(cwd: string, paths: string[]): WatchScope {
  const entries = paths.map((path) => ({
    root: watchRoot(cwd, path),
    glob: wildcardIn(path) < 0 ? undefined : resolve(cwd, path),
  }));
  const rootsOf = (path: string) =>
    entries.filter(({ root }) => path === root || path.startsWith(`${root}/`));
  return {
    directories: [...new Set(entries.map(({ root }) => root))],
    recursive: true,
    isOutside: (path) => {
      const roots = rootsOf(path);
      return roots.length > 0 && roots.every(({ root }) => isNotSource(path, root));
    },
    counts: (path) =>
      rootsOf(path).some(({ root, glob }) => !isNotSource(path, root) && (!glob || matchesGlob(path, glob))),
    notIgnored: async (paths) => paths,
  };
}

/** Programs write logs, databases and downloads into their checkout, and .gitignore lists these. Without git, nothing is ignored. */
async function checkoutScope(root: string, signal: AbortSignal): Promise<WatchScope> {
  const all = pathScope(root, [root]);
  const { stdout } = await runGit(IGNORED, { cwd: root, signal });
  const ignored = stdout.split('\0').flatMap((path) => (path.endsWith('/') ? [join(root, path)] : []));
  return {
    ...all,
    // A directory that is ignored may be large, so it is not even watched.
    isOutside: (path) => all.isOutside(path) || ignored.some((one) => `${path}/`.startsWith(one)),
    async notIgnored(paths) {
      const input = paths.map((path) => `${path}\0`).join('');
      const { stdout } = await runGit(['check-ignore', '-z', '--stdin'], { cwd: root, input });
      const found = new Set(stdout.split('\0'));
      return paths.filter((path) => !found.has(path));
    },
  };
}

const IGNORED = 'ls-files -z --others --ignored --exclude-standard --directory'.split(' ');

/** Whether the build tool could not tell what the program is built from. */
export function isGuess({ sources }: WatchScope): boolean {
  return sources?.isGuess === true;
}

/** A scope that covers what at least one of the two covers. */
export function both(one: WatchScope, { sources: _, ...other }: WatchScope): WatchScope {
  return {
    ...other,
    directories: [...new Set([...one.directories, ...other.directories])],
    counts: (path) => one.counts(path) || other.counts(path),
    takeIn: async (directory) => [
      ...new Set([...((await one.takeIn?.(directory)) ?? []), ...((await other.takeIn?.(directory)) ?? [])]),
    ],
  };
}
