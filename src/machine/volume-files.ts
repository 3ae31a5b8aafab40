/** Writes files as the kubelet writes those of a volume, because programs that watch them rely on how they change. */
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The link that the kubelet replaces; programs that watch certificates and settings rely on its name. */
const CURRENT = '..data';
const OURS = /^\.\.\d{4}[\d_]*\.devloop-/;

export interface VolumeFile {
  content: string | Buffer;
  mode: number;
}

/** By their relative paths. */
export type VolumeFiles = ReadonlyMap<string, VolumeFile>;

/** The limit of Linux for a path. */
const LONGEST_PATH = 4_096;
const LONGEST_NAME = 255;

/**
 * Whether the API server accepts the path of a file in a volume: relative, within the volume, and not one of the names that begin with two
 * dots, which are the kubelet's own.
 */
export function isVolumePath(path: string): boolean {
  const parts = path.split('/');
  const isName = (part: string): boolean =>
    part !== '' && part !== '.' && part !== '..' && Buffer.byteLength(part) <= LONGEST_NAME;
  return path.length <= LONGEST_PATH && !path.includes('\0') && !path.startsWith('..') && parts.every(isName);
}

/** The names in the directory of a volume with these files: only the first part of a path is linked, as the kubelet does for `items`. */
export function namesOf(paths: Iterable<string>): string[] {
  return [...new Set([...paths].map((path) => path.split('/')[0]!))];
}

/**
 * The files go into a new directory that only this user can read, and renaming one link makes all of them visible at once, so that no
 * reader gets files of two versions. Returns false if the same files are there already. Throws the error of the file system.
 */
export async function writeVolume(directory: string, files: VolumeFiles): Promise<boolean> {
  const names = namesOf(files.keys());
  if (await isWritten(directory, files, names)) return false;
  await swapIn(directory, files);
  for (const name of names) await replaceLink(directory, name, join(CURRENT, name));
  await removeOthers(directory, names);
  return true;
}

/** Removes what `writeVolume` created in a directory. */
export async function removeVolume(directory: string): Promise<void> {
  if (await isCurrentOurs(directory)) {
    for (const name of await linksToCurrent(directory)) await rm(join(directory, name));
    await rm(join(directory, CURRENT));
  }
  for (const name of await ourDirectories(directory))
    await rm(join(directory, name), { recursive: true, force: true });
}

/** The names in a directory that `writeVolume` has not created. */
export async function othersIn(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  const links = await linksToCurrent(directory);
  return names.filter((name) => name !== CURRENT && !OURS.test(name) && !links.includes(name));
}

/** The first of these names that is taken by something that `writeVolume` would not replace: a file of somebody, or what a kubelet wrote. */
export async function takenName(directory: string, names: string[]): Promise<string | undefined> {
  const current = await linkTarget(directory, CURRENT);
  const isOurs = current === undefined || OURS.test(current);
  for (const name of [CURRENT, ...names]) {
    const isLink = name === CURRENT || (await linkTarget(directory, name)) === join(CURRENT, name);
    if (isOurs && isLink) continue;
    const exists = await lstat(join(directory, name)).then(
      () => true,
      () => false,
    );
    if (exists) return name;
  }
  return undefined;
}

async function isWritten(directory: string, files: VolumeFiles, names: string[]): Promise<boolean> {
  if (!(await isCurrentOurs(directory))) return false;
  const present = await linksToCurrent(directory);
  if (present.length !== names.length || !names.every((name) => present.includes(name))) return false;
  if ((await filesBelow(join(directory, CURRENT))).length !== files.size) return false;
  for (const [path, { content, mode }] of files) {
    const file = join(directory, path);
    const written = await readFile(file).catch(() => undefined);
    if (!written?.equals(Buffer.from(content)) || ((await stat(file)).mode & 0o777) !== mode) return false;
  }
  return true;
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((one) => one.isFile()).map(({ name }) => name);
}

async function swapIn(directory: string, files: VolumeFiles): Promise<void> {
  const stamp = new Date().toISOString().slice(0, 19).replace(/\D/g, '_');
  const fresh = await mkdtemp(join(directory, `..${stamp}.devloop-`));
  try {
    for (const [path, { content, mode }] of files) {
      const file = join(fresh, path);
      if (path.includes('/')) await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await writeFile(file, content, { mode, flag: 'wx' });
      await chmod(file, mode);
    }
    await replaceLink(directory, CURRENT, fresh.slice(directory.length).replace(/^\/+/, ''));
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
}

/** Renaming replaces a file or link in one step. It fails on a directory, which is kept. */
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
 * Removes the files of earlier versions immediately, because controller-runtime before v0.20 rereads the pair only when the file that it
 * watches disappears: the file in the old directory.
 */
async function removeOthers(directory: string, names: string[]): Promise<void> {
  const current = await linkTarget(directory, CURRENT);
  for (const name of await linksToCurrent(directory)) {
    if (!names.includes(name)) await rm(join(directory, name));
  }
  for (const name of await ourDirectories(directory)) {
    if (name !== current) await rm(join(directory, name), { recursive: true, force: true });
  }
}

async function isCurrentOurs(directory: string): Promise<boolean> {
  return OURS.test((await linkTarget(directory, CURRENT)) ?? '');
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
