import { basename, dirname } from 'node:path';
import { isEditorFile } from '../files.ts';
import type { Sources } from '../language.ts';
import { embeddedBelow, embeds } from './embeds.ts';
import { addEmbedded, noSources, type SourceSet } from './source-set.ts';

const BUILD_INPUT = /\.(go|s|S|c|h|cc|cpp|cxx|hpp|hxx|m|syso)$/;
const MODULE_FILE = /^go\.(mod|sum|work|work\.sum)$/;
const STRUCTURE = /^(package\b.*|import\s*\([^)]*\)|import\s.*|\/\/go:(embed|build)\b.*)$/gm;

/** What to watch for a Go program. If the go tool cannot read the go.mod, that is the directory `cwd`: the next save may fix it. */
export function watchedSources(listed: SourceSet | undefined, cwd: string): Omit<Sources, 'note'> {
  const set = listed ?? { ...noSources(), directories: new Set([cwd]) };
  return {
    directories: [...new Set([...set.directories, ...set.embeddedDirectories])],
    isGuess: listed === undefined,
    counts: (path) => isGoInput(path, set),
    structureOf,
    async takeIn(directory) {
      if (!set.embeds.some((one) => embeds(one, directory))) return [];
      const found = await embeddedBelow(directory, set.embeds);
      for (const one of found) addEmbedded(set, one);
      return found;
    },
  };
}

/** Whether a Go program is built from this file. */
export function isGoInput(path: string, sources: SourceSet): boolean {
  const [directory, name] = [dirname(path), basename(path)];
  if (sources.embedded.has(path) || sources.embeddedDirectories.has(directory)) return !isEditorFile(name);
  if (!sources.directories.has(directory)) return false;
  if (MODULE_FILE.test(name)) return true;
  // Go itself ignores files whose names begin with `.` or `_`.
  return BUILD_INPUT.test(name) && !name.endsWith('_test.go') && !/^[._]/.test(name);
}

/** What decides about the files of a package: its clauses, and its comments for the build. */
function structureOf(path: string, content: string): string {
  if (MODULE_FILE.test(basename(path))) return content;
  return [...content.matchAll(STRUCTURE)].map(([text]) => text).join('\n');
}
