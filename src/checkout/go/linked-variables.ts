import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { otherWriter } from '../../machine/own-files.ts';
import { cluesTo, namedVariables } from '../named-variables.ts';
import { goReader } from './reader/parser.ts';

const AT_ONCE = 16;

/**
 * The names among `wanted` that the sources of linked packages contain. `directories`: those of the packages. Reading the sources of a
 * manager's libraries takes about a second, so what they name is kept in `cacheFile` for as long as the packages are the same.
 */
export async function namedByPackages(
  directories: string[],
  wanted: string[],
  cacheFile: string,
): Promise<Set<string>> {
  const key = await keyOf(directories);
  const cached = await readCache(cacheFile, key);
  const unknown = wanted.filter((name) => !Object.hasOwn(cached, name));
  if (unknown.length > 0) {
    const named = await search(directories, unknown);
    for (const name of unknown) cached[name] = named.has(name);
    await writeCache(cacheFile, { key, named: cached });
  }
  return new Set(wanted.filter((name) => cached[name]));
}

/** Ends as soon as all names are found. */
async function search(directories: string[], wanted: string[]): Promise<Set<string>> {
  const named = new Set<string>();
  const open = new Set(wanted);
  for (let at = 0; at < directories.length && open.size > 0; at += AT_ONCE) {
    const packages = await Promise.all(directories.slice(at, at + AT_ONCE).map(readPackage));
    const clues = cluesTo(open);
    const likely = packages.filter((files) =>
      files.some((file) => clues.some((clue) => file.includes(clue))),
    );
    const texts = likely.map((files) => files.map((file) => file.toString('latin1')));
    // Each package is judged alone: a library's settings are not those of another one.
    for (const one of texts) {
      for (const name of await namedByCode(one, open)) {
        named.add(name);
        open.delete(name);
      }
    }
  }
  return named;
}

/** A comment reads no variable. Few packages name one, and only their sources are parsed. */
async function namedByCode(texts: string[], wanted: ReadonlySet<string>): Promise<Set<string>> {
  const named = namedVariables([texts], wanted);
  if (named.size === 0) return named;
  const { code } = await goReader();
  const clues = cluesTo(named);
  const parts = texts.map((text) => (clues.some((clue) => text.includes(clue)) ? code(text) : text));
  return namedVariables([parts], named);
}

async function readPackage(directory: string): Promise<Buffer[]> {
  const sources = await sourcesIn(directory);
  return await Promise.all(sources.map((file) => readFile(file).catch(() => Buffer.of())));
}

async function sourcesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch(() => []);
  const sources = names.filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  return sources.map((name) => join(directory, name));
}

/** A vendor directory can have more sources than it pays to look at. Of the rest, only added and removed files are noticed. */
const MOST_STAMPED = 5_000;

/** A directory in the module cache never changes. In any other one, as of a go.work, somebody may be working. */
async function keyOf(directories: string[]): Promise<string> {
  const hash = createHash('sha256');
  let stamped = 0;
  for (const directory of directories) {
    const files = /@v\d/.test(directory) ? [] : [directory, ...(await sourcesIn(directory))];
    const looked = files.slice(0, Math.max(1, MOST_STAMPED - stamped));
    stamped += looked.length;
    hash.update(`${[directory, ...(await Promise.all(looked.map(stampOf)))].join('\0')}\n`);
  }
  return hash.digest('hex');
}

/** A program cannot set the time of change, so a file that was put back with an old time is noticed, too. */
async function stampOf(path: string): Promise<string> {
  const { size, mtimeMs, ctimeMs } = await stat(path).catch(() => NONE);
  return `${path} ${size} ${mtimeMs} ${ctimeMs}`;
}

const NONE = { size: 0, mtimeMs: 0, ctimeMs: 0 };

/** Ignores a cache that other users can write to, because it decides what the controller gets. */
async function readCache(file: string, key: string): Promise<Record<string, boolean>> {
  try {
    if (otherWriter(file) !== undefined) return {};
    const cache = JSON.parse(await readFile(file, 'utf8')) as { key: string; named: Record<string, boolean> };
    return cache.key === key ? cache.named : {};
  } catch {
    return {};
  }
}

/** The cache only saves time, so a failure is ignored. */
async function writeCache(file: string, content: object): Promise<void> {
  const fresh = `${file}.${process.pid}`;
  try {
    if (otherWriter(file) !== undefined) return;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(fresh, JSON.stringify(content), { mode: 0o600 });
    await rename(fresh, file);
  } catch {
    // The next session reads the sources again.
  }
}
