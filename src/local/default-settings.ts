import { readFlags } from '../checkout/command-words.ts';
import { electionSwitch } from '../checkout/election-switch.ts';
import type { Flag, ProgramCommand } from '../checkout/flags.ts';
import type { LinkedPackages } from '../checkout/language.ts';
import { linkedFlags } from '../checkout/linked-packages.ts';
import { flagsBelow, type PathFlag } from '../checkout/path-flags.ts';
import { readsFlag } from '../checkout/program-flags.ts';

/** A flag that no argument sets, and its default in the sources. */
export interface DefaultFlag {
  /** The name, without dashes. */
  flag: string;
  value: string;
  /** Whether the program has the flag: the sources can contain several programs. */
  isOfProgram(): Promise<boolean>;
}

/** What the sources reveal about flags and their defaults. */
export interface FlagFacts {
  flags: Flag[];
  commands: ProgramCommand[];
  /** The program's flags whose default may leave leader election on. */
  electionFlags: Flag[];
  commandNames: ReadonlySet<string>;
  /** The program's packages; absent for the user's own command, and where the language does not tell. */
  linked?: LinkedPackages | undefined;
}

/** The flags with a known default that the program reads if it gets these arguments. */
export function defaultFlags(facts: FlagFacts): (words: string[]) => DefaultFlag[] {
  const { linked } = facts;
  if (linked === undefined) return () => [];
  return (words) => [...electionDefaults(facts, words), ...otherDefaults(facts, linked, words)];
}

/** None if the arguments switch leader election themselves, perhaps by another flag. */
function electionDefaults({ electionFlags, commandNames }: FlagFacts, words: string[]): DefaultFlag[] {
  if (words.some((word) => electionSwitch(word.replace(/=.*$/s, '')) !== undefined)) return [];
  const read = readFlags(electionFlags, words, commandNames);
  const values = new Map(
    read.map(({ flag, kind, value }) => [flag, kind === 'boolean' ? electionSwitch(flag) === 'on' : value]),
  );
  return [...values].map(([flag, value]) => ({ flag, value: String(value), isOfProgram: async () => true }));
}

function otherDefaults(
  { flags, commands }: FlagFacts,
  linked: LinkedPackages,
  words: string[],
): DefaultFlag[] {
  const isGiven = isGivenIn(words);
  const open = flags.filter(
    ({ by, flag, value }) =>
      by === 'call' && value !== undefined && electionSwitch(flag) === undefined && !isGiven(flag),
  );
  const same = Map.groupBy(open, ({ flag, value }) => `${flag}=${value}`);
  return [...same.values()].map((places) => ({
    flag: places[0]!.flag,
    value: String(places[0]!.value),
    isOfProgram: async () =>
      readsFlag(places, { commands, linked: new Set((await linked()).values()), words }),
  }));
}

/**
 * The flags whose default is this path or below it, one for each path: two flags with the same default can belong to two subcommands or
 * servers, so neither of them can be set. Where `linked` is absent, every flag of the sources counts.
 */
export async function pathDefaults(
  { flags, linked }: { flags: PathFlag[]; linked?: LinkedPackages | undefined },
  path: string,
  words: string[],
): Promise<{ flag: string; value: string }[]> {
  const isGiven = isGivenIn(words);
  const found = [...flagsBelow(flags, path)].map(async ([value, defining]) => {
    const open = new Map([...defining].filter(([flag]) => !isGiven(flag)));
    const own = linked ? await linkedFlags(linked, open) : [...open.keys()];
    return own.length === 1 ? [{ flag: own[0]!, value }] : [];
  });
  return (await Promise.all(found)).flat();
}

export function isGivenIn(words: string[]): (flag: string) => boolean {
  return (flag) => words.some((word) => /^--?([^=]+)/.exec(word)?.[1] === flag);
}
