import type { DefinedFlag } from './flags.ts';

/** The words before the first flag. If the program has commands, these words start with the name of one. */
export function leadingWords(words: string[]): string[] {
  const firstFlag = words.findIndex((word) => word.startsWith('-'));
  return firstFlag < 0 ? words : words.slice(0, firstFlag);
}

/**
 * The flags that a program reads when it is started with these words; words that name no command are ignored. Every command may have the
 * flag of an unknown command.
 */
export function readFlags<T extends DefinedFlag>(
  flags: T[],
  words: string[],
  commands: ReadonlySet<string>,
): T[] {
  const leading = leadingWords(words);
  if (!leading.some((word) => commands.has(word))) return flags;
  return flags.filter(({ command }) => (command ?? undefined) === undefined || leading.includes(command!));
}
