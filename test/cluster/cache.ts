import { createHash } from 'node:crypto';
import { access, glob, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { lock } from './lock.ts';

/** All that is kept between runs. */
export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kube-devloop');
/** The names of the Debian packages that were installed. */
export const INSTALLED_PACKAGES = join(CACHE, 'debian-packages');
const keptDays = 30;
const waitMinutes = 30;

/** A short hash of some words and of the files that the patterns match, names included. */
export async function hashOf(cwd: string, patterns: string[], ...words: string[]): Promise<string> {
  const hash = createHash('sha256').update(words.join('\0'));
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd })) files.push(file);
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(await readFile(join(cwd, file)));
  return hash.digest('hex').slice(0, 16);
}

/**
 * A directory of the user's cache, which `make` fills unless it already exists. `make` gets another directory, which is renamed at the end,
 * so a directory that is found is always complete. Directories of the same kind that have not been used for a month are removed. `onWait` is
 * called if another process is filling the directory.
 */
export async function cached(
  kind: string,
  key: string,
  make: (directory: string) => Promise<void>,
  onWait?: () => void,
): Promise<string> {
  const found = await cachedBefore(kind, key);
  if (found !== undefined) return found;
  const directory = join(CACHE, kind, key);
  await using _ = await lock(`build ${directory}`, waitMinutes * 60_000, onWait);
  if (!(await isThere(directory))) await fill(directory, make);
  await removeUnused(join(CACHE, kind));
  return directory;
}

/** The same directory, if it exists. It then counts as used. */
export async function cachedBefore(kind: string, key: string): Promise<string | undefined> {
  const directory = join(CACHE, kind, key);
  if (!(await isThere(directory))) return undefined;
  const now = new Date();
  await utimes(directory, now, now);
  return directory;
}

async function fill(directory: string, make: (directory: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(directory), { recursive: true });
  const part = await mkdtemp(`${directory}.part-`);
  try {
    await make(part);
    await rename(part, directory);
  } catch (error) {
    // The lock does not exclude test machines, so another one may have made the same directory in the meantime.
    if (!(await isThere(directory))) throw error;
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

async function removeUnused(directory: string): Promise<void> {
  const oldest = Date.now() - keptDays * 24 * 3600 * 1000;
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    const used = await stat(path).catch(() => undefined);
    if (used && used.mtimeMs < oldest) await rm(path, { recursive: true, force: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
