import { readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFree, removeKeyPair, requireRoom, writeKeyPair } from '../certificates/files.ts';
import { isAtOrBelow } from '../checkout/paths.ts';
import { messageOf } from '../errors.ts';
import { writeBelow } from '../machine/own-files.ts';
import { DEFAULT_CERTIFICATE_DIRECTORY } from '../operator/mounts.ts';
import { mentions } from '../operator/volumes.ts';
import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import type { FoundPair } from './key-pairs.ts';

/** Where a session's files are on this machine. */
export interface LocalFiles {
  /** The session's own directory. */
  directory: string;
  /** Where the controller finds its key pair. */
  keyPairDirectory: string;
}

/**
 * A controller that devloop starts has its temporary directory below the session's own. A process that the user starts uses the user's
 * temporary directory. `keyPairDirectory` is set if the user named one.
 */
export function localFiles(
  directory: string,
  wanted: { startsController: boolean; keyPairDirectory?: string | undefined },
): LocalFiles {
  const temporary = wanted.startsController ? join(directory, 'tmp') : tmpdir();
  return { directory, keyPairDirectory: wanted.keyPairDirectory ?? defaultDirectory(temporary) };
}

/** controller-runtime's default below a temporary directory. */
export function defaultDirectory(temporary: string): string {
  return join(temporary, DEFAULT_CERTIFICATE_DIRECTORY);
}

/** Throws 'certificate.not-written' if `writeFoundPair` could not write the files. Writes nothing. */
export async function requireRoomForPair(directory: string, { secret }: FoundPair): Promise<void> {
  await requireRoom(directory, ['tls.crt', 'tls.key', ...Object.keys(secret.files)]);
}

/**
 * Writes the whole Secret as the kubelet would, and the key pair always as tls.crt and tls.key. Returns false if the same content is there
 * already.
 */
export async function writeFoundPair(directory: string, found: FoundPair, emit: Emit): Promise<boolean> {
  // The contents stay bytes, since a keystore, for example, is not text.
  const others = Object.entries(found.secret.files).map(
    ([name, content]) => [name, Buffer.from(content, 'base64')] as const,
  );
  const extra = Object.fromEntries(others.filter(([name]) => name !== 'tls.crt' && name !== 'tls.key'));
  if (!(await writeKeyPair(directory, found.pair, { certificate: 'tls.crt', key: 'tls.key' }, extra)))
    return false;
  const { namespace, name } = found.secret;
  emit({
    type: 'certificate.written',
    directory,
    names: found.facts.names,
    notAfter: found.facts.notAfter.toISOString(),
    source: `Secret ${namespace}/${name}`,
  });
  return true;
}

/**
 * The mount points of key pairs that the sources name (in a constant or the default of a flag, directly or as part of a file's path) and
 * that no argument or variable (`words`) names. `sourcePaths` are all absolute paths in the sources.
 */
export function hardCodedDirectories(
  mountPoints: string[],
  words: string[],
  sourcePaths: ReadonlySet<string>,
): string[] {
  const isNamed = (directory: string): boolean =>
    [...sourcePaths].some((path) => isAtOrBelow(path, directory));
  return mountPoints.filter(
    (directory) => isNamed(directory) && !words.some((word) => mentions(word, directory)),
  );
}

/**
 * Also writes the key pair to hard-coded directories, from which it is removed when the session ends. Returns the directories to which it
 * was written. A key pair of the user's own is left unchanged.
 */
export async function writeHardCoded(
  { directory: sessionDirectory }: LocalFiles,
  directories: string[],
  found: FoundPair,
  emit: Emit,
): Promise<string[]> {
  await recordOutside(sessionDirectory, directories);
  const written: string[] = [];
  for (const directory of directories) {
    try {
      if (await isFree(directory)) {
        await writeFoundPair(directory, found, emit);
        written.push(directory);
        continue;
      }
      emit(notice('key-pair.own', { directory }));
    } catch (error) {
      emit(notice('key-pair.not-written', { directory, cause: messageOf(error) }));
    }
  }
  return written;
}

const OUTSIDE = 'key-pairs.json';

/**
 * Records directories outside the session's own before a key pair is written there, so that the key pair is removed even if this process is
 * killed.
 */
export async function recordOutside(sessionDirectory: string, directories: string[]): Promise<void> {
  if (directories.length === 0) return;
  const file = join(sessionDirectory, OUTSIDE);
  await writeBelow(sessionDirectory, () => writeFile(file, JSON.stringify(directories), { mode: 0o600 }));
}

/**
 * Removes everything that a session wrote on this machine, its own directory last. What cannot be removed is left to the next `up` or
 * `down`, since a failure here must neither hide how this session ended nor stop the next one.
 */
export async function removeLocalFiles(sessionDirectory: string): Promise<void> {
  const outside = await recordedOutside(sessionDirectory);
  const removed = await Promise.allSettled(outside.map(removeKeyPair));
  // The record of what is left is in the session's directory.
  if (removed.some(({ status }) => status === 'rejected')) return;
  await rm(sessionDirectory, { recursive: true, force: true }).catch(() => {});
}

async function recordedOutside(sessionDirectory: string): Promise<string[]> {
  try {
    const directories: unknown = JSON.parse(await readFile(join(sessionDirectory, OUTSIDE), 'utf8'));
    // A crash of the machine can leave anything in a file.
    return Array.isArray(directories) ? directories.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}
