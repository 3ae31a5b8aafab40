import { wordsOf } from '../make/words.ts';

/** The linker flags of a recipe. */
export interface LinkerFlags {
  /** Each flag with its value, quotes removed: ['-s', '-X', 'main.version=1.2']. */
  flags: string[];
  /** The flags, as written, whose value only make or a shell can compute, such as a version from `git describe`. */
  leftOut: string[];
}

const EVALUATED = /[$`]/;
/** The value of this flag can itself start with a dash. After any other flag, a word that starts with a dash is not its value. */
const ANY_VALUE = '-extldflags';

/** Parses the value of -ldflags in the form in which a shell gets it. */
export function readLinkerFlags(written: string): LinkerFlags {
  // A package pattern in front of the flags is dropped: it makes little difference to a program's one link step.
  const text = shellUnquoted(written).replace(/^all=/, '');
  const read: LinkerFlags = { flags: [], leftOut: [] };
  for (const words of withValues(wordsOf(text))) {
    const [flag = ''] = words;
    // -buildid is dropped because devloop and the go tool compare programs by their build id. -linkmode is dropped because external linking
    // needs a C compiler and takes longer; where C code has to be linked, the go tool chooses it itself.
    if (/^--?(?:buildid|linkmode)\b/.test(flag)) continue;
    if (!flag.startsWith('-') || words.some((word) => EVALUATED.test(word)))
      read.leftOut.push(words.join(' '));
    else read.flags.push(...words.map(unquoted));
  }
  return read;
}

const STRIPS = /^--?[sw](=|$)/;

/** Linking without symbols and debug information takes two thirds of the time. A recipe that sets -s or -w itself is left as it is. */
export function withoutDebugInformation(flags: string[]): string[] {
  return flags.some((flag) => STRIPS.test(flag)) ? flags : [...flags, '-s'];
}

/** A debugger needs the debug information, even if the recipe removes it. */
export function withDebugInformation(flags: string[]): string[] {
  return flags.filter((flag) => !STRIPS.test(flag));
}

/** One value for `-ldflags=`, in which the go tool allows quotes around a word. */
export function joinLinkerFlags(flags: string[]): string {
  return flags.map((flag) => (/[\s'"]/.test(flag) ? quoted(flag) : flag)).join(' ');
}

function withValues(words: string[]): string[][] {
  const groups: string[][] = [];
  for (const word of words) {
    const before = groups.at(-1);
    const isValue = before?.length === 1 && before[0]!.startsWith('-') && !before[0]!.includes('=');
    if (isValue && (!word.startsWith('-') || before[0]!.endsWith(ANY_VALUE))) before.push(word);
    else groups.push([word]);
  }
  return groups;
}

/** Removes the quotes of the command line; quotes inside them are for the go tool. */
function shellUnquoted(text: string): string {
  return text.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
    double === undefined ? (single ?? '') : double.replace(/\\(["\\$`])/g, '$1'),
  );
}

function unquoted(word: string): string {
  return word.replace(
    /"([^"]*)"|'([^']*)'/g,
    (_, double?: string, single?: string) => double ?? single ?? '',
  );
}

function quoted(flag: string): string {
  return flag.includes("'") ? `"${flag}"` : `'${flag}'`;
}
