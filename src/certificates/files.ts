import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DevloopError, messageOf } from '../errors.ts';
import type { KeyPair } from './key-pair.ts';

/** The link that the kubelet swaps; programs that watch certificates know its name. */
const CURRENT = '..data';
const OURS = /^\.\.\d{4}[\d_]*\.devloop-/;
/** Records the topmost directory that writeKeyPair created, so that no other directory is removed. */
const MADE = '..made-by-devloop';

/**
 * Writes a key pair the way the kubelet does: the files go into a new directory, and renaming one link makes all of them visible
 * at once, so that no reader gets a certificate with the wrong key. Returns false where the same content is there already.
 *
 * @param extra more files by name, such as ca.crt
 */
export async function writeKeyPair(
  directory: string,
  pair: KeyPair,
  names: { certificate: string; key: string },
  extra: Record<string, string> = {},
): Promise<boolean> {
  const files = new Map([
    ...Object.entries(extra),
    [names.certificate, pair.certificate],
    [names.key, pair.key],
  ]);
  try {
    await makeDirectory(directory);
    if (await isWritten(directory, files)) return false;
    await swapIn(directory, files);
    for (const name of files.keys()) await replaceLink(directory, name, join(CURRENT, name));
    await removeOthers(directory, files);
    return true;
  } catch (error) {
    throw writeFailure(directory, error);
  }
}

/** Removes what writeKeyPair created in a directory, and the directory itself if writeKeyPair created it and it is empty. */
export async function removeKeyPair(directory: string): Promise<void> {
  try {
    if (OURS.test((await linkTarget(directory, CURRENT)) ?? '')) {
      for (const name of await linksToCurrent(directory)) await rm(join(directory, name));
      await rm(join(directory, CURRENT));
    }
    for (const name of await ourDirectories(directory)) {
      await rm(join(directory, name), { recursive: true, force: true });
    }
    await removeMade(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw writeFailure(directory, error);
  }
}

/** Whether the directory is empty, or holds only what writeKeyPair created. */
export async function isFree(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw writeFailure(directory, error);
  });
  if (names.length === 0) return true;
  const links = await linksToCurrent(directory);
  return names.every((name) => name === CURRENT || name === MADE || OURS.test(name) || links.includes(name));
}

async function makeDirectory(directory: string): Promise<void> {
  const made = await makePath(directory);
  if (made !== undefined) await writeFile(join(directory, MADE), made, { mode: 0o600 });
  else if ((await stat(directory)).mode & 0o077) await chmod(directory, 0o700);
}

/** Returns the topmost directory that it created. Node's recursive mkdir loops where the kernel refuses every entry (/proc). */
async function makePath(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory, { mode: 0o700 });
    return directory;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return undefined;
    if (code !== 'ENOENT' || (await exists(dirname(directory)))) throw error;
  }
  const top = await makePath(dirname(directory));
  await mkdir(directory, { mode: 0o700 });
  return top ?? directory;
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function isWritten(directory: string, files: Map<string, string>): Promise<boolean> {
  if (!OURS.test((await linkTarget(directory, CURRENT)) ?? '')) return false;
  if ((await linksToCurrent(directory)).length !== files.size) return false;
  for (const [name, content] of files) {
    if ((await linkTarget(directory, name)) !== join(CURRENT, name)) return false;
    const present = await readFile(join(directory, name), 'utf8').catch(() => undefined);
    if (present !== content) return false;
  }
  return true;
}

async function swapIn(directory: string, files: Map<string, string>): Promise<void> {
  const stamp = new Date().toISOString().slice(0, 19).replace(/\D/g, '_');
  const fresh = await mkdtemp(join(directory, `..${stamp}.devloop-`));
  for (const [name, content] of files) await writeFile(join(fresh, name), content, { mode: 0o600 });
  await replaceLink(directory, CURRENT, fresh.slice(directory.length).replace(/^\/+/, ''));
}

/** A rename replaces a file or link in one step. It fails on a directory, which is kept. */
async function replaceLink(directory: string, name: string, target: string): Promise<void> {
  if ((await linkTarget(directory, name)) === target) return;
  const temporary = join(directory, `..${name}.devloop-new`);
  await rm(temporary, { force: true });
  await symlink(target, temporary);
  await rename(temporary, join(directory, name)).catch(async (error) => {
    await rm(temporary, { force: true });
    throw error;
  });
}

/**
 * Immediately, because controller-runtime before v0.20 rereads the pair only when a file that it watches disappears, and that is
 * the file in the old directory.
 */
async function removeOthers(directory: string, files: Map<string, string>): Promise<void> {
  const current = await linkTarget(directory, CURRENT);
  for (const name of await linksToCurrent(directory)) {
    if (!files.has(name)) await rm(join(directory, name));
  }
  for (const name of await ourDirectories(directory)) {
    if (name !== current) await rm(join(directory, name), { recursive: true, force: true });
  }
}

async function removeMade(directory: string): Promise<void> {
  const top = await readFile(join(directory, MADE), 'utf8');
  await rm(join(directory, MADE));
  try {
    for (let path = directory; path.length >= top.length; path = dirname(path)) await rmdir(path);
  } catch (error) {
    // Somebody else has a file there.
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error;
  }
}

async function linksToCurrent(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const targets = await Promise.all(names.map((name) => linkTarget(directory, name)));
  return names.filter((name, index) => targets[index] === join(CURRENT, name));
}

async function ourDirectories(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => OURS.test(name));
}

async function linkTarget(directory: string, name: string): Promise<string | undefined> {
  return await readlink(join(directory, name)).catch(() => undefined);
}

const CAUSES: Record<string, string> = {
  EEXIST: 'there is a file where a directory is needed',
  ENOTDIR: 'there is a file where a directory is needed',
  EISDIR: 'there is a directory where a file is needed',
  EACCES: 'no permission',
  EPERM: 'it belongs to another user',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
};

/** The error of a file operation, as one that names the directory and the cause. */
function writeFailure(directory: string, error: unknown): unknown {
  const { code, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  if (code === undefined) return error;
  const cause = CAUSES[code] ?? messageOf(error);
  const place = dest ?? path;
  const at = place === undefined || place === directory ? '' : ` (${place})`;
  return new DevloopError(
    'certificate.not-written',
    `The key pair cannot be written to ${directory}: ${cause}${at}`,
    {
      hint: 'Move it out of the way, or choose another directory for the certificates.',
      cause: error,
    },
  );
}
