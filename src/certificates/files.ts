import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DevloopError } from '../errors.ts';
import {
  assertWritable,
  fileCause,
  leadsOut,
  makePath,
  otherWriter,
  unmakePath,
} from '../machine/own-files.ts';
import type { KeyPair } from './key-pair.ts';

/** The link that the kubelet replaces; programs that watch certificates rely on its name. */
const CURRENT = '..data';
const OURS = /^\.\.\d{4}[\d_]*\.devloop-/;
/** Records the topmost directory that writeKeyPair created, so that no other directory is removed. */
const MADE = '..made-by-devloop';

type Content = string | Buffer;

/**
 * Writes a key pair the way the kubelet does: the files go into a new directory that only this user can read, and renaming one link makes
 * all of them visible at once, so that no reader gets a certificate with the wrong key. Returns false if the same content is already
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
  const files = new Map(entries.filter(([name]) => !leadsOut(name)));
  const links = [...new Set([...files.keys()].map(topOf))];
  await requireRoom(directory, [...files.keys()]);
  try {
    await makeDirectory(directory);
    if (await isWritten(directory, files, links)) return false;
    await swapIn(directory, files);
    for (const name of links) await replaceLink(directory, name, join(CURRENT, name));
    await removeOthers(directory, links);
    return true;
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
    await requireOurs(directory, [...new Set(names.map(topOf))]);
  } catch (error) {
    throw writeFailure(directory, error);
  }
}

/** The first part of a path. Only this part is linked, as the kubelet does for `items` with a path. */
function topOf(name: string): string {
  return name.split('/')[0]!;
}

/** Throws if a name is taken by the user's own key pair or by what a kubelet wrote, which are never replaced. */
async function requireOurs(directory: string, links: string[]): Promise<void> {
  const current = await linkTarget(directory, CURRENT);
  const isOurs = current === undefined || OURS.test(current);
  for (const name of [CURRENT, ...links]) {
    const path = join(directory, name);
    const isLink = name === CURRENT || (await linkTarget(directory, name)) === join(CURRENT, name);
    if (isOurs && isLink) continue;
    const exists = await lstat(path).then(
      () => true,
      () => false,
    );
    if (exists) throw refused(directory, `${path} already exists, and devloop did not write it`);
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

async function isWritten(directory: string, files: Map<string, Content>, links: string[]): Promise<boolean> {
  if (!OURS.test((await linkTarget(directory, CURRENT)) ?? '')) return false;
  const present = await linksToCurrent(directory);
  if (present.length !== links.length || !links.every((name) => present.includes(name))) return false;
  for (const [name, content] of files) {
    const written = await readFile(join(directory, name)).catch(() => undefined);
    if (!written?.equals(Buffer.from(content))) return false;
  }
  return true;
}

async function swapIn(directory: string, files: Map<string, Content>): Promise<void> {
  const stamp = new Date().toISOString().slice(0, 19).replace(/\D/g, '_');
  const fresh = await mkdtemp(join(directory, `..${stamp}.devloop-`));
  for (const [name, content] of files) {
    if (name.includes('/')) await mkdir(dirname(join(fresh, name)), { recursive: true, mode: 0o700 });
    await writeFile(join(fresh, name), content, { mode: 0o600, flag: 'wx' });
  }
  await replaceLink(directory, CURRENT, fresh.slice(directory.length).replace(/^\/+/, ''));
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
async function removeOthers(directory: string, links: string[]): Promise<void> {
  const current = await linkTarget(directory, CURRENT);
  for (const name of await linksToCurrent(directory)) {
    if (!links.includes(name)) await rm(join(directory, name));
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
    // Somebody else has put a file there.
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
