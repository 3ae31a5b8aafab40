import { leadingWords } from '../checkout/command-words.ts';
import type { ExpandedArgument } from '../operator/environment.ts';

/** Matches a word that can be the name of a command: no path, no address, no `name=value`. */
const NAME = /^[A-Za-z][\w-]*$/;

/** Adds flags to arguments, at a place where the program reads them. `commands`: the names of the commands in its sources. */
export function withFlags<T extends string | ExpandedArgument>(
  args: T[],
  flags: T[],
  commands: ReadonlySet<string>,
): T[] {
  const words = args.map((one) => (typeof one === 'string' ? one : one.value));
  return args.toSpliced(flagPlace(words, commands), 0, ...flags);
}

/**
 * Flags belong after the names of commands, which have flags of their own, and before everything else, because Go's flag package stops at
 * the first word that is not a flag, and every parser stops at `--`. Unknown names could be commands that a library defines; if flags
 * follow them, the program reads flags there.
 */
export function flagPlace(words: string[], commands: ReadonlySet<string>): number {
  const leading = leadingWords(words);
  const end = leading.length;
  const known = leading.findLastIndex((word) => commands.has(word)) + 1;
  if (known > 0) return known;
  if (end < words.length && words[end] !== '--') return end;
  const other = leading.findIndex((word) => !NAME.test(word));
  return other < 0 ? end : other;
}
