import { leadingWords } from './command-words.ts';
import type { DefinedFlag, ProgramCommand } from './flags.ts';

/** A program, and how it is started. */
interface StartedProgram {
  /** The commands in the sources. */
  commands: ProgramCommand[];
  /** The directories of all its packages. */
  linked: ReadonlySet<string>;
  /** Its arguments, which begin with the names of commands. */
  words: string[];
}

/** Whether the program reads the flag that is defined in these places. */
export function readsFlag(places: DefinedFlag[], { commands, linked, words }: StartedProgram): boolean {
  const own = commands.filter(({ directory }) => linked.has(directory));
  const running = commandIn(words, own) ?? (own.length === 1 ? own[0]!.name : undefined);
  const known = places.filter(
    ({ directory, command }) => linked.has(directory) && (command === undefined || command === running),
  );
  if (known.length === 0 || known.some(({ command }) => command === undefined)) return known.length > 0;
  // Two commands can have the same name, such as `start` in two groups: then both must have the flag.
  return directories(known).size === directories(own.filter(({ name }) => name === running)).size;
}

/** Of the words before the flags, the last one that names a known command; if none does, the last word. */
function commandIn(words: string[], own: ProgramCommand[]): string | undefined {
  const leading = leadingWords(words);
  return leading.findLast((word) => own.some(({ name }) => name === word)) ?? leading.at(-1);
}

function directories(places: { directory: string }[]): Set<string> {
  return new Set(places.map(({ directory }) => directory));
}
