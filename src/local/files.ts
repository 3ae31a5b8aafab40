import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isFree, removeKeyPair } from '../certificates/files.ts';
import { messageOf } from '../errors.ts';
import { mentions } from '../operator/mounts.ts';
import type { Emit } from '../report/events.ts';
import type { CommandContext } from '../session/context/context.ts';
import type { UpOptions } from '../session/context/options.ts';
import { defaultDirectory, type FoundPair, layOut } from './key-pair-files.ts';

const OUTSIDE = 'key-pairs.json';

/** What a session keeps on this machine. */
export interface LocalFiles {
  /** The session's own directory. */
  directory: string;
  /** Where the key pair lies on this machine, and where the container sees it. */
  certificates: string;
  mountedAt: string[];
  /** More directories for the key pair: the controller's sources name them, and no argument says otherwise. */
  fixed: string[];
}

/** The controller's own files lie in the session's directory; a process of the user's looks in the user's temporary directory. */
export function localFiles(
  directory: string,
  { config, root }: CommandContext,
  options: UpOptions,
): LocalFiles {
  const temporary = options.controller ? join(directory, 'tmp') : tmpdir();
  const named = config.certificates?.directory;
  const certificates = named === undefined ? defaultDirectory(temporary) : resolve(root, named);
  return { directory, certificates, mountedAt: [], fixed: [] };
}

/**
 * Where the container sees the key pair, as far as no argument or variable names it and the sources do: a constant, or the
 * default of a flag. `sourcePaths` are all that stand in the sources. Pure.
 */
export function fixedDirectories(
  mountedAt: string[],
  words: string[],
  sourcePaths: ReadonlySet<string>,
): string[] {
  return mountedAt.filter(
    (directory) =>
      (sourcePaths.has(directory) || sourcePaths.has(`${directory}/`)) &&
      !words.some((word) => mentions(word, directory)),
  );
}

/** Lays the key pair out there too, until the session ends. Files of somebody else stay, and a place that refuses is told. */
export async function layOutFixed(files: LocalFiles, found: FoundPair, emit: Emit): Promise<void> {
  await recordKeyPairs(files.directory, files.fixed);
  for (const directory of [...files.fixed]) {
    try {
      if (await isFree(directory)) {
        await layOut(directory, found, emit);
        continue;
      }
      emit({
        type: 'note',
        message: `${directory}, which the sources name, holds a key pair of yours; it stays.`,
      });
    } catch (error) {
      emit({
        type: 'warning',
        message: `The controller may look for its key pair in ${directory}: ${messageOf(error)}`,
      });
    }
    files.fixed = files.fixed.filter((one) => one !== directory);
  }
}

/** Directories outside the session's own that a key pair will lie in: written down first, so that one that is killed leaves none. */
export async function recordKeyPairs(directory: string, outside: string[]): Promise<void> {
  if (outside.length > 0) await writeFile(join(directory, OUTSIDE), JSON.stringify(outside), { mode: 0o600 });
}

/** Removes all that a session laid out on this machine, its own directory last. What does not let itself be removed is none of the next session's. */
export async function removeLocalFiles(directory: string): Promise<void> {
  for (const outside of await recordedKeyPairs(directory)) await removeKeyPair(outside).catch(() => {});
  await rm(directory, { recursive: true, force: true });
}

async function recordedKeyPairs(directory: string): Promise<string[]> {
  try {
    return JSON.parse(await readFile(join(directory, OUTSIDE), 'utf8'));
  } catch {
    return [];
  }
}
