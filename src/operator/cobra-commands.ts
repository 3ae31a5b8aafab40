/** A command of spf13/cobra, which has flags of its own. */
export interface CobraCommand {
  /** The first word of its `Use`. */
  name: string;
  /** The directory of the package that defines it. */
  directory: string;
}

/** Matches `cmd := &cobra.Command{Use: "start [flags]"`, also with other fields before `Use`, and without a variable. */
const COMMAND = /(?:\b(\w+)\s*:?=\s*)?&?cobra\.Command\s*\{[^{}]{0,600}?\bUse:\s*"([\w.-]+)/g;
const FLAG_SET = /\b(\w+)\s*:?=\s*(\w+)\.Flags\(\)/g;

/** Matches names of commands in cobra and urfave/cli, in Go's flag package, and in programs that compare the word themselves. */
const COMMAND_NAME =
  /(?:\b(?:Use|Name):\s*|\bNewFlagSet\(\s*|\bcase\s+|\bos\.Args\[1\]\s*==\s*)"([A-Za-z][\w-]*)/g;

/** The words that a source file compares or defines as names of commands, or perhaps of something else. */
export function commandNames(text: string): string[] {
  return [...text.matchAll(COMMAND_NAME)].map(([, name]) => name!);
}

/** The words before the first flag. If the program has commands, these words start with the name of one. */
export function leadingWords(words: string[]): string[] {
  const firstFlag = words.findIndex((word) => word.startsWith('-'));
  return firstFlag < 0 ? words : words.slice(0, firstFlag);
}

/** A flag that a package defines. */
export interface DefinedFlag {
  /** The directory of the package that defines it. */
  directory: string;
  /** The only cobra command that has the flag; absent if every command may have it. */
  command?: string | undefined;
}

/**
 * The place of a flag. Group 1 of the match is the receiver on which the flag is defined; if that is an unknown command, every command may
 * have the flag.
 */
export function placeOf(match: RegExpExecArray, text: string, directory: string): DefinedFlag {
  const { 0: all, 1: receiver = '', index } = match;
  return { directory, command: commandOf(receiver, index + all.length, text) ?? undefined };
}

/** The flags that a program reads when it is started with these words; words that name no command are ignored. */
export function readFlags<T extends DefinedFlag>(
  flags: T[],
  words: string[],
  commands: ReadonlySet<string>,
): T[] {
  const leading = leadingWords(words);
  if (!leading.some((word) => commands.has(word))) return flags;
  return flags.filter(({ command }) => command === undefined || leading.includes(command));
}

/** The names of the cobra commands that a source file defines. */
export function cobraCommands(text: string): string[] {
  return [...text.matchAll(COMMAND)].map(([, , name]) => name!);
}

/**
 * The command whose flags a receiver holds: `start.Flags()`, or a variable with that value. Returns undefined for the flags of every
 * command, and null for the flags of an unknown command.
 */
export function commandOf(receiver: string, at: number, text: string): string | null | undefined {
  const before = text.slice(0, at);
  const direct = /^(\w+)\s*\.Flags\(\)$/.exec(receiver)?.[1];
  const variable = direct ?? lastOf(before, FLAG_SET, receiver);
  if (variable === undefined) return undefined;
  return lastOf(before, COMMAND, variable) ?? lastOf(text, COMMAND, variable) ?? null;
}

/** The second group of the last match whose first group is `first`. */
function lastOf(text: string, pattern: RegExp, first: string): string | undefined {
  return [...text.matchAll(pattern)].findLast(([, one]) => one === first)?.[2];
}

/** Matches `StringVar(&file, "kubeconfig", …)` of Go's flag package and of pflag. */
const FLAG =
  /(?:\b(\w+(?:\s*\.\w+\(\))?)\s*)?\.String(?:Var)?P?\(\s*(?:&?[\w.]+\s*,\s*)?(?:"kubeconfig"|clientcmd\.RecommendedConfigPathFlag)/g;

/** The --kubeconfig flags that a source file in this directory defines. */
export function kubeconfigFlags(text: string, directory: string): DefinedFlag[] {
  return [...text.matchAll(FLAG)].map((match) => placeOf(match, text, directory));
}
