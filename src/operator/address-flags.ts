import { type CobraCommand, cobraCommands, commandOf, leadingWords } from './cobra-commands.ts';

/** The flags in the sources whose default is a port, or an address with a port. */
export interface AddressFlags {
  defaults: AddressFlag[];
  /** For each constant, the addresses and ports that packages assign to it. */
  constants: Map<string, Set<string>>;
  commands: CobraCommand[];
}

interface AddressFlag {
  /** The flag's name, without dashes. */
  flag: string;
  /** An address, a port, or the name of a constant. */
  value: string;
  /** The directory of the package that defines it. */
  directory: string;
  /** The only cobra command that has the flag; null if that command was not found, undefined if every command may have the flag. */
  command?: string | null | undefined;
}

const ADDRESS = '"(?:[^"\\s]*:)?\\d{2,5}"|\\d{2,5}';
/**
 * Matches `flag.StringVar(&address, "metrics-addr", ":8080", …)` of Go's flag package and pflag; also `IntVar`, a constant as the default,
 * and a short name.
 */
const CALL = new RegExp(
  `\\b(\\w+(?:\\s*\\.\\w+\\(\\))?)\\s*\\.(?:String|U?[Ii]nt\\d*)(?:Var)?P?\\(\\s*(?:&?[\\w.]+\\s*,\\s*)?"([\\w.-]+)"\\s*,\\s*(?:"\\w?"\\s*,\\s*)?(?:(${ADDRESS})|(?:\\w+\\.)*([A-Za-z_]\\w*))\\s*,`,
  'g',
);
/** Matches `const A = ":8080"` and `A string = ":8080"`. */
const CONSTANT = new RegExp(
  `\\b(?!const\\b|var\\b)(\\w+)(?:[ \\t]+\\w+)?[ \\t]*=[ \\t]*(${ADDRESS})[ \\t]*(?://.*)?$`,
  'gm',
);

/** Adds what one source file defines. `directory`: the file's directory. */
export function collectAddressFlags(
  text: string,
  directory: string,
  { defaults, constants, commands }: AddressFlags,
): void {
  for (const { 0: all, 1: receiver = '', 2: flag = '', 3: address, 4: constant = '', index } of text.matchAll(
    CALL,
  )) {
    const command = commandOf(receiver, index + all.length, text);
    defaults.push({ flag, value: address === undefined ? constant : unquoted(address), directory, command });
  }
  for (const [, name = '', value = ''] of text.matchAll(CONSTANT))
    constants.set(name, (constants.get(name) ?? new Set()).add(unquoted(value)));
  for (const name of cobraCommands(text)) commands.push({ name, directory });
}

/** A flag with its default: `--metrics-addr=:8080` */
export interface AddressArgument extends Pick<AddressFlag, 'directory' | 'command'> {
  argument: string;
}

/** The flags of all programs of the checkout, with their defaults. */
export function addressArguments({ defaults, constants }: AddressFlags): AddressArgument[] {
  return defaults.flatMap(({ flag, value, directory, command }) => {
    const address = /^[A-Za-z_]\w*$/.test(value) ? onlyOf(constants.get(value)) : value;
    return address === undefined ? [] : [{ argument: `--${flag}=${address}`, directory, command }];
  });
}

/**
 * The arguments whose flags a program has. `linked`: the directories of all its packages. `words`: its arguments, which begin with the
 * names of commands.
 */
export function argumentsOfProgram(
  all: AddressArgument[],
  { commands, linked, words }: { commands: CobraCommand[]; linked: ReadonlySet<string>; words: string[] },
): string[] {
  const own = commands.filter(({ directory }) => linked.has(directory));
  const running = commandIn(words, own) ?? (own.length === 1 ? own[0]!.name : undefined);
  const places = directories(own.filter(({ name }) => name === running));
  const known = all.filter(
    ({ directory, command }) => linked.has(directory) && (command === undefined || command === running),
  );
  // Two commands can have the same name, such as `start` in two groups: then both must have the flag.
  const isOfAll = (flags: AddressArgument[]): boolean =>
    flags.some(({ command }) => command === undefined) || directories(flags).size === places.size;
  const byArgument = Map.groupBy(known, ({ argument }) => argument);
  return [...byArgument].filter(([, flags]) => isOfAll(flags)).map(([argument]) => argument);
}

/** Of the words before the flags, the last one that names a known command; if none does, the last word. */
function commandIn(words: string[], own: CobraCommand[]): string | undefined {
  const leading = leadingWords(words);
  return leading.findLast((word) => own.some(({ name }) => name === word)) ?? leading.at(-1);
}

function directories(places: { directory: string }[]): Set<string> {
  return new Set(places.map(({ directory }) => directory));
}

function onlyOf(values: ReadonlySet<string> | undefined): string | undefined {
  return values?.size === 1 ? [...values][0] : undefined;
}

function unquoted(written: string): string {
  return written.replaceAll('"', '');
}
