import { readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DevloopError } from '../errors.ts';
import { assertWritable, fileCause, makePath, otherWriter, unmakePath } from '../machine/own-files.ts';
import {
  isVolumePath,
  namesOf,
  othersIn,
  removeVolume,
  takenName,
  writeVolume,
} from '../machine/volume-files.ts';
import type { KeyPair } from './key-pair.ts';

/** Records the topmost directory that writeKeyPair created, so that no other directory is removed. */
const MADE = '..made-by-devloop';

type Content = string | Buffer;

/**
 * Writes a key pair the way the kubelet does, so that no reader gets a certificate with the wrong key. Returns false if the same content is already
 * there. Throws 'certificate.not-written' if writing fails, a file of the same name is not devloop's, or other users could interfere.
 *
 * @param extra more files by name, such as ca.crt
 */
export async function writeKeyPair(
  directory: string,
  pair: KeyPair,
  names: { certificate: string; key: string },
  extra: Record<string, Content> = {},
): Promise<boolean> {
  const entries: [string, Content][] = [
    ...Object.entries(extra),
    [names.certificate, pair.certificate],
    [names.key, pair.key],
  ];
  // The API server refuses names that lead out of the directory, so an entry with such a name did not come from there.
  const files = new Map(
    entries.filter(([name]) => isVolumePath(name)).map(([name, content]) => [name, { content, mode: 0o600 }]),
  );
  await requireRoom(directory, [...files.keys()]);
  try {
    await makeDirectory(directory);
    return await writeVolume(directory, files);
  } catch (error) {
    throw writeFailure(directory, error);
  }
}

/** Throws 'certificate.not-written' if files of these names cannot be written as a key pair. Writes nothing. */
export async function requireRoom(directory: string, names: string[]): Promise<void> {
  try {
    const other = otherWriter(directory);
    if (other !== undefined) throw refused(directory, other);
    await assertWritable(directory);
    const taken = await takenName(directory, namesOf(names));
    if (taken === undefined) return;
    throw refused(directory, `${join(directory, taken)} already exists, and devloop did not write it`);
  } catch (error) {
    throw writeFailure(directory, error);
  }
}

/** Removes what writeKeyPair created in a directory, and the directory itself if writeKeyPair created it and it is empty. */
export async function removeKeyPair(directory: string): Promise<void> {
  try {
    await removeVolume(directory);
    await removeMade(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw writeFailure(directory, error);
  }
}

/** Whether the directory is empty, or holds only what writeKeyPair created. */
export async function isFree(directory: string): Promise<boolean> {
  const others = await othersIn(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw writeFailure(directory, error);
  });
  return others.every((name) => name === MADE);
}

/** An existing directory keeps its mode, since the files are in a directory below it that only this user can read. */
async function makeDirectory(directory: string): Promise<void> {
  const made = await makePath(directory);
  if (made === undefined) return;
  try {
    await writeFile(join(directory, MADE), made, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // Without this record, devloop would never remove the directory.
    await rm(join(directory, MADE), { force: true }).catch(() => {});
    await unmakePath(directory, made);
    throw error;
  }
}

async function removeMade(directory: string): Promise<void> {
  const top = await readFile(join(directory, MADE), 'utf8');
  await rm(join(directory, MADE));
  try {
    for (let path = directory; path.length >= top.length; path = dirname(path)) await rmdir(path);
  } catch (error) {
    // Somebody else has put a file there.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  }
}

/** Turns the error of a file operation into one that names the directory and the cause. */
function writeFailure(directory: string, error: unknown): unknown {
  const cause = fileCause(directory, error);
  return cause === undefined ? error : refused(directory, cause, error);
}

function refused(directory: string, why: string, cause?: unknown): DevloopError {
  const message = `The key pair cannot be written to ${directory}: ${why}.`;
  return new DevloopError('certificate.not-written', message, { hint: ELSEWHERE, cause });
}

const ELSEWHERE =
  'Move it out of the way, or choose another directory: devloop certs --output DIR, or certificates: {directory: DIR} in devloop.yaml.';
