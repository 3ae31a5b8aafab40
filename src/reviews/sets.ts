import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

const ENDING = '.ndjson';

/** Saved sets belong to the repository, so that its tests can use them. */
export function setFile(checkout: string, name: string): string {
  return join(setsDirectory(checkout), `${name}${ENDING}`);
}

/** The names in alphabetical order. */
export async function setNames(checkout: string): Promise<string[]> {
  const files = await readdir(setsDirectory(checkout)).catch(() => []);
  const names = files.filter((file) => file.endsWith(ENDING)).map((file) => basename(file, ENDING));
  // Commands accept no other names.
  return names.filter((name) => /^[A-Za-z0-9][\w.-]{0,99}$/.test(name)).sort();
}

function setsDirectory(checkout: string): string {
  return join(checkout, 'testdata', 'reviews');
}
