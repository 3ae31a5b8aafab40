import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isFree, removeKeyPair } from '../certificates/files.ts';
import { messageOf } from '../errors.ts';
import type { Emit } from '../report/events.ts';
import { defaultDirectory, type FoundPair, layOut } from './certificate.ts';
import type { Opened } from './open.ts';
import type { UpOptions } from './options.ts';

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
export function localFiles(directory: string, { config, root }: Opened, options: UpOptions): LocalFiles {
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
      !words.some((word) => word.includes(directory)),
  );
}

/** Lays the key pair out there too, until the session ends. Files of somebody else stay, and a place that refuses is told. */
export async function layOutFixed(files: LocalFiles, found: FoundPair, emit: Emit): Promise<void> {
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

/** The key pairs outside the session's directory. What a user's setting names may be wanted afterwards. */
export async function removeKeyPairs(
  files: LocalFiles,
  { config }: Opened,
  options: UpOptions,
): Promise<void> {
  for (const directory of files.fixed) await removeKeyPair(directory);
  if (!options.controller && config.certificates?.directory === undefined)
    await removeKeyPair(files.certificates);
}
