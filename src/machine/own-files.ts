/** Finds out whether devloop can safely write a file on this machine, and why not. */
import { constants, lstatSync, readlinkSync, type Stats } from 'node:fs';
import { access, mkdir, opendir, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join, normalize, relative, resolve, sep } from 'node:path';
import { DevloopError, messageOf } from '../errors.ts';

const MOST_LINKS = 40;
const STICKY = 0o1000;

/**
 * Who else could read, replace or redirect what is written to a path: the owner of a directory above it, or whoever can write to such a
 * directory. Undefined if only this user and the administrator can. A sticky directory such as /tmp is safe, because users can change only
 * their own files there. The path need not exist. This is synchronous, because waiting for the first answer of Node's thread pool would
 * take most of the time of a short command.
 */
export function otherWriter(path: string): string | undefined {
  const user = process.getuid?.();
  if (user === undefined) return undefined;
  // In a user namespace, the administrator has another uid: that of the root directory.
  const { uid } = lstatSync('/');
  return look(resolve(path), new Set([user, 0, uid]), 0);
}

function look(path: string, trusted: Set<number>, links: number): string | undefined {
  if (links > MOST_LINKS) return `${path} has too many symbolic links`;
  const parts = path.split(sep).filter((part) => part !== '');
  for (let length = 0; length <= parts.length; length++) {
    const here = sep + parts.slice(0, length).join(sep);
    const stats = statsOf(here);
    // This user will create a missing directory. If a directory cannot be read, the later write fails.
    if (stats === undefined) return undefined;
    if (!trusted.has(stats.uid)) return `${here} belongs to another user (uid ${stats.uid})`;
    if (stats.isSymbolicLink()) {
      const target = resolve(dirname(here), readlinkSync(here));
      return look(join(target, ...parts.slice(length)), trusted, links + 1);
    }
    if (stats.isDirectory() && isOpen(stats)) return `other users can write to ${here}`;
  }
  return undefined;
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/**
 * Whether other users can write. On many systems, each user has a group of their own, whose number is the user's, and which is allowed to
 * write. Other systems put all users into one group.
 */
function isOpen({ mode, gid }: Stats): boolean {
  if ((mode & STICKY) !== 0) return false;
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getuid?.() && gid !== 0);
}

const CAUSES: Record<string, string> = {
  EEXIST: 'there is a file where a directory is needed',
  ENOTDIR: 'there is a file where a directory is needed',
  EISDIR: 'there is a directory where a file is needed',
  EACCES: 'no permission',
  EPERM: 'it belongs to another user',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk reports an error (EIO)',
};

/** Why a file operation failed, and on which file if that is not `directory` itself. Undefined for any other error. */
export function fileCause(directory: string, error: unknown): string | undefined {
  const { code, syscall, path, dest } = error as NodeJS.ErrnoException & { dest?: string };
  if (code === undefined || syscall === undefined) return undefined;
  const place = dest ?? path;
  const at = place === undefined || place === directory ? '' : ` (${place})`;
  return `${CAUSES[code] ?? messageOf(error)}${at}`;
}

/** Whether a relative path points outside the directory that it is for. */
export function leadsOut(name: string): boolean {
  return normalize(name).split(sep).includes('..');
}

/** Throws 'files.not-written' for a file of the checkout that a link leads out of it, to a file of yours elsewhere. */
export async function requireWithin(root: string, file: string): Promise<void> {
  let place = file;
  while (!(await exists(place))) place = dirname(place);
  const [real, within] = await Promise.all([realpath(place), realpath(root)]);
  if (!leadsOut(relative(within, real))) return;
  throw new DevloopError('files.not-written', `${file} is outside of the checkout: it leads to ${real}.`, {
    hint: 'Replace the link by a file or directory of the checkout, then run the command again.',
  });
}

/** Turns a failure to write devloop's own files into 'files.not-written'; any other error is returned unchanged. */
export function notWritten(directory: string, error: unknown): unknown {
  const cause = fileCause(directory, error);
  return cause === undefined ? error : refused(directory, cause, error);
}

/** Rejects with the error of the file system if this user cannot create the directory, or cannot write to it. Creates nothing. */
export async function assertWritable(directory: string): Promise<void> {
  let nearest = directory;
  while (!(await exists(nearest)) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  if ((await stat(nearest)).isDirectory()) await access(nearest, constants.W_OK | constants.X_OK);
  else await opendir(nearest);
}

/** Throws 'files.not-written' beforehand if writing below a directory would fail. */
export async function requireWritable(directory: string): Promise<void> {
  await writeBelow(directory, () => assertWritable(directory));
}

/** Writes devloop's own files below a directory. Throws 'files.not-written' if the file system refuses, or if others could interfere. */
export async function writeBelow<T>(directory: string, write: () => Promise<T>): Promise<T> {
  const other = otherWriter(directory);
  if (other !== undefined) throw refused(directory, other);
  try {
    return await write();
  } catch (error) {
    throw notWritten(directory, error);
  }
}

/**
 * Creates a directory that only this user can access, and the missing ones above it. Returns the topmost one that it created. Node's
 * recursive mkdir reports a missing path when the file system is read-only, and never returns where the kernel refuses every entry (/proc).
 * Throws 'files.not-written' if others could interfere: in a sticky directory, somebody else may have created it first.
 */
export async function makePath(directory: string): Promise<string | undefined> {
  const top = await makeMissing(directory);
  const other = otherWriter(directory);
  if (other !== undefined) throw refused(directory, other);
  return top;
}

async function makeMissing(directory: string): Promise<string | undefined> {
  try {
    await mkdir(directory, { mode: 0o700 });
    return directory;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(directory)).isDirectory()) return undefined;
    if (code !== 'ENOENT' || (await exists(dirname(directory)))) throw error;
  }
  const top = await makeMissing(dirname(directory));
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (top !== undefined) await unmakePath(dirname(directory), top);
    throw error;
  }
  return top ?? directory;
}

/** Removes a directory that is not needed after all, and those above it up to `top`, unless somebody has put something there. */
export async function unmakePath(directory: string, top: string): Promise<void> {
  for (let path = directory; path.length >= top.length; path = dirname(path)) {
    if (
      !(await rmdir(path).then(
        () => true,
        () => false,
      ))
    )
      return;
  }
}

/** Whether something has this path, as far as this user can see. */
export function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function refused(directory: string, why: string, cause?: unknown): DevloopError {
  return new DevloopError('files.not-written', `devloop cannot write its files to ${directory}: ${why}.`, {
    hint: 'Make room or fix the permissions there, or choose another directory: XDG_STATE_HOME=DIR devloop up',
    cause,
  });
}
