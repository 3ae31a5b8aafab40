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
import { writeFailure } from './files-failure.ts';
import type { KeyPair } from './key-pair.ts';

/** The kubelet's name for the link that is swapped; programs that watch for it know it. */
const CURRENT = '..data';
const OURS = /^\.\.\d{4}[\d_]*\.devloop-/;
/** Holds the topmost directory that had to be made, so that no more than that is removed. */
const MADE = '..made-by-devloop';

/**
 * Writes a key pair the way the kubelet does: the files go to a new directory, and one rename of a link shows all of them at
 * once, so that nobody reads a certificate with the key of another. Returns false where the same content is there already.
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

/** Removes what writeKeyPair made in a directory, and the directory itself where it was made too and nothing else is in it. */
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

/** Whether nothing lies there, or only what writeKeyPair made. */
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

/** Returns the topmost directory that had to be made. Node's own recursive mkdir does not end where the kernel refuses any entry (/proc). */
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

/** A rename replaces a file or link in one step; a directory in its place makes it fail, and stays. */
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
 * At once, not later: before v0.20 controller-runtime reads the pair again only when a file that it watches vanishes, and
 * that is the file in the old directory.
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
    // Somebody else keeps something there.
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
