import { readFile, stat } from 'node:fs/promises';

/** The text of a file of the checkout; empty if there is none. Reading a pipe or a device may never end, so those are not read. */
export async function readTextFile(path: string): Promise<string> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : '';
  } catch {
    return '';
  }
}
