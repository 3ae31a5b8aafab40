import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';

/** `use ./api` and `use ( ./api … )`, without comments. */
const USED = /^use\s+(?:\(([^)]*)\)|(\S+))/gm;

/**
 * The directories of the modules that the go tool builds together with the one in `root`: those in the nearest go.work, in `root` or above
 * it.
 */
export async function workspaceDirectories(root: string): Promise<string[]> {
  const workspace = nearestWorkspace(root);
  if (workspace === undefined) return [];
  const text = (await readTextFile(join(workspace, 'go.work'))).replace(/\/\/.*$/gm, '');
  const places = [...text.matchAll(USED)].flatMap(([, block, one = '']) => (block ?? one).split(/\s+/));
  return places.filter(Boolean).map((place) => resolve(workspace, place.replace(/^"(.*)"$/, '$1')));
}

/** The directory of the nearest go.work, in `from` or above it. */
export function nearestWorkspace(from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'go.work'))) return directory;
    if (dirname(directory) === directory) return undefined;
  }
}
