import { readdir } from 'node:fs/promises';
import { join, matchesGlob, relative } from 'node:path';

/** A pattern of a `//go:embed` in a package: [the package's directory, the pattern]. */
export type Embed = [directory: string, pattern: string];

/**
 * Whether a new file in this directory, or below it, can become part of the program: the directory is on the way to what the pattern
 * names, or is named by it, or is below what it names.
 */
export function embeds([directory, written]: Embed, place: string): boolean {
  const pattern = written.replace(/^all:/, '');
  const parts = relative(directory, place).split('/');
  const names = pattern.split('/');
  if (parts[0] === '' || parts[0] === '..') return false;
  // The go tool leaves these out below a directory, unless the pattern begins with `all:`.
  const isHidden = parts.slice(names.length).some((part) => /^[._]/.test(part)) && pattern === written;
  return !isHidden && parts.slice(0, names.length).every((part, index) => matchesGlob(part, names[index]!));
}

/** A program that embeds more directories than these is watched in part. */
const MOST_DIRECTORIES = 2_000;

/** The directories at or below `place` that the patterns cover. */
export async function embeddedBelow(place: string, patterns: Embed[]): Promise<string[]> {
  const found: string[] = [];
  const queue = [place];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (found.length >= MOST_DIRECTORIES) break;
    const isCovered = patterns.some((one) => embeds(one, next!));
    if (isCovered) found.push(next);
    if (!isCovered && next !== place) continue;
    const entries = await readdir(next, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (entry.isDirectory()) queue.push(join(next, entry.name));
  }
  return found;
}
