import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';

/** The text of a file of the checkout; empty if there is none. Reading a pipe or a device may never end, so those are not read. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : '';
  } catch {
    return '';
  }
}

/**
 * Replaces one of the user's files completely or not at all, so that a full disk does not destroy the old content. A symbolic link to the
 * file stays a link, and the file keeps its permissions. Rejects with the error of the file system.
 */
export async function replaceTextFile(path: string, text: string): Promise<void> {
  const file = await realpath(path).catch(() => path);
  const before = await stat(file).catch(() => undefined);
  const unfinished = `${file}.devloop-${process.pid}`;
  try {
    await using handle = await open(unfinished, 'wx');
    await handle.writeFile(text);
    if (before) await handle.chmod(before.mode & 0o777);
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true }).catch(() => {});
  }
}
