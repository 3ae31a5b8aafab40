import { stat } from 'node:fs/promises';

/** The suffix of the file that notes how, and in which directory, a kept program was built. */
export const NOTE = '.json';

/** A value that is equal for all names of one file; undefined if there is no file. */
export async function stampOf(file: string): Promise<string | undefined> {
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  return found && [found.ino, found.size, found.mtimeNs].join(' ');
}
