import { expandKnown } from './variables.ts';

/** What a recipe gives the linker. */
export interface LinkerFlags {
  /** Each flag with its value, quotes removed: ['-s', '-X', 'main.version=1.2']. */
  flags: string[];
  /** As written: flags whose value only make or a shell can know, such as a version from `git describe`. */
  leftOut: string[];
}

/** What must not be cut at a space: quotes, and what make or a shell evaluates. */
const WORD = /(?:[^\s"'`$]|"[^"]*"|'[^']*'|`[^`]*`|\$+\((?:[^()]|\([^()]*\))*\)|\$+\{[^}]*\}|["'`$])+/g;
const EVALUATED = /[$`]/;
/** Its value may look like a flag. Any other flag is followed by its value only where that does not begin with a dash. */
const ANY_VALUE = '-extldflags';

/** Reads the value of -ldflags, as it stands in a Dockerfile or Makefile. */
export function readLinkerFlags(written: string, variables: Map<string, string>): LinkerFlags {
  // A program has one main package, so a pattern in front of the flags means little.
  const text = shellUnquoted(expandKnown(written, variables)).replace(/^all=/, '');
  const read: LinkerFlags = { flags: [], leftOut: [] };
  for (const words of withValues(text.match(WORD) ?? [])) {
    const [flag = ''] = words;
    // The build id tells devloop, and the go tool, whether two programs are the same.
    if (/^--?buildid\b/.test(flag)) continue;
    if (!flag.startsWith('-') || words.some((word) => EVALUATED.test(word)))
      read.leftOut.push(words.join(' '));
    else read.flags.push(...words.map(unquoted));
  }
  return read;
}

/** Without debug information linking takes two thirds of the time; a recipe that decides about it itself is followed. */
export function withoutDebugInformation(flags: string[]): string[] {
  return flags.some((flag) => /^--?[sw](=|$)/.test(flag)) ? flags : [...flags, '-w'];
}

/** One value for `-ldflags=`: the go tool understands quotes around a word. */
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

/** The quotes of the command line; those inside of them are the go tool's. */
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
