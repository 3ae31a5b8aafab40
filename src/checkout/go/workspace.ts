import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readTextFile } from '../../machine/text-file.ts';
import { directives } from './go-mod.ts';

/**
 * The directories of the modules that the go tool builds together with the one in `root`: those in the nearest go.work, in `root` or above
 * it.
 */
export async function workspaceDirectories(root: string): Promise<string[]> {
  const workspace = nearestWorkspace(root);
  if (workspace === undefined) return [];
  const text = await readTextFile(join(workspace, 'go.work'));
  const used = directives(text).filter(([verb]) => verb === 'use');
  return used.map(([, place = '']) => resolve(workspace, place));
}

/** The directory of the nearest go.work, in `from` or above it. */
export function nearestWorkspace(from: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, 'go.work'))) return directory;
    if (dirname(directory) === directory) return undefined;
  }
}
